#!/bin/bash
# A server with the sparse tables, and three trainers that add up the dense gradients among themselves: prints the bytes
# that each has sent, and that the model is the one that they would have with all parameters on the server, bit for bit.
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/quickstart.json
output=build/hybrid
bin=build/release/bin
server=
trap 'kill $server 2>/dev/null || true' EXIT

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train ps-serve
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" ctr --samples 30000 --output "$output/clicks.txt"
# An address of this machine's alone that nothing else uses, most likely.
peers=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

# train STRATEGY: a server and three trainers, to the end.
train() {
  local strategy=(--set "train.strategy.type=$1") rank trainers=() trainer
  echo
  echo "== $1"
  rm -f "$output/ready"
  mkfifo "$output/ready"
  "$bin/ps-serve" "$job" "${strategy[@]}" --host 127.0.0.1 --port 0 --port-file "$output/port" >"$output/ready" &
  server=$!
  head -n 1 "$output/ready"
  for rank in 2 1 0; do
    "$bin/ps-train" "$job" "${strategy[@]}" --data "$output/clicks.txt" --save-dir "$output/$1" --json \
      --servers "127.0.0.1:$(head -n 1 "$output/port")" --peers "$peers" --trainers 3 --rank $rank >"$output/$1.$rank" &
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer"; done
  kill -TERM $server
  wait $server
  server=
}

train hybrid
echo "to the other trainers went $(grep -o '"bytes_sent":[0-9]*' "$output/hybrid.0" | cut -d : -f 2) bytes"
train parameter_server
sha256sum "$output"/{hybrid,parameter_server}/pass-00000/model.safetensors
cmp "$output"/{hybrid,parameter_server}/pass-00000/model.safetensors
echo "the same model"
