#!/bin/bash
# Two servers and three trainers on this machine, with clicks from ps-datagen: prints the figures of the job, and that
# one trainer with the same servers' ports trains, bit for bit, the model of a process without servers.
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/quickstart.json
output=build/cluster
bin=build/release/bin
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train ps-serve
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" ctr --samples 60000 --output "$output/clicks.txt"

# start_servers: two servers of 2 + 2 ports, any that are free; $addresses names them.
start_servers() {
  local name
  addresses=
  for name in one two; do
    rm -f "$output/$name.ready"
    mkfifo "$output/$name.ready"
    "$bin/ps-serve" "$job" --host 127.0.0.1 --port 0 --ports-num 2 --ports-num-for-sparse 2 \
      --port-file "$output/$name.ports" >"$output/$name.ready" &
    servers+=($!)
    head -n 1 "$output/$name.ready"
    addresses+=127.0.0.1:$(head -n 1 "$output/$name.ports"),
  done
}

end_servers() {
  kill -TERM "${servers[@]}"
  wait "${servers[@]}"
  servers=()
}

echo
echo "== three trainers, two servers"
start_servers
trainers=()
for rank in 2 1 0; do
  "$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/three" \
    --servers "$addresses" --trainers 3 --rank $rank &
  trainers+=($!)
done
for trainer in "${trainers[@]}"; do wait "$trainer"; done
end_servers

echo
echo "== one trainer, with the servers and without"
start_servers
"$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/served" --servers "$addresses"
end_servers
"$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/alone"
cmp "$output/served/pass-00000/model.safetensors" "$output/alone/pass-00000/model.safetensors"
echo "the weights are equal, bit for bit"
