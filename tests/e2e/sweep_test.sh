#!/bin/bash
# Sweeps over values of keys, and folds: one table at the end, and the same models as by single commands.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
quiet=(--log-level warning)

ps-datagen ctr --samples 3000 --output train.txt
ps-datagen ctr --first 3000 --samples 1000 --output test.txt

echo "a sweep trains each combination, and marks the best"
ps-train --recipe logistic --data train.txt --test-data test.txt --passes 1 --save-dir swept "${quiet[@]}" \
  --sweep optimizer.learning_rate=0.00001,0.1 --sweep optimizer.type=adagrad,sgd --set train.best_by=auc \
  --set 'optimizer={"type": "sgd"}' >table
cat table
[[ $(wc -l <table) == 5 ]] || fail "not a line for each combination"
[[ $(head -n 1 table | tr -s ' ') == ' optimizer.learning_rate optimizer.type cost classification_error auc log_loss' ]] ||
  fail "other columns"
grep -q '^\* *0.1 *adagrad' table || fail 'another one is the best'
ps-train --recipe logistic --data train.txt --passes 1 --save-dir single "${quiet[@]}" \
  --set 'optimizer={"type": "adagrad", "learning_rate": 0.1}'
cmp {swept/002,single}/pass-00000/model.safetensors

echo "with --json it is one object"
ps-train --recipe logistic --data train.txt --passes 1 --save-dir '' "${quiet[@]}" --json \
  --sweep data.batch_size=64,128 --test-data test.txt >json
python3 - <<'PY'
import json
result = json.load(open("json"))
assert [run["set"]["data.batch_size"] for run in result["runs"]] == ["64", "128"], result
assert result["by"] == "cost" and result["data"] == "test" and result["best"] in (0, 1), result
assert result["runs"][result["best"]]["cost"] == min(run["cost"] for run in result["runs"]), result
PY

echo "a training that diverges costs its own figures alone, and each has checkpoints of its own"
diverging=(--recipe linear --data train.txt --passes 1 --save-dir '' --set 'optimizer={"type": "sgd"}'
  --sweep optimizer.learning_rate=1e38,0.1)
ps-train "${diverging[@]}" --checkpoint-dir steps >table 2>err
expect_text err 'run 1 is left out: cost of batch '
grep -q '^ *1e38 *undefined *undefined$' table || fail "$(cat table)"
grep -q '^\* *0.1 *0\.' table || fail "the best is another: $(cat table)"
[[ -e steps/001/LATEST ]] || fail "no checkpoint of the second training"
ps-train "${diverging[@]}" --folds 2 --json >json 2>err
python3 - <<'PY'
import json
result = json.load(open("json"))
assert result["best"] == 1 and result["runs"][0]["cost"] is None and 0 < result["runs"][1]["cost"] < 1, result
PY
ps-train "${diverging[@]}" --passes 2 --sweep data.batch_size=100,200 --sweep-halving >table 2>err
grep -q '^\* *0.1 .* 2 *0\.' table || fail "the best is another: $(cat table)"
expect_status 3 ps-train --recipe linear --data train.txt --save-dir '' --set 'optimizer={"type": "sgd"}' \
  --sweep optimizer.learning_rate=1e37,1e38
expect_text err 'run 2 is left out: cost of batch '
expect_text err 'ps-train: cost of batch '

echo "folds measure each line once"
ps-train --recipe logistic --data train.txt --passes 1 --save-dir folds "${quiet[@]}" --json --folds 4 >json
python3 - <<'PY'
import json
result = json.load(open("json"))
assert len(result["runs"]) == 1 and result["data"] == "validation", result
run = result["runs"][0]
assert len(run["models"]) == 4 and run["deviation"]["auc"] > 0 and 0.5 < run["auc"] < 1, result
PY
for fold in 0 1 2 3; do [[ -s folds/00$fold/pass-00000/model.safetensors ]] || fail "no model of fold $fold"; done
ps-train --recipe logistic --data train.txt --passes 1 --save-dir quarter "${quiet[@]}" --set data.validation=0.25
cmp {folds/000,quarter}/pass-00000/model.safetensors
if cmp -s folds/00{0,1}/pass-00000/model.safetensors; then fail "folds are the same"; fi

echo "a sample is drawn by the seed: the same again, and the first of a larger one"
drawn=(--recipe logistic --data train.txt --test-data test.txt --save-dir '' "${quiet[@]}" --json
  --sweep optimizer.learning_rate=log:1e-4..1 --sweep data.batch_size=64,128)
ps-train "${drawn[@]}" --passes 1 --sweep-samples 3 >three
ps-train "${drawn[@]}" --passes 1 --sweep-samples 3 >again
cmp three again
ps-train "${drawn[@]}" --passes 1 --sweep-samples 4 >four
ps-train "${drawn[@]}" --passes 1 --sweep-samples 3 --seed 9 >others
python3 - <<'PY'
import json
three, four, others = (json.load(open(name))["runs"] for name in ("three", "four", "others"))
rates = [float(run["set"]["optimizer.learning_rate"]) for run in four]
assert len(three) == 3 and four[:3] == three and len(set(rates)) == 4, four
assert all(1e-4 <= rate <= 1 for rate in rates), rates
assert [run["set"] for run in others] != [run["set"] for run in three], others
PY

echo "halving trains the better half for twice the passes, and its best is the model of a single run"
ps-train --recipe logistic --data train.txt --test-data test.txt --save-dir halved --passes 4 "${quiet[@]}" \
  --sweep optimizer.learning_rate=0.000001,0.0001,0.01,0.1 --sweep-halving >table
cat table
[[ $(head -n 1 table) == *learning_rate*train.passes*cost* ]] || fail "other columns"
[[ $(awk 'NR > 1 { print $(NF - 4) }' table | sort | uniq -c | tr -s ' \n' ' ') == ' 2 1 1 2 1 4 ' ]] || fail "other passes"
best=$(awk '$1 == "*" { print $2, $3 }' table)
[[ $best == '0.01 4' || $best == '0.1 4' ]] || fail "the best is $best"
ps-train --recipe logistic --data train.txt --save-dir alone --passes 4 "${quiet[@]}" --set optimizer.learning_rate="${best% *}"
cmp {halved/006,alone}/pass-00003/model.safetensors

echo "the rate finder trains one pass with growing rates, and suggests one below that of the lowest cost"
finder=(--recipe linear --data rates.txt --save-dir '' "${quiet[@]}" --set data.batch_size=20 --set 'optimizer={"type": "sgd"}')
awk 'BEGIN { srand(3); for (i = 0; i < 4000; ++i) { x = rand() - 0.5; y = rand() - 0.5; print 3 * x - 2 * y + 1, "0:" x, "1:" y, "2:1" } }' >rates.txt
ps-train "${finder[@]}" --find-rate 1e-4..1000 >table
cat table
[[ $(wc -l <table) -ge 15 && $(wc -l <table) -le 60 ]] || fail "$(wc -l <table) lines"
grep -q '^\* ' table || fail 'no lowest cost'
expect_text table 'a rate to begin with: '
ps-train "${finder[@]}" --find-rate 1e-4..1000 --json >json
ps-train "${finder[@]}" --find-rate 1e-4..1000 --json --threads 3 >again
cmp json again
rate=$(python3 - <<'PY'
import json
result = json.load(open("json"))
rates = [point["rate"] for point in result["points"]]
steps = [b / a for a, b in zip(rates, rates[1:])]
assert rates == sorted(rates) and max(steps) < 1.001 * min(steps), "rates grow geometrically"
lowest = min(result["points"], key=lambda point: point["smoothed"])
assert result["rate"] == lowest["rate"] / 10 and 1e-3 < result["rate"] < 10, result["rate"]
assert rates[-1] < 1000, "it goes on although the cost has diverged"
print(result["rate"])
PY
)
ps-train "${finder[@]}" --set optimizer.learning_rate="$rate" --passes 1 --json >json
python3 -c 'import json; cost = json.load(open("json"))["passes"][0]["avg_cost"]; assert cost < 0.5, cost'
ps-train "${finder[@]}" --find-rate 1e-6..1e-5 >table
expect_text table 'the cost is lowest at an end of the range'

echo "refusals"
expect_status 2 ps-train "${finder[@]}" --find-rate 10..1
expect_text err "--find-rate: '10..1', expected LOW..HIGH"
expect_status 2 ps-train "${finder[@]}" --find-rate 1e-3..1 --folds 3
expect_text err 'goes with neither --sweep nor --folds'
expect_status 2 ps-train "${finder[@]}" --find-rate 1e-3..1 --job test
expect_text err 'is of --job train'
expect_status 2 ps-train "${finder[@]}" --find-rate 1e-3..1 --set data.batch_size=400
expect_text err 'a pass has 10 batches, expected 20 or more'
expect_status 2 ps-train "${finder[@]}" --find-rate 1e-3..1 --servers 127.0.0.1:1
expect_text err 'the rate finder trains in one process'
expect_status 2 ps-train --recipe logistic --data train.txt --sweep optimizer.learning_rate=log:1e-3..1
expect_text err "'optimizer.learning_rate' has a range: --sweep-samples says how many values are drawn"
expect_status 2 ps-train --recipe logistic --data train.txt --sweep optimizer.learning_rate=log:0..1 --sweep-samples 2
expect_text err "'log:0..1': 0 has no logarithm"
expect_status 2 ps-train --recipe logistic --data train.txt --sweep-samples 2
expect_text err 'goes with --sweep'
expect_status 2 ps-train --recipe logistic --data train.txt --sweep data.batch_size=1,2 --sweep-halving --passes 1
expect_text err 'nothing to halve'
expect_status 2 ps-train --recipe logistic --data train.txt --sweep train.passes=1,2 --sweep-halving
expect_text err 'the passes are what it changes'
expect_status 2 ps-train --recipe logistic --data train.txt --sweep optimizer.learning_rate
expect_text err "expected KEY=VALUE,VALUE"
expect_status 2 ps-train --recipe logistic --data train.txt --sweep optimizer.learning_rat=1,2
expect_text err 'learning_rat'
expect_status 2 ps-train --recipe logistic --data train.txt --sweep train.passes=1,2 --job test
expect_text err 'is of --job train'
expect_status 2 ps-train --recipe logistic --data train.txt --folds 1
expect_status 2 ps-train --recipe logistic --data train.txt --folds 3 --resume
expect_text err 'goes with none of'
head -n 500 train.txt >few.txt
expect_status 2 ps-train --recipe logistic --folds 3 --save-dir '' <few.txt
expect_text err 'standard input can be read once'
echo passed
