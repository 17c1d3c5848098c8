#!/bin/bash
# A server most of whose rows are on disk: the same model, bit for bit; nothing is left in the folder.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job= server=
trap 'kill $server 2>/dev/null || true; remove_scratch' EXIT

# serve [flags...]: starts a server; its process is $server, its address $address.
serve() {
  mkfifo ready
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file port "$@" >ready 2>server.err &
  server=$!
  head -1 ready >ready.json
  address=127.0.0.1:$(head -1 port)
}

# Bytes of the server's files in `spill`, which have no names.
spilled_bytes() {
  local file total=0
  for file in /proc/$server/fd/*; do
    [[ $(readlink "$file") == "$scratch"/spill/* ]] || continue
    total=$((total + $(stat -L -c %s "$file")))
  done
  echo $total
}

# same_with_spill JOB [flags...]: it trains the same model as a process alone, with most of its rows on disk.
same_with_spill() {
  local bytes flags=("${@:2}")
  job=$1
  rm -rf alone served ready
  ps-train "$job" --data train.txt --passes 2 --save-dir alone "${flags[@]}" 2>/dev/null
  serve --ports-num 2 --spill-dir "$scratch/spill" --spill-memory 64K "${flags[@]}"
  ps-train "$job" --data train.txt --passes 2 --save-dir served --servers "$address" "${flags[@]}" 2>served.err
  cmp alone/pass-00001/model.safetensors served/pass-00001/model.safetensors
  bytes=$(spilled_bytes)
  ((bytes > 256 * 1024)) || fail "only $bytes bytes were on disk"
  [[ -z $(ls spill) ]] || fail "there are names in the folder: $(ls spill)"
  kill "$server"
  wait "$server"
}

ps-datagen ctr --samples 4000 --output train.txt
mkdir spill

echo "rows that come back from disk train the model of one process"
same_with_spill "$PS_SOURCE/share/jobs/quickstart.json"

echo "so do rows that come and go by a policy"
same_with_spill "$PS_SOURCE/share/jobs/ctr_rows.json" --set model.layers.0.weight.rows.shrink_steps=7 \
  --set model.layers.0.weight.rows.expire.unseen=0
grep -q 'expired=[1-9]' served.err || fail "no row went: $(tail -n 3 served.err)"

job=$PS_SOURCE/share/jobs/quickstart.json
echo "rows that are lost on disk end a checkpoint, and neither the server nor who trains others"
rm -f ready
mkfifo data.pipe
# Half of the rows' memory: enough for those of the examples that come again and again, so that no step reads.
serve --spill-dir "$scratch/spill" --spill-memory 2500K --checkpoint-dir checkpoints --checkpoint-period 0
ps-train "$job" --data data.pipe --passes 1 --save-dir '' --servers "$address" --set data.batch_size=20 \
  --set data.shuffle=none --set train.log_period=1 2>lossy.err &
trainer=$!
exec 3>data.pipe
cat train.txt >&3
# feed_until FILE TEXT: the same examples again and again, until FILE has the text.
feed_until() {
  while ! grep -q "$2" "$1"; do
    kill -0 $trainer || fail "$(tail -n 3 lossy.err)"
    for _ in {1..20}; do head -20 train.txt; done >&3
    sleep 0.05
  done
}
feed_until lossy.err 'Batch=300 '
for file in /proc/$server/fd/*; do
  if [[ $(readlink "$file") == "$scratch"/spill/* ]]; then : >"$file"; fi
done
kill -USR2 $server
feed_until server.err 'failed, the one before it stays: spilled rows in'
exec 3>&-
wait $trainer || fail "the trainer ended with $?: $(tail -n 3 lossy.err)"
kill $server
status=0
wait $server || status=$?
((status == 5)) || fail "a server whose last checkpoint has failed ends with $status, expected 5"
expect_text server.err 'the last checkpoint has failed: spilled rows in'

echo "a table of four times the memory of the whole process trains to the bits of one that has it all"
# Rows of 256 floats: 126 weights, as many of adagrad's, a stamp, and what rounds them up to cache lines.
rows=$(python3 - <<'PY'
import json
job = {"data": {"format": "multislot", "label_slot": "label", "batch_size": 64, "shuffle": "none",
                "slots": [{"name": "ids"}, {"name": "label"}]},
       "model": {"layers": [{"name": "ids_vector", "type": "embedding", "size": 126, "sparse_update": True, "input": "ids"},
                            {"name": "score", "type": "fc", "input": "ids_vector", "size": 1}],
                 "cost": {"type": "binary_cross_entropy", "input": "score"}},
       "optimizer": {"type": "adagrad", "learning_rate": 0.05, "l2": 1e-4}, "train": {"passes": 1}}
json.dump(job, open("wide.json", "w"))
# Each example has 64 ids of its own, and two of the first that come again.
examples = 64 * 64
with open("wide.txt", "w") as data:
    for e in range(examples):
        ids = [e * 64 + i for i in range(64)] + sorted({e * 7 % 4096, e * 13 % 4096})
        data.write(f"{len(ids)} {' '.join(map(str, ids))} 1 {e % 3 % 2}\n")
print(examples * 64)
PY
)
job=wide.json
ps-train $job --data wide.txt --save-dir alone_wide --log-level warning
rm -f ready
serve --spill-dir "$scratch/spill" --max-memory 96M --spill-memory 8M
idle=$(awk '/^VmRSS/ { print $2 * 1024 }' /proc/$server/status)
ps-train $job --data wide.txt --save-dir served_wide --servers "$address" --log-level warning
peak=$(awk '/^VmHWM/ { print $2 * 1024 }' /proc/$server/status)
on_disk=$(spilled_bytes)
cmp alone_wide/pass-00000/model.safetensors served_wide/pass-00000/model.safetensors
echo "$rows rows of 1 KiB, $on_disk bytes on disk; the server had $idle bytes without rows, and $peak at most:"
echo "$(((peak - idle - 8 * 1024 * 1024) / rows)) bytes a row beside the 8 MiB for rows, with the index and the buffers of messages"
((rows * 1024 >= 4 * peak)) || fail "the process had $peak bytes, a quarter of the table is $((rows * 256))"
((on_disk > rows * 1024 - 16 * 1024 * 1024)) || fail "only $on_disk bytes were on disk"
kill $server
wait $server
rm -rf alone_wide served_wide wide.txt
job=$PS_SOURCE/share/jobs/quickstart.json

echo "by default rows in memory have half of what tables have"
rm -f ready
serve --spill-dir "$scratch/spill" --max-memory 192M
kill $server
wait $server

echo "a folder that is not there is refused, and more memory than there is"
expect_status 2 ps-serve "$job" --port 0 --spill-dir "$scratch/nowhere"
expect_text err "cannot make a file in '$scratch/nowhere'"
expect_status 2 ps-serve "$job" --port 0 --spill-dir "$scratch/spill" --max-memory 512M --spill-memory 1G
expect_text err '--spill-memory is 1.0 GiB, but tables have '
