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

echo "refusals"
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
