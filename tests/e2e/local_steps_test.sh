#!/bin/bash
# Trainers without servers that exchange rarely or in few bytes, as a user runs them: every strategy gives a model that is
# nearly as good as that of all_reduce, with fewer bytes; and after a kill they go on with the same bits.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
source "$PS_SOURCE/tests/e2e/peers_job.sh"

job=$PS_SOURCE/share/jobs/dense_clicks.json
ps-datagen sparse-binary --dim 2000 --samples 24000 --output train.txt
ps-datagen sparse-binary --dim 2000 --first 24000 --samples 6000 --output held_out.txt
common=(--set data.dim=2000 --set train.passes=4 --set train.log_period=0)  # 80 steps a pass

# strategy TYPE[-VARIANT] KEYS: trains with it, and tests the model on examples that training has not seen.
strategy() {
  name=$1
  train "$name" --set "train.strategy={\"type\": \"${name%%-*}\", \"algorithm\": \"direct\"$2}"
  ps-train "$job" --job test --set data.dim=2000 --init-model "$name/pass-00003" --data held_out.txt --json >"$name.test.json" 2>err
}

# holds EXPRESSION: of awk, in `auc` and `sent` of the strategy that was last, and in `best` and `whole` of all_reduce.
holds() {
  awk -v auc="$(number auc "$name.test.json")" -v sent="$(number bytes_sent "$name.0.json")" \
    -v best="$(number auc all_reduce.test.json)" -v whole="$(number bytes_sent all_reduce.0.json)" "BEGIN { exit !($1) }" ||
    fail "$name: not $1: $(cat "$name".{0,test}.json all_reduce.{0,test}.json)"
}

strategy all_reduce ''
holds 'auc > 0.85'

# The AUC in fewer bytes; a slow or outer momentum moves further, and has to be small in so few steps.
while IFS='|' read -r name keys times distance; do
  strategy "$name" "$keys"
  holds "sent * $times < whole && auc > best - $distance"
  echo "$name: $(number bytes_sent "$name.0.json") bytes instead of $(number bytes_sent all_reduce.0.json)," \
    "AUC $(number auc "$name.test.json") beside $(number auc all_reduce.test.json)"
done <<'END'
post_local_sgd|, "begin_step": 20, "k_steps": 8|5|0.01
adaptive_local_sgd|, "init_k_steps": 16|5|0.01
slow_momentum|, "k_steps": 8, "slow_momentum": 0.5, "slow_learning_rate": 0.5|7|0.01
diloco|, "k_steps": 8, "outer_momentum": 0.5|7|0.01
sparse_diloco|, "k_steps": 8, "density": 0.05|30|0.01
power_sgd|, "rank": 2|2|0.01
compressed_all_reduce-int8|, "codec": "int8"|3|0.01
compressed_all_reduce-one_bit|, "begin_step": 20, "codec": "one_bit"|6|0.07
auto|, "bandwidth": 1e6, "latency": 100|3|0.01
END
expect_text auto.0.json '"codecs":{"hidden.weight":"int8"'

echo "when one is killed within an interval, all go on from the checkpoint at its beginning, with the same bits"
keys='{"type": "sparse_diloco", "begin_step": 5, "k_steps": 4, "outer_momentum": 0.3}'
strategy=(--set train.passes=1 --set "train.strategy=$keys")
checkpoints=("${strategy[@]}" --checkpoint-dir checkpoints --set checkpoint.steps=7)
train whole "${strategy[@]}"
# Trainer 1 waits for data after its 27th batch of 100.  Intervals end after steps 9, 13, 17, 21 and 25.
hold_trainer_1 killed $((3 * 100 * 27)) "${checkpoints[@]}"
kill_trainer_1 killed
[[ -d checkpoints/step-000000017 ]] || fail "not at the end of an interval: $(ls checkpoints)"
train resumed "${checkpoints[@]}" --resume
for rank in 0 1 2; do expect_text resumed.$rank.err 'Going on from step 21'; done
cmp {whole,resumed}/pass-00000/model.safetensors

echo "a trainer that is killed has its residuals in the checkpoint, too"
rm -rf checkpoints
strategy=(--set train.passes=1 --set 'train.strategy={"type": "compressed_all_reduce", "codec": "one_bit", "begin_step": 5}')
checkpoints=("${strategy[@]}" --checkpoint-dir checkpoints --set checkpoint.steps=7)
train exact "${strategy[@]}"
hold_trainer_1 killed_later $((3 * 100 * 27)) "${checkpoints[@]}"
kill_trainer_1 killed_later
train resumed_later "${checkpoints[@]}" --resume
for rank in 0 1 2; do expect_text resumed_later.$rank.err 'Going on from step'; done
cmp {exact,resumed_later}/pass-00000/model.safetensors

echo "local_sgd is the strategy of servers"
expect_status 2 ps-train "$job" --data train.txt --trainers 3 --rank 0 --set 'train.strategy={"type": "local_sgd", "period": 8}'
expect_text err 'without servers, name train.strategy post_local_sgd'
