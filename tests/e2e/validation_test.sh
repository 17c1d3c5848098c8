#!/bin/bash
# A part of the lines is kept for validation: the best pass is known, training ends when it gets no better.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3

# value FILE PATH: of a JSON object
value() { python3 -c 'import functools, json, sys
print(functools.reduce(lambda o, k: o[int(k)] if k.lstrip("-").isdigit() else o[k], sys.argv[2].split("."), json.load(open(sys.argv[1]))))' "$1" "$2"; }

ps-datagen ctr --samples 3000 --output train.txt
# So few clicks are learnt by heart: the cost of others falls, and then rises.
overfit=(ps-train --recipe fm --data train.txt --passes 30 --set optimizer='{"type": "adagrad", "learning_rate": 0.2}'
  --set data.validation=0.2 --log-level info --json)

echo "training and validation share the lines, and the best pass has the least cost on those that are not trained on"
"${overfit[@]}" --save-dir all --metrics all.jsonl >all.json 2>err
[[ $(($(value all.json passes.0.samples) + $(value all.json passes.0.validation.samples))) == 3000 ]] || fail "the parts do not add up"
samples=$(value all.json passes.0.validation.samples)
((samples > 450 && samples < 750)) || fail "$samples of 3000 lines are no fifth"
best=$(python3 -c 'import json
costs = [p["validation"]["cost"] for p in json.load(open("all.json"))["passes"]]
assert len(costs) == 30 and min(costs) < costs[-1], costs
print(costs.index(min(costs)))')
[[ $(value all.json best.pass) == "$best" ]] || fail "best $(value all.json best.pass), expected $best"
[[ $(readlink all/best) == "$(printf 'pass-%05d' "$best")" ]] || fail "all/best is $(readlink all/best)"
expect_text err ' Validation samples='
expect_text err "The best pass on the validation data is $best, cost="
expect_text all.jsonl '"event":"validation"'

echo "the best model is one to use"
ps-train --model all/best --job test --data train.txt --json >tested 2>err
expect_text tested '"samples":3000'

echo "with patience it ends early, with the same passes up to there"
"${overfit[@]}" --save-dir early --set train.patience=2 >early.json 2>err
[[ $(value early.json best.pass) == "$best" ]] || fail "best $(value early.json best.pass), expected $best"
[[ $(value early.json passes.-1.pass) == $((best + 2)) ]] || fail "ended after pass $(value early.json passes.-1.pass)"
cmp "all/best/model.safetensors" early/best/model.safetensors
expect_text err 'Ended early: the best pass on the validation data is'

echo "a run that is resumed knows the passes before, and ends where the other did"
"${overfit[@]}" --save-dir again --set train.patience=2 --checkpoint-dir checkpoints --passes $((best + 2)) >out 2>err
"${overfit[@]}" --save-dir again --set train.patience=2 --checkpoint-dir checkpoints --resume >again.json 2>err
[[ $(value again.json passes.-1.pass) == $((best + 2)) ]] || fail "resumed: ended after pass $(value again.json passes.-1.pass)"
[[ $(readlink again/best) == "$(readlink early/best)" ]] || fail "resumed: best is $(readlink again/best)"
"${overfit[@]}" --save-dir again --set train.patience=2 --checkpoint-dir checkpoints --resume >out 2>err
[[ $(value out best.pass) == "$best" ]] || fail "resumed at its end: best $(value out best.pass)"

echo "an evaluator may say which is best, and is saved whatever saving_period says"
"${overfit[@]}" --save-dir auc --passes 6 --set train.best_by=auc --set train.saving_period=100 >auc.json 2>err
[[ -s auc/best/model.safetensors ]] || fail "the best model was not saved"
python3 -c 'import json
r = json.load(open("auc.json"))
aucs = [p["validation"]["evaluators"]["auc"] for p in r["passes"]]
assert r["best"] == {"pass": aucs.index(max(aucs)), "auc": max(aucs)}, r["best"]'

echo "pos_weight raises what is predicted for rare clicks"
mean() { awk '{ sum += $1 } END { print sum / NR }' "$1"; }
for weight in 1 5; do
  ps-train --recipe logistic --data train.txt --passes 3 --set model.cost.pos_weight=$weight --save-dir "w$weight" --log-level warning
  ps-train --model "w$weight/pass-00002" --job predict --data train.txt >"p$weight" 2>err
done
python3 -c "import sys; sys.exit(not $(mean p5) > 1.3 * $(mean p1))" || fail "means $(mean p1) and $(mean p5)"

echo "a column keeps the rows of a user together, or says which rows are kept, and the test data stay whole"
seq 900 | awk 'BEGIN { print "user,day,age,click" } { print "u" $1 % 90 ",d" $1 % 10 "," $1 % 90 "," ($1 * 7 % 11 > 5) }' >users.csv
by=(ps-train --recipe logistic --data users.csv --test-data users.csv --passes 1 --save-dir '' --json)
"${by[@]}" --set data.validation=0.2 --set data.validation_by=user >user.json 2>err
samples=$(value user.json passes.0.validation.samples)
((samples > 0 && samples % 10 == 0 && samples < 450)) || fail "$samples rows are not those of whole users"
[[ $(($(value user.json passes.0.samples) + samples)) == 900 ]] || fail "the users of the parts do not add up"
[[ $(value user.json test.samples) == 900 ]] || fail "$(value user.json test.samples) rows were tested"
"${by[@]}" --set data.validation_by=day --set 'data.validation_values=["d3", "d7"]' >day.json 2>err
[[ $(value day.json passes.0.validation.samples) == 180 ]] || fail "$(value day.json passes.0.validation.samples) rows of two days"
[[ $(value day.json passes.0.samples) == 720 ]] || fail "$(value day.json passes.0.samples) rows of the other days"
"${by[@]}" --set data.validation_by=day --set 'data.validation_values=["d3"]' --print-config >config 2>err
! grep -q '"name": "day"' config || fail "the column that says which rows are kept is a slot"

echo "records keep the rows of a user together as the table does, and convert writes a part by any column"
ps-train --recipe logistic --data users.csv --passes 1 --print-config >filled.json 2>err
ps-train filled.json --job convert --data users.csv --output users.records --log-level warning
kept=(ps-train filled.json --save-dir '' --passes 1 --json --set data.validation=0.2)
"${kept[@]}" --format records --data users.records --set data.validation_by=user >records.json 2>err
samples=$(value records.json passes.0.validation.samples)
((samples > 0 && samples % 10 == 0 && samples < 450)) || fail "$samples records are not those of whole users"
[[ $(($(value records.json passes.0.samples) + samples)) == 900 ]] || fail "the records of the parts do not add up"
expect_status 2 "${kept[@]}" --format records --data users.records --set data.validation_by=usr
expect_text err "data.validation_by: there is no slot 'usr' (did you mean 'user'?)"
for part in training validation; do
  ps-train filled.json --job convert --data users.csv --output $part.records --part $part --log-level warning \
    --set data.validation_by=day --set 'data.validation_values=["d3", "d7"]'
done
ps-train filled.json --format records --data training.records --test-data validation.records --save-dir '' --passes 1 \
  --json >parts.json 2>err
[[ $(value parts.json passes.0.samples) == 720 ]] || fail "$(value parts.json passes.0.samples) rows of eight days"
[[ $(value parts.json test.samples) == 180 ]] || fail "$(value parts.json test.samples) rows of two days"

echo "of a text stretches are kept, on which the best pass is found"
awk 'BEGIN { srand(5); for (i = 0; i < 12000; i++) printf "w%d%s", int(20 * rand() ^ 2) + i % 2 * 20, i % 9 ? " " : "\n" }' >words.txt
words=(ps-train --recipe word2vec --data words.txt --log-level warning --json --set data.text.vocabulary_size=60
  --set model.layers.1.num_classes=60 --set data.text.shrink_windows=false)
"${words[@]}" --save-dir '' >whole.json 2>err || fail "$(cat err)"
"${words[@]}" --save-dir words --passes 12 --set data.validation=0.2 --set train.patience=2 >words.json 2>err || fail "$(cat err)"
samples=$(value words.json passes.0.validation.samples)
[[ $(($(value words.json passes.0.samples) + samples)) == $(value whole.json passes.0.samples) ]] || fail "the words do not add up"
((samples > 1200 && samples < 3600)) || fail "$samples of 12000 words are no fifth"
best=$(value words.json best.pass)
[[ $(readlink words/best) == "$(printf 'pass-%05d' "$best")" ]] || fail "words/best is $(readlink words/best)"

echo "refusals"
expect_status 2 "${by[@]}" --set data.validation_by=user
expect_text err 'data.validation_by: there are no validation data: set data.validation'
expect_status 2 "${by[@]}" --set 'data.validation_values=["d3"]'
expect_text err 'data.validation_values: set data.validation_by'
expect_status 3 "${by[@]}" --set data.validation_by=day --set 'data.validation_values=["d33"]'
expect_text err 'data.validation: there is no example in the data'
expect_status 2 "${by[@]}" --folds 3 --set data.validation_by=day --set 'data.validation_values=["d3"]'
expect_text err '--folds: data.validation_values say which examples'
expect_status 2 ps-train quickstart --data train.txt --set train.patience=2 --save-dir ''
expect_text err 'train.patience: there are no validation data: set data.validation'
expect_status 2 ps-train --recipe logistic --save-dir '' --set data.validation=0.1 <train.txt
expect_text err 'data.validation: standard input cannot be read a second time'
expect_status 2 ps-train --recipe logistic --data train.txt --save-dir '' --set data.validation=0.1 --set train.best_by=rmse
expect_text err "train.best_by: 'rmse' is no measure of this job"
expect_status 2 ps-train --recipe logistic --data train.txt --save-dir '' --set data.validation=0.1 --set train.best_by=acu
expect_text err "(did you mean 'auc'?)"
expect_status 2 "${words[@]}" --save-dir '' --set data.validation=0.1 --set data.validation_by=context
expect_text err "data.validation_by: files of format 'text' have no columns"
expect_status 2 "${words[@]}" --save-dir '' --set data.negative_rate=0.5
expect_text err "data.negative_rate: the labels of format 'text' are words"
expect_status 2 ps-train quickstart --job convert --data train.txt --output none.records --part training
expect_text err '--part training: no part of the data is kept: set data.validation'
expect_status 2 ps-train quickstart --data train.txt --save-dir '' --set data.validation=0.95
echo passed
