#!/bin/bash
# Heterogeneous training, ps(7): a wide and deep model of data like Criteo's, of 26 slots with vectors of width 10 and 13
# numbers, trained by two readers and one compute trainer in front of two servers; and by two plain trainers.  Prints the
# AUC on held-out data of both, and that the models are equal, bit for bit.
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/criteo_wide_deep.json
output=build/wide_deep_heter
bin=build/release/bin
processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true' EXIT

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train ps-serve
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" criteo --samples 30000 --output "$output/train.txt"
"$bin/ps-datagen" criteo --first 30000 --samples 5000 --output "$output/held_out.txt"

# start NAME COMMAND...: a process that prints a line and writes its first port to a file when it is ready.
start() {
  local name=$1
  shift
  rm -f "$output/$name.ready"
  mkfifo "$output/$name.ready"
  "$@" --host 127.0.0.1 --port 0 --port-file "$output/$name.port" >"$output/$name.ready" 2>"$output/$name.log" &
  processes+=($!)
  head -n 1 "$output/$name.ready"
}

# place NAME: where it listens.
place() { echo "127.0.0.1:$(head -n 1 "$output/$1.port")"; }

# train NAME [flags...]: two trainers in front of two servers, to the end; trainer 0 tests.
train() {
  local name=$1 rank ids=() id
  shift
  for rank in 1 0; do
    "$bin/ps-train" "$job" --data "$output/train.txt" --test-data "$output/held_out.txt" \
      --save-dir "$output/$name" --servers "$(place one),$(place two)" --trainers 2 --rank $rank --json "$@" \
      >"$output/$name.$rank.json" 2>"$output/$name.$rank.log" &
    ids+=($!)
  done
  for id in "${ids[@]}"; do wait "$id" || { tail "$output/$name".*.log && exit 1; }; done
}

start_servers() {
  start one "$bin/ps-serve" "$job" --ports-num-for-sparse 1
  start two "$bin/ps-serve" "$job" --ports-num-for-sparse 1
}

end_servers() {
  kill -TERM "${processes[0]}" "${processes[1]}"
  wait "${processes[@]}"
  processes=()
}

# auc NAME: on the held-out data.
auc() { grep -o '"auc":[0-9.]*' "$output/$1.0.json" | tail -n 1 | cut -d: -f2; }

echo
echo "== two readers and one compute trainer"
start_servers
start compute "$bin/ps-train" "$job" --role compute --servers "$(place one),$(place two)"
train readers --role reader --compute "$(place compute)"
wait "${processes[2]}"
tail -n 1 "$output/compute.log"
end_servers

echo
echo "== two trainers"
start_servers
train trainers
end_servers

echo
printf 'AUC of readers and compute trainer: %s\nAUC of trainers: %s\n' "$(auc readers)" "$(auc trainers)"
cmp "$output"/{readers,trainers}/pass-00000/model.safetensors
echo "the weights are equal, bit for bit"
