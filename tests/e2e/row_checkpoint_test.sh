#!/bin/bash
# Checkpoints of tables whose rows come and go: a run goes on with the same bits, and ps-ckpt2model chooses rows by
# their histories.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH

# with_rows ROWS OUT: the ready-made job with this policy.
with_rows() {
  python3 - "$PS_SOURCE/share/jobs/ctr_rows.json" "$@" <<'PY'
import json, sys
job = json.load(open(sys.argv[1]))
job["model"]["layers"][0]["weight"] = {"rows": json.loads(sys.argv[2])}
json.dump(job, open(sys.argv[3], "w"))
PY
}

ps-datagen ctr --samples 3000 --output first.txt
ps-datagen ctr --first 3000 --samples 2000 --output second.txt
with_rows '{"admission": {"count": 3}, "decay": 0.5, "expire": {"unseen": 1, "below_score": 0.2},
            "shrink_steps": 7, "limit": 1920, "when_full": "evict"}' job.json

echo "a run that goes on from its checkpoint, an increment too, ends with the bits of one that never stopped"
ps-train job.json --data first.txt --passes 3 --save-dir alone --json >alone.json 2>alone.err
for passes in 1 2 3; do
  ps-train job.json --data first.txt --passes $passes --save-dir resumed --checkpoint-dir checkpoints --resume --json \
    --set checkpoint.full_every=2 --set checkpoint.steps=4 >resumed.json 2>resumed.err
done
cmp alone/pass-00002/model.safetensors resumed/pass-00002/model.safetensors
python3 -c 'import json
def rows(name): return [p["rows"] for p in json.load(open(name))["passes"]]
assert rows("alone.json") == rows("resumed.json"), (rows("alone.json"), rows("resumed.json"))
assert rows("alone.json")[-1]["features.weight"]["evicted"] > 0'

echo "a job whose rows have another history is told from this one"
with_rows '{"admission": {"count": 4}}' other.json
expect_status 2 ps-train other.json --data first.txt --checkpoint-dir checkpoints --resume --passes 4
expect_text err 'admission.count'

# Shows are halved by each of two shrinks, at the ends of the passes: of the first file and of the second.
with_rows '{"decay": 0.5}' counting.json
ps-train counting.json --data first.txt --passes 1 --save-dir '' --checkpoint-dir counted --log-level warning
ps-train counting.json --data second.txt --passes 2 --save-dir '' --checkpoint-dir counted --resume --log-level warning
before=$(ls -d counted/step-* | head -1)

# chosen FLAGS...: keys of the rows that the model has.
chosen() {
  ps-ckpt2model counted --tables features.weight --format text --output - "$@" | awk '{print $2}'
}

cat >expected.py <<'PY'
import collections, sys

def counts(path):
    shows, clicks = collections.Counter(), collections.Counter()
    for line in open(path):
        numbers = [int(x) for x in line.split()]
        slots = []
        while numbers:
            size = numbers.pop(0)
            slots.append(numbers[:size])
            del numbers[:size]
        for slot in slots[:20]:
            for key in slot:
                shows[key] += 1
                clicks[key] += slots[20][0]
    return shows, clicks

def score(shows, clicks):
    return 0.1 * (shows - clicks) + clicks

shows, clicks = counts("first.txt")
more_shows, more_clicks = counts("second.txt")
for key in sorted(shows | more_shows):
    now = [(old[key] * 0.5 + new[key]) * 0.5 for old, new in ((shows, more_shows), (clicks, more_clicks))]
    then = [old[key] * 0.5 for old in (shows, clicks)]
    growth = score(*now) - score(*then) * 0.5
    unseen = 1 if more_shows[key] else 2
    if eval(sys.argv[1]):
        print(key)
PY

# expect_rows CONDITION FLAGS...: the model has the rows for which it holds, and neither all nor none.
expect_rows() {
  python3 expected.py "$1" >expected
  shift
  chosen "$@" >found
  cmp expected found
  [[ -s found && $(wc -l <found) -lt $(wc -l <all) ]] || fail "all rows, or none: $*"
}

echo "rows are chosen by shows, and by score as PaddlePaddle's accessors do"
python3 expected.py True >all
chosen --rows all | cmp - all
expect_rows 'now[0] >= 30' --min-shows 30
expect_rows 'score(*now) >= 1.5' --rows base
expect_rows 'score(*now) >= 4 and unseen <= 1' --rows base --base-threshold 4 --max-unseen 1
expect_rows 'score(*now) >= 1.5 and growth >= 0.25' --rows delta --since "$before"
expect_rows 'score(*now) >= 1 and growth >= 3 and unseen <= 1' \
  --rows delta --since "$before" --base-threshold 1 --delta-threshold 3 --max-unseen 1
expect_rows '20 <= key <= 5000000 and score(*now) >= 1.5 and now[0] >= 40' --rows base --keys 20:5000000 --min-shows 40

echo "every format and type takes the choice; dense parameters stay whole"
rows=$(chosen --rows base | wc -l)
ps-ckpt2model counted --rows base --type int8 --with-state --output base.safetensors
python3 - "$rows" <<'PY'
import json, struct, sys
data = open("base.safetensors", "rb").read()
header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
rows = int(sys.argv[1])
assert header["features.weight.keys"]["shape"] == [rows], header
assert header["features.weight.rows"] ["shape"] == [rows, 8] and header["features.weight.rows"]["dtype"] == "I8"
assert header["features.weight.state.0"]["shape"] == [rows, 8]
assert header["hidden.weight"]["shape"] == [160, 32], header
PY
ps-train counting.json --job test --init-model base.safetensors --data second.txt --log-level warning --json >tested

echo "shows, clicks and age of rows come with a model that is to have them"
ps-ckpt2model counted --tables features.weight --with-counts --format text --output counts.txt
ps-ckpt2model counted --with-counts --output counts.safetensors
ps-ckpt2model counted --with-counts --format npy --output counts
ps-ckpt2model counted --with-counts --format npz --output counts.npz
ps-ckpt2model counted --row "$(tail -1 all)" --json >row
cat >counted.py <<'PY'
import array, json, struct, zipfile

exec(open("expected.py").read().split("for key in sorted")[0])
expected = []
for key in sorted(shows | more_shows):
    now = [(old[key] * 0.5 + new[key]) * 0.5 for old, new in ((shows, more_shows), (clicks, more_clicks))]
    expected.append((key, now[0], now[1], 1 if more_shows[key] else 2))

lines = [line.split() for line in open("counts.txt")]
assert [(int(l[1]), float(l[-3]), float(l[-2]), int(l[-1])) for l in lines] == expected, lines[:3]
assert all(len(l) == 2 + 8 + 3 for l in lines)

data = open("counts.safetensors", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
def tensor(name, kind, dtype):
    t = header[name]
    assert t["dtype"] == dtype and t["shape"] == [len(expected)], t
    begin, end = t["data_offsets"]
    return array.array(kind, data[8 + size + begin:8 + size + end]).tolist()
kinds = (("keys", "Q", "U64"), ("shows", "d", "F64"), ("clicks", "d", "F64"), ("unseen", "I", "U32"))
columns = [tensor("features.weight." + n, kind, dtype) for n, kind, dtype in kinds]
assert list(zip(*columns)) == expected
assert "hidden.weight.shows" not in header

archive = zipfile.ZipFile("counts.npz")
for (n, kind, _), column in zip(kinds, columns):
    for npy in open(f"counts/features.weight.{n}.npy", "rb").read(), archive.read(f"features.weight.{n}.npy"):
        start = 10 + struct.unpack("<H", npy[8:10])[0]
        assert array.array(kind, npy[start:]).tolist() == column, n

row = json.load(open("row"))[0]
assert (row["key"], row["shows"], row["clicks"], row["unseen"]) == expected[-1], row
PY
python3 counted.py
ps-ckpt2model counts.safetensors --tables features.weight --format text --output - | cut -d' ' -f1-10 |
  cmp - <(cut -d' ' -f1-10 counts.txt)
expect_status 2 ps-ckpt2model counted --with-counts --format word2vec --tables features.weight --output x
expect_text err 'holds no counts of rows'
expect_status 2 ps-ckpt2model counts.safetensors --with-counts --output x

echo "what cannot be chosen by is refused"
expect_status 2 ps-ckpt2model counted --rows delta --output x
expect_text err '--rows delta and --since belong together'
expect_status 2 ps-ckpt2model counted --rows base --since "$before" --output x
expect_status 2 ps-ckpt2model "$before" --rows delta --since counted --output x
expect_text err 'is later than'
expect_status 2 ps-ckpt2model counted --rows best --output x
expect_status 2 ps-ckpt2model counted --rows base --base-threshold=-1 --output x
ps-train "$PS_SOURCE/share/jobs/quickstart.json" --data first.txt --passes 1 --save-dir '' --checkpoint-dir plain --log-level warning
expect_status 2 ps-ckpt2model plain --rows base --output x
expect_text err 'does not count shows'
expect_status 2 ps-ckpt2model plain --with-counts --output x
expect_text err 'no table counts shows'
[[ ! -e x ]] || fail "a model of what was refused"
echo passed
