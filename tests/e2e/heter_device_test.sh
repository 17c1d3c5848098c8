#!/bin/bash
# Compute trainers that compute on a device: with servers and readers the model is that of plain trainers, bit for bit where
# it has no products of matrices, else within their rounding; killed or not, with one batch of a reader on its way or several.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
source "$PS_SOURCE/tests/e2e/heter_job.sh"
device=${TEST_DEVICE:-emulated} # cuda:0 on a machine that has a GPU
on_device=(--device "$device" --set device.trains=model)
close() { python3 "$PS_SOURCE/tests/e2e/close_models.py" "$@"; }
# Without products models are the same; but on a GPU exp and log are other functions than on the processor.
same() { if [[ $device == emulated ]]; then cmp "$@"; else close "$@"; fi; }

mv job.json dense.json
ps-datagen criteo --samples 1200 --output train.txt
# No products of dense matrices; a table and statistics that compute trainers have, beside rows that readers have.
python3 - <<'PYTHON'
import json
job = json.load(open("dense.json"))
layers = {layer["name"]: layer for layer in job["model"]["layers"]}
job["model"]["layers"] = [
    layers["wide"],
    {"name": "pairs", "type": "fm", "factors": 3, "sparse_update": True, "input": ["C1", "C2", "C7"]},
    {**layers["coarse"], "size": 1, "input": ["C3"]},
    {"name": "even", "type": "batch_norm", "input": "coarse"},
    {"name": "score", "type": "add", "input": ["wide", "pairs", "even"]},
]
json.dump(job, open("sums.json", "w"))
# Clipping by norm multiplies the gradients of all parameters by what rounding has changed.
job = json.load(open("dense.json"))
job["optimizer"] = {"type": "sgd", "learning_rate": 0.01}
json.dump(job, open("products.json", "w"))
PYTHON

# compare_heter COMPARE JOB READERS COMPUTES [flags...]: the model of so many readers and compute trainers on the device, with
# these flags, with that of as many plain trainers, by `same` or `close`; it is kept in heter/.
compare_heter() {
  local compare=$1 count=$3 computes=$4 c pass ids=()
  cp "$2.json" job.json
  shift 4
  rm -rf plain heter
  serve
  train "$count" plain
  plain_figures=$(figures)
  end_servers
  serve "$@"
  places=
  for ((c = 0; c < computes; ++c)); do
    compute compute.$c "${on_device[@]}" "$@"
    ids+=("$started_compute" compute.$c)
  done
  train "$count" heter --role reader --compute "$places" "$@"
  end_well "${ids[@]}"
  end_servers
  for pass in 0 1; do "$compare" {plain,heter}/pass-0000$pass/model.safetensors; done
  for ((c = 0; c < computes; ++c)); do
    expect_text compute.$c.err "on device $device with "
    grep -qE 'The run has ended: batches=[1-9]' compute.$c.err || fail "compute.$c had no batches: $(<compute.$c.err)"
  done
}

echo "three readers and two compute trainers on devices make the model of three plain trainers"
compare_heter same sums 3 2
[[ $device != emulated || $(figures) == "$plain_figures" ]] || fail "the figures are $(figures), not $plain_figures"

echo "so do two readers ahead together, with the copies of one compute trainer on a device"
compare_heter same sums 2 1 --set train.pull_ahead=4

echo "products of matrices differ by their rounding, and are the same again"
compare_heter close products 2 1
mv heter once
compare_heter close products 2 1
cmp {once,heter}/pass-00001/model.safetensors
cmp -s {plain,heter}/pass-00001/model.safetensors && fail "the processor has computed it"

echo "a compute trainer on a device is killed, readers go to another one, and to a new one, and the model is the same"
cp sums.json job.json
ps-datagen criteo --samples 4500 --output train.txt
rm -rf plain
serve
train 3 plain --passes 1
end_servers
mkfifo pipe
serve
two_computes "${on_device[@]}"
three_readers
open_pipe
feed 1500
wait_for_file metrics.0 "${readers[0]}"
wait_for_batches 4
kill_at_once "$second"
feed 3000
wait_for_batches 14
kill_at_once "$first"
start compute.a2 ps-train job.json --role compute --servers "$addresses" --port "$first_port" "${on_device[@]}"
first=$started
close_pipe
end_well "${readers[0]}" trainer.0 "${readers[1]}" trainer.1 "${readers[2]}" trainer.2 "$first" compute.a2
same {plain,killed}/pass-00000/model.safetensors
expect_text trainer.1.err 'going on with compute trainer'
expect_text compute.a2.err "on device $device with "
end_servers

echo "what a device cannot do for a role is told"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train job.json --servers 127.0.0.1:1 "$@"
  expect_text err "$text"
}
refused "but --role reader computes nothing" --data train.txt --role reader --compute 127.0.0.1:2 "${on_device[@]}"
refused "but --role compute has no rows of its own to train there, as device.trains 'rows' says" --role compute --device "$device"
refused "as device.trains 'all' says: give --set device.trains=model" --role compute --device "$device" --set device.trains=all
refused "computes nothing with train.emulated_compute" --role compute "${on_device[@]}" --set train.emulated_compute=1ms
refused "'cuda:99': " --role compute --device cuda:99 --set device.trains=model
expect_status 0 timeout 60 ps-train job.json --servers 127.0.0.1:1 --role compute --dry-run "${on_device[@]}"
expect_text err "would compute for readers on device $device with "
echo passed
