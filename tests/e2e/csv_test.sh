#!/bin/bash
# Tables with a header and lines of JSON, from raw columns to predictions: what was learnt from the training data goes with the model.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3

# People with an income that depends on age (not on a straight line), job and tags; some fields are missing, some quoted.
python3 - <<'PYTHON'
import csv, json, random
random.seed(7)
jobs = ["clerk", "smith, black", 'the "boss"', "cook"]
def rows(n):
    for _ in range(n):
        age, job = random.randint(18, 90), random.randrange(4)
        tags = [t for t in "abcd" if random.random() < 0.4]
        gain = int(10 ** random.uniform(0, 6)) if random.random() < 0.1 else 0
        score = 2 * (35 < age < 60) - 1.5 + (job - 1.5) + ("a" in tags) - ("b" in tags) + 0.8 * (gain > 0)
        label = "high" if random.gauss(score, 0.7) > 0 else "low"
        yield ["" if random.random() < 0.05 else age, "NA" if random.random() < 0.05 else jobs[job], "|".join(tags), gain,
               "two\nlines", label]
header = ["age", "job", "tags", "gain", "note", "income"]
def write(name, rows, order=range(6), dialect="excel"):
    with open(name, "w", newline="") as file:
        out = csv.writer(file, dialect, lineterminator="\n")
        for row in [header, *rows]: out.writerow([row[i] for i in order])
train, test = list(rows(8000)), list(rows(2000))
write("train.csv", train)
write("test.csv", test)
write("moved.csv", test, [3, 5, 0, 2, 4, 1])        # columns in another order
write("unlabelled.csv", test, [4, 3, 2, 1, 0])      # and without the label
without = [[*row[:4], "one line", row[5]] for row in train]
more = list(rows(150000))
write("many.csv", more)
write("more.csv", [[*row[:4], str(random.random()), row[5]] for row in more])
write("train.tsv", without, dialect="excel-tab")
def write_json(name, rows):
    with open(name, "w") as file:
        for i, row in enumerate(rows):
            fields = dict(zip(header, row))
            fields["tags"] = [tag for tag in row[2].split("|") if tag]
            for missing in ("age", "job"):
                if fields[missing] in ("", "NA"): fields[missing] = None
                if fields[missing] is None and i % 2: del fields[missing]
            fields["note"] = {"lines": ["two", {"more": None}]}
            print(json.dumps(fields), file=file)
write_json("train.jsonl", train)
write_json("test.jsonl", test)
labels = [row[5] for row in test]
open("labels", "w").write("\n".join(labels) + "\n")
PYTHON
columns='[{"name": "age", "scale": "bins", "bins": 20}, {"name": "tags", "type": "categories"}, {"name": "note", "type": "ignore"}]'
# accuracy PREDICTIONS: by the labels of the test data.
accuracy() {
  paste "$1" labels | awk '{ right += ($1 > 0.5) == ($2 == "low") } END { print right / NR }'
}

echo "a table is told by its header; labels that are words are classes"
ps-train --recipe logistic --data train.csv --test-data test.csv --passes 5 --save-dir plain --json >out 2>err
expect_text err 'Columns: label income of high, low; numbers age, gain; categories job, tags, note'
expect_text err 'Looked at 8000 examples of csv'
expect_text plain/pass-00004/job.json '"learnt": true'
expect_text plain/pass-00004/job.json '"scale": "standard+bins"'

echo "recipes see numbers in bins too, which a line through them cannot do"
ps-train --model plain/pass-00004 --job predict --data test.csv >predictions 2>err
ps-train --recipe logistic --data train.csv --set 'data.csv.columns=[]' --passes 5 --save-dir lines_alone --log-level warning
ps-train --model lines_alone/pass-00004 --job predict --data test.csv >others 2>err
at_least "$(accuracy predictions)" "$(accuracy others) + 0.03"

echo "columns that are described are read so, the others as they are found"
ps-train --recipe logistic --data train.csv --test-data test.csv --set data.csv.columns="$columns" --save-dir model 2>err
expect_text err 'numbers age, gain; categories job, tags'
ps-train --model model/pass-00019 --job predict --data test.csv >predictions 2>err
expect_text err 'Predicted samples=2000 of classes high, low'
at_least "$(accuracy predictions)" 0.8

echo "names of classes instead of probabilities"
ps-train --model model/pass-00019 --job predict --output-format names --data test.csv >names 2>err
cmp names <(awk '{ print ($1 > 0.5 ? "low" : "high") }' predictions) || fail "$(paste predictions names | head -3)"
[[ $(sort -u names | paste -sd ' ') == 'high low' ]] || fail "$(sort names | uniq -c)"
ps-train --model model/pass-00019 --job predict --output-format numbers --data test.csv >others 2>err
cmp predictions others
expect_status 2 ps-train --model model/pass-00019 --job predict --output-format words --data test.csv
expect_text err '--job predict writes numbers or names'
PS_OUTPUT_FORMAT=records ps-train --model model/pass-00019 --job predict --data test.csv >others 2>err
cmp predictions others
printf '%s\n' '1 0:1' '0 1:1' >numbered.txt
ps-train --recipe logistic --data numbered.txt --passes 1 --save-dir numbered 2>err
expect_status 2 ps-train --model numbered/pass-00000 --job predict --output-format names --data numbered.txt
expect_text err 'no names of classes, as its labels were numbers'
printf '%s\n' sentence,label 'cheap flight,travel|money' 'rates rise,money' 'it rains,' >tagged.csv
ps-train --recipe tags --data tagged.csv --passes 100 --save-dir tagged --log-level warning \
  --set 'data.csv.columns=[{"name": "sentence", "type": "text"}]'
ps-train --model tagged/pass-00099 --job predict --output-format names --data tagged.csv >names 2>err
cmp names <(printf '%s\n' 'money|travel' money '') || fail "$(cat names)"

echo "several columns are labels: each column of truths a class, and each word of another one"
python3 - <<'PYTHON'
import csv, random
random.seed(3)
rare = ["rain", "sea", "red", "blue"]
with open("columns.csv", "w", newline="") as table, open("truth", "w") as truth:
    out = csv.writer(table, lineterminator="\n")
    out.writerow(["about_sea", "text", "hue", "about_rain"])
    for i in range(600):
        words = [w for w in rare if random.random() < 0.4]
        hues = [w for w in words if w in ("red", "blue")]
        text = words + random.choices(["a", "the", "of", "it", "is"], k=5)
        random.shuffle(text)
        out.writerow([int("sea" in words), " ".join(text), "|".join(hues), "yes" if "rain" in words else "no"])
        names = ["about_sea"] * ("sea" in words) + ["hue=" + h for h in sorted(hues)] + ["about_rain"] * ("rain" in words)
        print("|".join(names), file=truth)
PYTHON
ps-train --recipe tags --data columns.csv --passes 20 --save-dir columns \
  --set 'data.csv.labels=["hue", "about_*"]' 2>err
expect_text err 'Columns: labels about_sea, hue, about_rain of about_sea, hue=blue, hue=red, about_rain; categories text'
ps-train --model columns/pass-00019 --job test --data columns.csv --json >out
at_least "$(python3 -c 'import json; print(json.load(open("out"))["test"]["evaluators"]["micro_f1"])')" 0.99
ps-train --model columns/pass-00019 --job predict --output-format names --data columns.csv >names 2>err
diff names truth >differ || true
(($(grep -c '^<' differ) < 10)) || fail "$(head -5 differ)"
cut -d, -f2 columns.csv | ps-train --model columns/pass-00019 --job predict --output-format names 2>err | cmp - names
expect_status 2 ps-train --recipe text --data columns.csv --set 'data.csv.labels=["hue", "about_*"]'
expect_text err 'model.cost.label: missing, and data.csv.labels names hue, about_sea, about_rain: say which'

echo "names of classes of fastText's lines"
for word in red green blue; do echo "__label__$word it is $word"; done >colours.txt
ps-train --recipe text --data colours.txt --passes 100 --save-dir colours --log-level warning
ps-train --model colours/pass-00099 --job predict --output-format names --data colours.txt >names 2>err
cmp names <(printf '%s\n' red green blue) || fail "$(cat names)"

echo "predictions need no label, and columns may be in any order"
ps-train --model model/pass-00019 --job predict <unlabelled.csv >others 2>err
cmp predictions others
ps-train --model model/pass-00019 --job predict --data moved.csv >others 2>err
cmp predictions others
ps-train --model model/pass-00019 --job test --data moved.csv --json >out 2>err
expect_text out '"samples":2000'

echo "what was learnt is of the training data, whatever other data hold"
{ head -n 1 test.csv; echo '40,cook,a,100000000,x,high'; } >one.csv
{ cat one.csv; echo '40,cook,a,5,x,high'; } >two.csv
ps-train --model model/pass-00019 --job predict --data one.csv >one 2>err
ps-train --model model/pass-00019 --job predict --data two.csv >two 2>err
head -n 1 two | cmp - one

echo "threads, pipes and compression change no bit"
for command in "cat train.csv" "gzip -c train.csv"; do
  $command | ps-train --recipe logistic --threads 3 --passes 5 --save-dir piped --log-level warning
  cmp {plain,piped}/pass-00004/model.safetensors
  rm -r piped
done

echo "of a long pipe the beginning is looked at, wherever it is cut"
for command in "cat many.csv" "gzip -1 -c more.csv"; do
  (($($command | wc -c) > 1 << 20)) || fail "'$command' is looked at whole"
  $command | ps-train --recipe logistic --save-dir '' --json >out 2>err
  expect_text err 'Looked at the first of examples of csv'
  expect_text out '"samples":150000'
done

echo "tabs, and a job that names its format"
cat >job.json <<'JSON'
{
  "data": {"format": "tsv", "csv": {"label": "income", "columns": [
    {"name": "job", "dictionary": 3}, {"name": "tags", "type": "categories", "dictionary": 10}, {"name": "note", "type": "ignore"}]}},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": ["sparse:*", "dense:*"], "size": 1, "sparse_update": true}],
    "cost": {"type": "binary_cross_entropy", "input": "score"},
    "evaluators": ["auc"]
  }
}
JSON
ps-train job.json --data train.tsv --save-dir tabs 2>err
expect_text tabs/pass-00000/job.json '"smith, black"'
ps-train job.json --data train.tsv --print-config >filled.json 2>err
ps-train filled.json --data train.tsv --save-dir filled --log-level warning
cmp {tabs,filled}/pass-00000/model.safetensors

echo "tables become records, which train the same"
ps-train filled.json --job convert --data train.tsv --output train.records 2>err
ps-train filled.json --data train.records --format records --save-dir records --log-level warning
cmp {tabs,records}/pass-00000/model.safetensors

echo "a recipe for classes counts the words of the label"
ps-train --recipe softmax --data train.csv --passes 1 --save-dir '' --print-config >printed.json 2>err
expect_text printed.json '"size": 2'

echo "lines of JSON give the same model, from files and compressed from a pipe"
described=(--set 'data.csv.columns=[{"name": "age", "scale": "bins", "bins": 20}, {"name": "note", "type": "ignore"}]'
  --set data.csv.label=income)
ps-train --recipe logistic --data train.jsonl "${described[@]}" --save-dir lines 2>err
expect_text err 'Columns: label income of high, low; numbers age, gain; categories job, tags'
expect_text err 'Looked at 8000 examples of jsonl'
cmp {model,lines}/pass-00019/model.safetensors
gzip -c train.jsonl | ps-train --recipe logistic "${described[@]}" --threads 3 --save-dir piped --log-level warning
cmp {model,piped}/pass-00019/model.safetensors
ps-train --model lines/pass-00019 --job predict --data test.jsonl >others 2>err
cmp predictions others
sed 's/, "income": "[a-z]*"//' test.jsonl | ps-train --model lines/pass-00019 --job predict >others 2>err
cmp predictions others

echo "a job filled in by lines of JSON is filled in for good"
ps-train --recipe logistic --data train.jsonl "${described[@]}" --print-config >printed.json 2>err
expect_text printed.json '"format": "jsonl"'
ps-train printed.json --data train.jsonl --save-dir printed --log-level warning
cmp {model,printed}/pass-00019/model.safetensors

echo "faults of lines of JSON have line and column"
expect_status 3 ps-train --recipe logistic --data train.jsonl
expect_text err "train.jsonl:1: column "
expect_text err "field 'note' holds objects or lists of lists"
{ head -n 1 test.jsonl; echo '{"age": 40, "income": "high", "gain": "many"}'; } >bad.jsonl
expect_status 3 ps-train --model lines/pass-00019 --job test --data bad.jsonl
expect_text err "bad.jsonl:2: column 39: value 'many' of column 'gain' is not a number"
{ head -n 1 test.jsonl; echo '{"age": 40,}'; } >bad.jsonl
expect_status 3 ps-train --model lines/pass-00019 --job test --data bad.jsonl
expect_text err "bad.jsonl:2: column 12: "
printf '{"a": 1, "b": 2}\n' >unnamed.jsonl
expect_status 2 ps-train --recipe logistic --data unnamed.jsonl
expect_text err 'data.csv.label: name the column that is the label, one of a, b'

echo "a table in Latin-1 trains with hashed words; names that would be in the job file are refused before training"
printf 'city,y\nM\xfcnchen,1\nBerlin,0\nM\xfcnchen,1\nBerlin,0\n' >latin.csv
latin=(ps-train --recipe logistic --passes 1 --set data.batch_size=2)
"${latin[@]}" --data latin.csv --save-dir latin 2>err || fail "$(cat err)"
ps-train --model latin/pass-00000 --job predict --data latin.csv >predicted 2>err || fail "$(cat err)"
[[ $(wc -l <predicted) == 4 ]] || fail "$(wc -l <predicted) predictions of 4 rows in Latin-1"
expect_status 2 "${latin[@]}" --data latin.csv --save-dir words \
  --set 'data.csv.columns=[{"name": "city", "type": "category", "dictionary": 10}]'
expect_text err "is not UTF-8, as a job file is: convert the data, as does iconv -f latin1 -t utf-8"
sed 's/city/caf\xe9/' latin.csv >named.csv
expect_status 2 "${latin[@]}" --data named.csv --save-dir words
expect_text err 'data.csv.columns.0.name: '
sed 's/,1$/,pr\xe9/; s/,0$/,post/' latin.csv >classes.csv
expect_status 2 "${latin[@]}" --data classes.csv --save-dir words
expect_text err 'data.csv.classes.1: '
printf '__label__pr\xe9 some words\n__label__post other words\n' >labels.txt
expect_status 2 ps-train --recipe text --data labels.txt --save-dir words
expect_text err 'data.fasttext.classes.1: '
[[ ! -e words ]] || fail "a model of a job that cannot be written was trained"
cp latin.csv $'caf\xe9.csv'
expect_status 2 "${latin[@]}" --data $'caf\xe9.csv' --save-dir words
expect_text err "--data: 'caf"
expect_text err "is not UTF-8, as a job file is"
iconv -f latin1 -t utf-8 classes.csv >utf8.csv
"${latin[@]}" --data utf8.csv --save-dir utf8 2>err || fail "$(cat err)"

echo "refusals"
expect_status 2 ps-train job.json --job test --init-model tabs/pass-00000 --data train.tsv
expect_text err 'data.csv is auto in this job, and was filled in when the model was trained: give --model DIR'
expect_status 2 ps-serve job.json
expect_text err 'data.csv: auto is for ps-train'
expect_status 2 ps-train --recipe logistic --data train.csv --set data.csv.label=incom
expect_text err "data.csv.label: there is no column 'incom' (did you mean 'income'?)"
sed '2s/.*/40,cook,a,many,x,high/' one.csv >bad.csv
expect_status 3 ps-train --model plain/pass-00004 --job test --data bad.csv
expect_text err 'bad.csv:2: '
expect_text err "value 'many' of column 'gain' is not a number"
cut -d, -f1-3 one.csv >short.csv
expect_status 3 ps-train --model plain/pass-00004 --job predict --data short.csv
expect_text err "short.csv: there is no column 'gain'"
printf 'a,b,y\n1,"2,1\n' >open.csv
expect_status 3 ps-train --recipe logistic --format csv --data open.csv
expect_text err 'open.csv:2: a quote is not closed'
printf 'a,a,y\n1,2,1\n' >twice.csv
expect_status 3 ps-train --recipe logistic --format csv --data twice.csv
expect_text err "twice.csv: two columns are named 'a'"
expect_status 2 ps-train job.json --data train.tsv --set 'data.csv.columns=[{"name": "job", "type": "word"}]'
expect_text err "data.csv.columns.0.type: unknown value 'word'"
echo passed
