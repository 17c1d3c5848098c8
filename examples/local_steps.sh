#!/bin/bash
# Three trainers without servers under every strategy that exchanges rarely, or in few bytes: prints the bytes that a
# trainer has sent, and how good the model is on examples that training has not seen.
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/dense_clicks_diloco.json
output=build/local_steps
bin=build/release/bin

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build build/release --target ps-datagen ps-train
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" sparse-binary --dim 5000 --samples 30000 --output "$output/clicks.txt"
"$bin/ps-datagen" sparse-binary --dim 5000 --first 30000 --samples 6000 --output "$output/held_out.txt"

# An address of this machine's alone that nothing else uses, most likely.
peers=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

# number KEY FILE: the last number of this key.
number() { grep -o "\"$1\":[0-9.]*" "$output/$2.json" | tail -n 1 | cut -d: -f2; }

# try NAME [KEYS]: three trainers with this strategy, to the end, and a test of the model.
try() {
  local name=$1 keys=${2:-} rank trainers=() trainer
  for rank in 2 1 0; do
    "$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/$name" --trainers 3 --rank $rank \
      --peers "$peers" --json --set "train.strategy={\"type\": \"$name\", \"algorithm\": \"direct\"$keys}" \
      >"$output/$name.$rank.json" 2>"$output/$name.$rank.log" &
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer"; done
  "$bin/ps-train" "$job" --job test --init-model "$output/$name/pass-00004" --data "$output/held_out.txt" --json \
    >"$output/$name.test.json" 2>"$output/$name.test.log"
  printf '%-20s %12s bytes sent by a trainer   AUC %s\n' "$name" "$(number bytes_sent "$name.0")" "$(number auc "$name.test")"
}

try all_reduce
try power_sgd ', "rank": 2'
try post_local_sgd ', "begin_step": 20, "k_steps": 8'
try adaptive_local_sgd ', "init_k_steps": 16'
try slow_momentum ', "begin_step": 20, "k_steps": 8, "slow_momentum": 0.5, "slow_learning_rate": 0.5'
try diloco ', "begin_step": 20, "k_steps": 8, "outer_momentum": 0.5'
try sparse_diloco ', "k_steps": 8, "density": 0.05'
awk -v whole="$(number bytes_sent all_reduce.0)" -v sent="$(number bytes_sent sparse_diloco.0)" \
  'BEGIN { printf "%.1f times fewer bytes with sparse_diloco\n", whole / sent }'
