#!/bin/bash
# --job test --intervals tells between which values the evaluators lie, the same on every run.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
quiet=(--log-level warning)

ps-datagen ctr --samples 3000 >train.txt
ps-datagen ctr --first 3000 --samples 4000 >test.txt
ps-train --recipe logistic --data train.txt --passes 2 --save-dir model "${quiet[@]}"
tested=(ps-train --model model/pass-00001 --job test --data test.txt "${quiet[@]}")

echo "the interval holds the figure, and that of a fraction is as wide as its law says"
"${tested[@]}" --set 'model.evaluators=["auc", "accuracy", "log_loss"]' --intervals --json >result
python3 - <<'PY'
import json
test = json.load(open("result"))["test"]
assert set(test["intervals"]) == set(test["evaluators"]) == {"auc", "accuracy", "log_loss"}, test
for name, (low, high) in test["intervals"].items():
    assert low < test["evaluators"][name] < high, test
low, high = test["intervals"]["accuracy"]
p = test["evaluators"]["accuracy"]
law = 2 * 1.96 * (p * (1 - p) / 4000) ** 0.5
assert 0.85 < (high - low) / law < 1.15, (low, high, law)
PY
"${tested[@]}" --set 'model.evaluators=["auc", "accuracy", "log_loss"]' --json >plain
python3 -c 'import json
plain, result = (json.load(open(name))["test"] for name in ("plain", "result"))
assert plain["evaluators"] == result["evaluators"] and "intervals" not in plain'

echo "a table, the same with any number of threads; another seed draws other replicas"
"${tested[@]}" --intervals --threads 1 >one
"${tested[@]}" --intervals --threads 3 | cmp - one
expect_text one 'evaluator '
grep -q '^auc ' one || fail "$(<one)"
PS_INTERVALS=true "${tested[@]}" | cmp - one
"${tested[@]}" --intervals --seed 9 | cmp -s - one && fail "the seed has no effect"

echo "labels in sets, and groups"
for i in $(seq 120); do
  for word in red green blue; do echo "__label__$word it is $word$((i % 9)) and $((i * i % 7))"; done
done >colours.txt
ps-train --recipe tags --data colours.txt --passes 10 --save-dir colours "${quiet[@]}"
ps-train --model colours/pass-00009 --job test --data colours.txt --intervals --json "${quiet[@]}" >result
python3 - <<'PY'
import json
test = json.load(open("result"))["test"]
low, high = test["intervals"]["precision_at_1"]
assert low <= test["evaluators"]["precision_at_1"] <= high, test
low, high = test["intervals"]["log_loss"]
assert low < test["evaluators"]["log_loss"] < high, test
PY
for i in $(seq 200); do echo "$((i % 2)) qid:$((i / 4)) 1:$((i % 2)) $((2 + i % 5)):1"; done >ranked.libsvm
ps-train --recipe logistic --data ranked.libsvm --passes 1 --save-dir ranked --set 'model.evaluators=["ndcg", "auc"]' "${quiet[@]}"
ps-train --model ranked/pass-00000 --job test --data ranked.libsvm --intervals "${quiet[@]}" >table
grep -q '^ndcg_at_10 ' table || fail "$(<table)"

echo "what it cannot do is refused"
expect_status 2 ps-train --model model/pass-00001 --data test.txt --intervals
expect_text err 'is of --job test'
expect_status 2 "${tested[@]}" --intervals --importance auc
expect_text err '--importance prints no intervals'
expect_status 2 "${tested[@]}" --intervals --set 'model.evaluators=[]'
expect_text err '--intervals: the job has no model.evaluators'
echo passed
