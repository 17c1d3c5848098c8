#!/bin/bash
# Two servers and three trainers on this machine, with clicks from ps-datagen: prints the figures of the job, and that
# its weights are those of one process that takes the three trainers' batches as one.  Sums of three gradients round
# differently from one long sum, so these are equal to a millionth; of one trainer with servers, and of none, the bits
# are equal.
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/quickstart.json
output=build/cluster
bin=build/release/bin
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train ps-serve ps-ckpt2model
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" ctr --samples 60000 --output "$output/clicks.txt"

# start_servers [flags...]: two servers of 2 + 2 ports, any that are free; $addresses names them.
start_servers() {
  local name
  addresses=
  for name in one two; do
    rm -f "$output/$name.ready"
    mkfifo "$output/$name.ready"
    "$bin/ps-serve" "$job" --host 127.0.0.1 --port 0 --ports-num 2 --ports-num-for-sparse 2 \
      --port-file "$output/$name.ports" "$@" >"$output/$name.ready" &
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
start_servers --checkpoint-dir "$output/three"
trainers=()
for rank in 2 1 0; do
  "$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/model" \
    --servers "$addresses" --trainers 3 --rank $rank &
  trainers+=($!)
done
for trainer in "${trainers[@]}"; do wait "$trainer"; done
end_servers

echo
echo "== one process, a batch of it being three trainers' batches"
"$bin/ps-train" "$job" --data "$output/clicks.txt" --set data.batch_size=600 \
  --save-dir "$output/joined.model" --checkpoint-dir "$output/joined"
"$bin/ps-ckpt2model" "$output/three" --diff "$output/joined" --json >"$output/differences.json"
largest=$(grep -o '"largest":[^,}]*' "$output/differences.json" | cut -d : -f 2 | sort -g | tail -n 1)
rows_of_one=$(grep -o '"only_[ab]":[^,}]*' "$output/differences.json" | grep -cv ':0$' || true)
echo "largest difference of a weight: $largest; tables with rows that the other has not: $rows_of_one"
awk -v largest="$largest" -v rows="$rows_of_one" 'BEGIN { exit !(largest < 1e-6 && rows == 0) }'
echo "the weights are equal"

echo
echo "== one trainer, with the servers and without"
start_servers
"$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/served" --servers "$addresses"
end_servers
"$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/alone"
cmp "$output/served/pass-00000/model.safetensors" "$output/alone/pass-00000/model.safetensors"
echo "the weights of one trainer are equal, bit for bit"
