#!/bin/bash
# Three trainers without servers, which a shell loop starts, and then mpirun where it is installed: each holds all
# parameters, and they add up their gradients among themselves.  Prints that the model is the one that they would have
# with a server, bit for bit.
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/dense_clicks.json
output=build/all_reduce
bin=build/release/bin
server=
trap 'kill $server 2>/dev/null || true' EXIT

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train ps-serve
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" sparse-binary --dim 5000 --samples 30000 --output "$output/clicks.txt"

# train FOLDER [flags...]: three trainers, to the end.
train() {
  local folder=$1 rank trainers=() trainer
  shift
  for rank in 2 1 0; do
    "$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/$folder" --trainers 3 --rank $rank "$@" &
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer"; done
}

echo
echo "== three trainers, no server"
# An address of this machine's alone that nothing else uses, most likely.
train peers --peers 127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

echo
echo "== three trainers, one server"
rm -f "$output/ready"
mkfifo "$output/ready"
with_server=(--set train.strategy.type=parameter_server)
"$bin/ps-serve" "$job" "${with_server[@]}" --host 127.0.0.1 --port 0 --port-file "$output/port" >"$output/ready" &
server=$!
head -n 1 "$output/ready"
train served "${with_server[@]}" --servers "127.0.0.1:$(head -n 1 "$output/port")"
kill -TERM $server
wait $server
sha256sum "$output"/{peers,served}/pass-00001/model.safetensors
cmp "$output"/{peers,served}/pass-00001/model.safetensors
echo "the same model"

if command -v mpirun >/dev/null; then
  echo
  echo "== the same under mpirun"
  mpirun --allow-run-as-root --oversubscribe -n 3 "$bin/ps-train" "$job" --data "$output/clicks.txt" \
    --save-dir "$output/mpi" --collective mpi
fi
