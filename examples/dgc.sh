#!/bin/bash
# Three trainers without servers, which first exchange whole gradients and then compressed ones (Deep Gradient
# Compression): prints the bytes that a trainer has sent, and how good the models are.
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/dense_clicks_dgc.json
output=build/dgc
bin=build/release/bin

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build build/release --target ps-datagen ps-train
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" sparse-binary --dim 5000 --samples 30000 --output "$output/clicks.txt"

# An address of this machine's alone that nothing else uses, most likely.
peers=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

# train NAME [flags...]: three trainers, to the end.
train() {
  local name=$1 rank trainers=() trainer
  shift
  for rank in 2 1 0; do
    "$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/$name" --trainers 3 --rank $rank \
      --peers "$peers" --json "$@" >"$output/$name.$rank.json" 2>"$output/$name.$rank.log" &
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer"; done
}

# number KEY NAME: the last number of this key in the result of trainer 0.
number() { grep -o "\"$1\":[0-9.]*" "$output/$2.0.json" | tail -n 1 | cut -d: -f2; }

train all_reduce --set 'train.strategy={"type": "all_reduce"}'
train dgc
echo
for name in all_reduce dgc; do
  printf '%-12s %12s bytes sent by a trainer   AUC %s\n' $name "$(number bytes_sent $name)" "$(number auc $name)"
done
awk -v whole="$(number bytes_sent all_reduce)" -v sent="$(number bytes_sent dgc)" \
  'BEGIN { printf "%.1f times fewer bytes, warm-up included\n", whole / sent }'
