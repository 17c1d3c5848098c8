#!/bin/bash
# Tables whose rows come and go, as a user runs them: the same in one process and on servers; by signal too.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# with_rows ROWS OUT: the ready-made job with this policy.
with_rows() {
  python3 - "$PS_SOURCE/share/jobs/ctr_rows.json" "$@" <<'PY'
import json, sys
job = json.load(open(sys.argv[1]))
rows = json.loads(sys.argv[2])
job["model"]["layers"][0]["weight"] = {"rows": rows} if rows is not None else {}
json.dump(job, open(sys.argv[3], "w"))
PY
}

# figures FILE: what the last pass says of the table.
figures() {
  python3 -c 'import json, sys
print(json.dumps(json.load(open(sys.argv[1]))["passes"][-1]["rows"]["features.weight"]))' "$1"
}

# expect_figures FILE CONDITION: of the dictionary `rows`.
expect_figures() {
  python3 -c "import sys; rows = $(figures "$1"); sys.exit(not ($2))" || fail "$1: not $2: $(figures "$1")"
}

# serve NAME [flags...]: starts a server of $job; its first port is added to $addresses.
serve() {
  local name=$1
  shift
  mkfifo "$name.ready"
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file "$name.port" "$@" >"$name.ready" 2>"$name.err" &
  servers+=($!)
  head -1 "$name.ready" >"$name.out"
  addresses+=${addresses:+,}127.0.0.1:$(head -1 "$name.port")
}

ps-datagen ctr --samples 6000 --output train.txt
ps-datagen ctr --first 6000 --samples 500 --output test.txt
with_rows '{"admission": {"count": 3}, "decay": 0.5, "expire": {"unseen": 1, "below_score": 0.2},
            "shrink_steps": 7, "limit": 1920, "when_full": "evict"}' job.json
job=job.json

echo "two servers of four ports end with the model of one process, bit for bit"
ps-train $job --data train.txt --save-dir alone --json >alone.json 2>alone.err
expect_text alone.err "Rows of 'features.weight'"
expect_figures alone.json 'rows["waiting"] > 0 and rows["expired"] > 0 and rows["evicted"] > 0'
expect_figures alone.json '0 < rows["rows"] <= 1920'
addresses=
serve one --ports-num 2 --ports-num-for-sparse 2
serve two --ports-num 2 --ports-num-for-sparse 2
ps-train $job --data train.txt --save-dir served --servers "$addresses" --json >served.json 2>/dev/null
cmp alone/pass-00001/model.safetensors served/pass-00001/model.safetensors
[[ $(figures alone.json) == $(figures served.json) ]] || fail "$(figures alone.json) and $(figures served.json)"

echo "keys without a row predict the same from the servers and from the model, which holds the rows that there are"
ps-train $job --job predict --init-model alone/pass-00001 --data test.txt >expected 2>/dev/null
ps-train $job --job predict --servers "$addresses" --data test.txt >predictions 2>/dev/null
cmp expected predictions
python3 -c "import json, struct
data = open('alone/pass-00001/model.safetensors', 'rb').read()
header = json.loads(data[8:8 + struct.unpack('<Q', data[:8])[0]])
rows = $(figures alone.json)
assert header['features.weight.keys']['shape'] == [rows['rows']], header"

echo "a server with another policy is told from this one"
with_rows '{"admission": {"count": 4}}' other.json
expect_status 2 ps-train other.json --data train.txt --servers "$addresses"
expect_text err 'weight.rows.admission.count is 4, not 3 there'
kill -TERM "${servers[@]}"
for server in "${servers[@]}"; do wait "$server"; done
servers=()

echo "rows that occur stay where the last step of a pass shrinks too: a model loses none that it needs"
with_rows null always.json
with_rows '{"expire": {"unseen": 1}, "shrink_steps": 10}' often.json
for name in always often; do
  ps-train $name.json --data train.txt --save-dir $name --json >$name.out 2>$name.err
  ps-train $name.json --job test --init-model $name/pass-00001 --data test.txt --json >$name.tested 2>>$name.err
done
expect_figures often.out 'rows["rows"] > 0 and rows["expired"] > 0'
python3 - <<'PY'
import collections, json, struct

def keys(name):
    data = open(f"{name}/pass-00001/model.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    begin, end = json.loads(data[8:8 + size])["features.weight.keys"]["data_offsets"]
    return set(struct.unpack(f"<{(end - begin) // 8}Q", data[8 + size + begin:8 + size + end]))

def occurring(lines):
    counts = collections.Counter()
    for line in lines:
        numbers = line.split()
        while len(numbers) > 2:
            counts.update(map(int, numbers[1:1 + int(numbers[0])]))
            del numbers[:1 + int(numbers[0])]
    return counts

have, all_keys = keys("often"), keys("always")
hottest = {key for key, _ in occurring(open("train.txt")).most_common(300)}
assert hottest <= have, len(hottest - have)
assert len(have) < len(all_keys)
auc = {name: json.load(open(f"{name}.tested"))["test"]["evaluators"]["auc"] for name in ("always", "often")}
print(f"AUC {auc['often']:.4f} of {len(have)} rows, {auc['always']:.4f} of {len(all_keys)} rows")
assert auc["often"] > auc["always"] - 0.05, auc
PY

# shrink_by_signal NAME [flags...]: a trainer of asked.json is told to, between two batches.
shrink_by_signal() {
  local name=$1 trainer
  shift
  ps-train asked.json --passes 1 --data slow --save-dir '' --set data.batch_size=100 --set train.log_period=1 --json "$@" \
    >"$name.out" 2>"$name.err" &
  trainer=$!
  exec 3>slow
  head -200 train.txt >&3
  while ! grep -q 'Batch=' "$name.err"; do kill -0 "$trainer" || fail "$(cat "$name.err")"; done
  kill -s RTMIN "$trainer"
  sed -n 201,600p train.txt >&3
  exec 3>&-
  wait "$trainer" || fail "the trainer ended with $?: $(cat "$name.err")"
  expect_text "$name.err" 'Shrinking tables'
  expect_figures "$name.out" 'rows["expired"] > 0 and rows["rows"] > 0'
}
with_rows '{"expire": {"below_score": 0.15}, "shrink_passes": 0}' asked.json
mkfifo slow

echo "by signal a trainer has the tables shrink"
shrink_by_signal asked

echo "those of all servers"
job=asked.json addresses=
serve left --ports-num 2
serve right --ports-num 2
shrink_by_signal asked_served --servers "$addresses"
kill -TERM "${servers[@]}"
for server in "${servers[@]}"; do wait "$server"; done
servers=()

echo "a policy that nothing could follow is refused, with its place"
echo '1 1:1' >one.libsvm
expect_status 2 ps-train "$PS_SOURCE/share/jobs/ctr10k.json" --data one.libsvm \
  --set model.layers.0.weight='{"rows": {"limit": 6400}}' --set model.layers.0.sparse_update=false
expect_text err 'weight.rows: sparse_update must be true'
with_rows '{"admission": {"count": 3, "probability": 0.5}}' both.json
expect_status 2 ps-train both.json --data train.txt
expect_text err 'weight.rows.admission: expected either count or probability, found both'
