#!/bin/bash
# Three trainers without servers end early after the same pass, the one at which one trainer ends, and know the passes
# before after a kill.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3
source "$PS_SOURCE/tests/e2e/peers_job.sh"
job=job.json

# So few examples are learnt by heart: the cost of others falls, and then rises.
cat >job.json <<'JSON'
{
  "job": {"name": "overfit"},
  "data": {"format": "paddle_sparse_binary", "dim": 1000, "batch_size": 20, "validation": 0.25},
  "model": {
    "layers": [
      {"name": "hidden", "type": "fc", "input": "features", "size": 8, "activation": "tanh"},
      {"name": "output", "type": "fc", "input": "hidden", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.03},
  "train": {"passes": 40, "log_period": 0, "saving_period": 1000000, "patience": 3, "strategy": {"type": "all_reduce"}}
}
JSON
ps-datagen sparse-binary --dim 1000 --samples 1510 --output train.txt
never=(--set train.patience=1000000 --passes 1000000)

# last FILE, best FILE: the last pass, and the best one.
last() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["passes"][-1]["pass"])' "$1"; }
best() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["best"]["pass"])' "$1"; }
# costs FILE: of the validation data, by pass.
costs() {
  python3 -c 'import json, sys
for p in json.load(open(sys.argv[1]))["passes"]: print(p["pass"], p["validation"]["samples"], p["validation"]["cost"])' "$1"
}

echo "three trainers end after the pass at which one ends that has the same steps, with its costs"
ps-train job.json --data train.txt --set data.batch_size=60 --save-dir one --json >one.json 2>err || fail "$(cat err)"
pass=$(best one.json)
((pass > 0 && pass < 30)) || fail "one trainer: the best pass is $pass: $(costs one.json)"
[[ $(last one.json) == $((pass + 3)) ]] || fail "one trainer ended after pass $(last one.json)"
train three --log-level info --metrics three.jsonl
[[ $(best three.0.json) == "$pass" ]] || fail "the best pass is $(best three.0.json)"
[[ $(last three.0.json) == $((pass + 3)) ]] || fail "they ended after pass $(last three.0.json)"
[[ $(readlink three/best) == "$(readlink one/best)" ]] || fail "three/best is $(readlink three/best)"
paste <(costs one.json) <(costs three.0.json) |
  awk '$2 < 300 || $2 != $5 || $3 - $6 > 1e-4 || $6 - $3 > 1e-4 { print; bad = 1 } END { exit bad }' ||
  fail "other costs than those of one trainer"
expect_text three.0.err "Ended early: the best pass on the validation data is $pass"
[[ ! -s three.1.json ]] || fail "trainer 1 wrote to standard output"

echo "the lines of a pass come before those of its validation, as with one trainer"
grep -o '"event":"[a-z]*"' three.jsonl | head -4 | paste -s -d ' ' >events
[[ $(cat events) == '"event":"pass" "event":"validation" "event":"pass" "event":"validation"' ]] || fail "$(cat events)"

echo "the passes up to there are those of a run that goes on, bit for bit"
train on --set train.patience=1000000 --passes $((pass + 5))
cmp {three,on}/best/model.safetensors
[[ $(costs three.0.json) == "$(costs on.0.json | sed -n "1,$((pass + 4))p")" ]] || fail "$(costs on.0.json)"

echo "so it is with trainers that average their weights, and with codecs"
for strategy in '{"type": "post_local_sgd", "k_steps": 4}' '{"type": "dgc"}'; do
  train other --set "train.strategy=$strategy" --set 'optimizer={"type": "momentum", "momentum": 0.9, "learning_rate": 0.05}' \
    --set train.best_by=auc --set train.patience=2
  (($(last other.0.json) == $(best other.0.json) + 2 || $(last other.0.json) == 39)) || fail "$(costs other.0.json)"
  rm -r other
done

echo "one that is killed is named, and those that resume know the passes before"
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=7)
start killed "0 1 2" "${checkpoints[@]}" "${never[@]}" --metrics killed.jsonl
timeout 120 bash -c "until grep -q '\"event\":\"validation\",.*\"pass\":$((pass + 1)),' killed.jsonl 2>/dev/null; do
  kill -0 ${processes[*]} || exit; sleep 0.02; done" || fail "no validation: $(cat killed.*.err)"
kill -9 "${processes[1]}"
wait "${processes[1]}" || true
processes=("${processes[0]}" "${processes[2]}")
end_all killed 4
train killed "${checkpoints[@]}" "${never[@]}" --set train.patience=40 --resume --metrics resumed.jsonl
[[ $(best killed.0.json) == "$pass" ]] || fail "resumed: the best pass is $(best killed.0.json)"
[[ $(costs killed.0.json | sed -n "1,$((pass + 4))p") == "$(costs three.0.json)" ]] || fail "$(costs killed.0.json)"
cmp {three,killed}/best/model.safetensors
# The trainers of the killed run may have made more passes than that; then there is nothing left to train.
before=$(grep -c '"event":"validation"' killed.jsonl)
last=$(last killed.0.json)
((last == pass + 40 || last > pass + 40 && last < before)) || fail "resumed: ended after pass $last, $before were measured before"
train killed "${checkpoints[@]}" "${never[@]}" --set train.patience=40 --resume
[[ $(last killed.0.json) == "$last" ]] || fail "resumed at the end: trained on, to pass $(last killed.0.json)"

echo "trainers that would end by different rules are refused"
start refused 0
others=("${processes[@]}")
start refused "1 2" --set train.patience=4
processes+=("${others[@]}")
for process in "${processes[@]}"; do wait "$process" && fail "it trained by two rules"; done
processes=()
grep -q 'ends by another rule than this trainer' refused.*.err || fail "$(cat refused.*.err)"
echo passed
