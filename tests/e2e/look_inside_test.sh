#!/bin/bash
# Looking into models and checkpoints: largest weights by name, a row, its neighbours, statistics, and exports that
# other tools read.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
quiet=(--log-level warning)

python3 - >people.csv <<'PY'
import random
random.seed(3)
print("age,job,city,label")
for _ in range(3000):
    job = random.choice(["clerk", "nurse", "pilot officer", "cook"])
    age = random.choice(["", str(random.randint(18, 80))])
    likes = random.random() < (0.9 if job == "pilot officer" else 0.3)
    print(f"{age},{job},{random.choice(['Bonn', 'Oslo'])},{int(likes)}")
PY
ps-train --recipe logistic --data people.csv --passes 2 --save-dir people --checkpoint-dir checkpoints "${quiet[@]}" \
  --set 'data.csv.columns=[{"name": "job", "dictionary": 10}]'
model=people/pass-00001

echo "the largest weight is that of the job on which the label depends, and has its name"
ps-ckpt2model $model --top 3 >top
awk 'NR == 2 && $1 > 0 && /job=pilot officer$/ {found = 1} END {exit !found}' top || fail "$(cat top)"
[[ $(wc -l <top) == 4 ]] || fail "not three weights: $(cat top)"
ps-ckpt2model $model --top 100 --tables score.weight0 >top
expect_text top 'age=<missing>'

echo "a checkpoint says the same as the model of the same step"
for flags in "--top 5" "--statistics" "--row job=cook" "--nearest job=cook --metric l2 --top 2"; do
  # shellcheck disable=SC2086
  ps-ckpt2model $model $flags --json >of_model
  # shellcheck disable=SC2086
  ps-ckpt2model checkpoints $flags --json >of_checkpoint
  python3 - "$flags" <<'PY' || fail "$flags differs: $(cat of_model of_checkpoint)"
import json, sys
a, b = (json.load(open(name)) for name in ("of_model", "of_checkpoint"))
if sys.argv[1] == "--statistics":
    a, b = ({table["table"]: table for table in report} for report in (a, b))
assert a and a == b
PY
done

echo "a word that is hashed is named, in a model and in a checkpoint"
for place in $model checkpoints; do
  ps-ckpt2model $place --top 100 >top
  for name in city=Bonn city=Oslo; do expect_text top $name; done
done

echo "a word that is hashed is found by its name; its row is that of the text"
ps-ckpt2model $model --row city=Oslo --json >row
ps-ckpt2model $model --format text --output text
python3 - <<'PY'
import json
(row,) = json.load(open("row"))
lines = [line.split() for line in open("text")]
(line,) = [line for line in lines if line[0] == row["table"] and int(line[1]) == row["key"]]
assert abs(float(line[2]) - row["weights"][0]) < 1e-6 * abs(row["weights"][0])
PY
ps-ckpt2model checkpoints --row job=cook --with-state >row
expect_text row 'state 0:'

echo "columns may share their ids, by which rows are found and named; words that are too many have no names"
python3 - >pairs.csv <<'PY'
print("home,away,user,label")
for i in range(10200):
    print(f"{['Bonn', 'Oslo'][i % 2]},{['Oslo', 'Rome'][i // 2 % 2]},u{i},{i % 2}")
PY
ps-train --recipe logistic --data pairs.csv --passes 1 --save-dir pairs "${quiet[@]}" --set \
  'data.csv.columns=[{"name": "home", "ids_of": "town"}, {"name": "away", "ids_of": "town"}]'
ps-ckpt2model pairs/pass-00000 --row away=Oslo --json >row
ps-ckpt2model pairs/pass-00000 --row home=Oslo --json >same
cmp <(grep -o '"key":[0-9]*' row) <(grep -o '"key":[0-9]*' same) || fail "one word of two columns has two ids"
ps-ckpt2model pairs/pass-00000 --top 10300 >top
for name in home=Bonn home=Oslo away=Rome; do expect_text top $name; done
if grep user= top; then fail "a word that was not kept has a name"; fi
ps-ckpt2model pairs/pass-00000 --row user=u7 >row

echo "rows, tables and flags that are not there are refused"
expect_status 2 ps-ckpt2model $model --row job=king
expect_text err "no row is named 'job=king' in score.weight"
expect_status 2 ps-ckpt2model $model --nearest 12345
expect_text err 'no row 12345 in '
for place in $model checkpoints; do
  expect_status 2 ps-ckpt2model $place --top 3 --tables score.wait0
  expect_text err "no table 'score.wait0' (did you mean 'score.weight0'?); it has "
done
expect_status 2 ps-ckpt2model $model --top 3 --statistics
expect_text err '--statistics and --top exclude each other'
expect_status 2 ps-ckpt2model $model --top 3 --metric dot
expect_status 2 ps-ckpt2model $model --top 0
expect_status 2 ps-ckpt2model $model --format word2vec --output x
expect_text err 'holds one table: choose one of '
expect_status 2 ps-ckpt2model $model --format npy --output -

echo "damage ends each with 5"
cp -r $model damaged
size=$(stat -c %s damaged/model.safetensors)
printf 'damage' | dd of=damaged/model.safetensors bs=1 seek=$((size - 8)) conv=notrunc status=none
for flags in "--top 5" "--statistics" "--row 0"; do
  # shellcheck disable=SC2086
  expect_status 5 ps-ckpt2model damaged $flags
  expect_text err damaged/model.safetensors
done

echo "words are named by the vocabulary of the model, and have neighbours"
python3 - >words.txt <<'PY'
import random
random.seed(1)
for _ in range(4000):
    side = random.choice([["red", "green", "blue"], ["one", "two", "three"]])
    print(" ".join(random.choice(side) for _ in range(6)))
PY
ps-train --recipe word2vec --data words.txt --passes 3 --save-dir words --checkpoint-dir words_checkpoint "${quiet[@]}" \
  --set data.text.vocabulary_size=7 --set model.layers.1.num_classes=7 --set model.layers.0.size=8 \
  --set model.layers.1.num_neg_samples=3 --set data.batch_size=50
ps-ckpt2model words/pass-00002 --nearest red --top 2 >near
expect_text near '(green)'
expect_text near '(blue)'
ps-ckpt2model words_checkpoint --nearest red --top 2 --vocabulary words/pass-00002/vocabulary.txt >near_checkpoint
cmp near near_checkpoint
expect_status 2 ps-ckpt2model words_checkpoint --nearest red
expect_text err --vocabulary

echo "a model that is larger than the memory is looked into"
python3 - <<'PY'
import json, struct
rows, width, piece = 3000000, 16, 100000
header = {"t.keys": {"dtype": "U64", "shape": [rows], "data_offsets": [0, 8 * rows]},
          "t.rows": {"dtype": "F32", "shape": [rows, width], "data_offsets": [8 * rows, 8 * rows + 4 * rows * width]}}
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open("large.safetensors", "wb") as out:
    out.write(struct.pack("<Q", len(text)) + text)
    for at in range(0, rows, piece):
        out.write(struct.pack(f"<{piece}Q", *range(at, at + piece)))
    some = struct.pack(f"<{width}f", *range(width))
    for at in range(0, rows, piece):
        out.write(some * piece)
PY
limited() { (ulimit -v 120000 && "$@"); }
limited ps-ckpt2model large.safetensors --statistics --json >large
python3 -c 'import json; (t,) = json.load(open("large")); assert (t["rows"], t["weights"]["max"], t["zeros"]) == (3000000, 15, 3000000), t'
limited ps-ckpt2model large.safetensors --top 2 >large
expect_text large '15  t        0      15'
limited ps-ckpt2model large.safetensors --nearest 2999999 --top 1 >large
expect_text large '1  0'
rm large.safetensors

echo "word2vec's text has a line a row"
ps-ckpt2model words/pass-00002 --tables words.weight --format word2vec --output words.vec
[[ $(head -1 words.vec) == "7 8" && $(wc -l <words.vec) == 8 ]] || fail "$(head -2 words.vec)"
grep -q '^red ' words.vec || fail "no line of 'red'"
ps-ckpt2model words/pass-00002 --format npy --output arrays
[[ $(sed -n 2p arrays/words.weight.names.txt) == $(sed -n 3p words.vec | cut -d' ' -f1) ]] || fail "other names"

python=/usr/bin/python3
$python -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
echo "numpy reads npy"
$python - <<'PY'
import numpy
rows, keys = numpy.load("arrays/words.weight.npy", mmap_mode="r"), numpy.load("arrays/words.weight.keys.npy")
assert rows.shape == (7, 8) and rows.dtype == numpy.float32 and keys.tolist() == list(range(7))
lines = [line.split() for line in open("words.vec")][1:]
assert (numpy.array([line[1:] for line in lines], numpy.float32) == rows).all()
assert [line[0] for line in lines] == open("arrays/words.weight.names.txt").read().split()
PY
for python in $python python3; do
  $python -c 'import gensim' 2>/dev/null || continue
  echo "gensim reads word2vec's text"
  $python -c '
from gensim.models import KeyedVectors
words = KeyedVectors.load_word2vec_format("words.vec")
assert {word for word, _ in words.most_similar("red", topn=2)} == {"green", "blue"}'
  echo passed
  exit
done
echo "(gensim is not installed: its part is left out)"
echo passed
