#!/bin/bash
# ps-bench plan --hetero tells the rates of readers and compute trainers: those of runs in which the accelerator, which is
# emulated, decides; and it takes the costs of a processor from a run.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/e2e/heter_job.sh"
ps-datagen criteo --samples 2000 --output train.txt

echo "the costs of a processor are those of a plain trainer"
ps-train job.json --data train.txt --threads 1 --save-dir '' --json --set train.passes=1 >measured.json 2>err
ps-bench plan job.json --hetero --measured measured.json --compute 100ms --json >plan.json
python3 - <<'PY' || fail "the costs are not those of the run: $(cat plan.json)"
import json
run, plan = json.load(open("measured.json"))["passes"][-1], json.load(open("plan.json"))
assert run["batches"] == 40
assert abs(plan["read_seconds"] * 40 / run["reading_seconds"] - 1) < 1e-6
assert abs(plan["cpu_seconds"] * 40 / run["computing_seconds"] - 1) < 1e-6
# A batch of 50 examples uses 4 slots with rows of one column, 4 with rows of four, and 2 whose rows the compute trainer
# has; each use has a key of 8 bytes and a place of 4.  Then there are 13 numbers and a label.
wide, vectors, coarse = 50 * 4 * (12 + 4), 50 * 4 * (12 + 16), 50 * 2 * 12
assert plan["batch_bytes"] == wide + vectors + coarse + 50 * 4 * (1 + 13), plan["batch_bytes"]
# Readers exchange the rows of the first two with servers, with a key of 8 bytes each; the compute trainer those of the other,
# and the dense parameters.
assert plan["row_bytes"] == 50 * 4 * (8 + 4) + 50 * 4 * (8 + 16), plan["row_bytes"]
bias, even, deep = 1, 4 * 35, 35 * 16 + 16 + 16 + 1
assert plan["dense_bytes"] == 50 * 2 * (8 + 12) + 4 * (bias + even + deep), plan["dense_bytes"]
PY

# rate N M: batches a second of N readers and M compute trainers, with an accelerator that takes 100 ms for a batch.
flags=(--set train.strategy.consistency=async --set train.pull_ahead=4 --set train.emulated_compute=100ms
  --set optimizer='{"type": "sgd", "learning_rate": 0.01}')
rate() {
  local m computes=()
  serve "${flags[@]}"
  places=
  for ((m = 0; m < $2; ++m)); do
    compute "compute.$m" "${flags[@]}"
    computes+=("$started" "compute.$m")
  done
  train "$1" "run.$2" --role reader --compute "$places" --passes 1 "${flags[@]}"
  end_well "${computes[@]}"
  end_servers
}

# planned N M: what the plan tells of them.
planned() {
  ps-bench plan job.json --hetero --read 1ms --cpu-compute 2ms --compute 100ms --processors "$1" --accelerators "$2" --json >plan.json
}

for computes in 1 2; do
  echo "2 readers and $computes compute trainers"
  rate 2 $computes
  planned 2 $computes
  python3 - $computes <<'PY' || fail "the plan is not what happens: $(cat trainer.0.out)"
import json, sys
computes = int(sys.argv[1])
run, plan = json.load(open("trainer.0.out"))["passes"][-1], json.load(open("plan.json"))
choice = [c for c in plan["choices"] if c["cut"] == "rows"][-1]
assert choice["accelerators"] == computes and choice["limit"] == "accelerators", choice
measured = run["batches"] / run["seconds"]
print(f"{measured:.2f} batches/s, planned {choice['batches_per_second']:.2f}")
# An emulated accelerator is never faster; other work of this machine makes it slower.
assert 0.5 < measured / choice["batches_per_second"] < 1.02 + 0.05 * computes
PY
done

echo "what cannot be is told"
expect_status 2 ps-bench plan job.json --hetero --cpu-compute 1ms
expect_text err 'give it, or --measured FILE'
expect_status 2 ps-bench plan job.json --hetero --read 1ms --cpu-compute 1ms --prices 3
expect_text err 'not two prices above 0'
expect_status 2 ps-bench plan job.json --hetero --measured job.json
expect_text err 'it has no passes'
