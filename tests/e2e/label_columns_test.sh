#!/bin/bash
# Several label columns, each for a cost of its own: two tasks of one model, by the recipe click_conversion.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3
processes=() server=
trap 'kill -9 "${processes[@]}" $server 2>/dev/null || true; remove_scratch' EXIT

echo "click_conversion learns two labels over shared layers, and counts an unknown conversion for the click alone"
python3 - <<'PYTHON'
import math, random
random.seed(5)
pages = [random.gauss(0, 1) for _ in range(40)]
users = [random.gauss(0, 1) for _ in range(40)]
for name, rows in (("visits.csv", 6000), ("visits_test.csv", 2000)):
    with open(name, "w") as table, open(name.replace("csv", "jsonl"), "w") as lines:
        print("page,user,click,conversion", file=table)
        for _ in range(rows):
            p, u = random.randrange(40), random.randrange(40)
            click = random.random() < 1 / (1 + math.exp(-2 * pages[p]))
            bought = random.random() < 1 / (1 + math.exp(-2 * users[u]))
            conversion = str(int(bought)) if click else ""
            print(f"p{p},u{u},{int(click)},{conversion}", file=table)
            known = f', "conversion": {conversion}' if click else ""
            print(f'{{"page": "p{p}", "user": "u{u}", "click": {str(click).lower()}{known}}}', file=lines)
PYTHON
ps-train --recipe click_conversion --data visits.csv --test-data visits_test.csv --passes 6 --save-dir visits --json >result 2>err
expect_text err 'Columns: labels click, conversion; categories page, user'
at_least "$(measure result click.auc)" 0.8
at_least "$(measure result conversion.auc)" 0.8
ps-train --model visits/pass-00005 --job test --data visits_test.csv --json >tested
ps-train --model visits/pass-00005 --job predict --data visits_test.csv >predictions
# The measures again, from the predictions that are printed.
python3 - tested <<'PYTHON' || fail "measures are not those of the predictions"
import csv, json, math, sys
test = json.load(open(sys.argv[1]))["test"]
measures = test["evaluators"]
rows = list(csv.DictReader(open("visits_test.csv")))
predicted = [list(map(float, line.split())) for line in open("predictions")]
assert all(len(p) == 2 for p in predicted) and len(predicted) == len(rows)
for column, label in enumerate(("click", "conversion")):
    pairs = [(p[column], int(r[label])) for p, r in zip(predicted, rows) if r[label]]
    loss = -sum(math.log(p if y else 1 - p) for p, y in pairs) / len(pairs)
    good, bad = ([p for p, y in pairs if y == want] for want in (1, 0))
    auc = sum((a > b) + (a == b) / 2 for a in good for b in bad) / len(good) / len(bad)
    assert abs(loss - measures[label + ".log_loss"]) < 1e-5, (label, loss, measures)
    assert abs(loss - measures[label + ".cost"]) < 1e-5, (label, loss, measures)
    assert abs(auc - measures[label + ".auc"]) < 1e-4, (label, auc, measures)
assert abs(test["cost"] - measures["click.cost"] - measures["conversion.cost"]) < 1e-9, test
PYTHON
cut -d, -f1,2 visits_test.csv | ps-train --model visits/pass-00005 --job predict | cmp - predictions
ps-train --recipe click_conversion --data visits.jsonl --test-data visits_test.jsonl --passes 6 --save-dir lines --log-level warning
ps-train --model lines/pass-00005 --job predict --data visits_test.jsonl | cmp - predictions
tr , '\t' <visits.csv >visits.tsv
ps-train --recipe click_conversion --data visits.tsv --passes 6 --save-dir tabs --log-level warning
tr , '\t' <visits_test.csv | ps-train --model tabs/pass-00005 --job predict | cmp - predictions
expect_status 2 ps-train --recipe click_conversion --data visits.csv --set 'data.csv.labels=["click", "conversion", "user"]'
expect_text err "data.csv.labels: no cost reads 'user'"
expect_status 2 ps-train --recipe logistic --data visits.csv --set model.cost.label=user
expect_text err "'user' is not in data.csv.labels"
expect_status 2 ps-train --model visits/pass-00005 --job predict --output-format names --data visits_test.csv
expect_text err 'this model predicts for several labels, click, conversion'
important=(ps-train --model visits/pass-00005 --job test --data visits_test.csv --importance)
"${important[@]}" click.auc >importance 2>err || fail "$(<err)"
[[ $(awk 'NR > 2 { print $3 }' importance | paste -sd ' ') == 'page user' ]] || fail "$(<importance)"
"${important[@]}" conversion.auc >conversion 2>err || fail "$(<err)"
[[ $(awk 'NR > 2 { print $3 }' conversion | paste -sd ' ') == 'user page' ]] || fail "$(<conversion)"
"${important[@]}" auc 2>err | cmp - <(cat importance <(echo) conversion) || fail "$(<err)"
for figure in auc cost click.cost conversion.cost; do "${important[@]}" "$figure" --json >"importance.$figure" 2>err || fail "$(<err)"; done
python3 - <<'PYTHON' || fail "importances of tasks"
import json
load = lambda figure: json.load(open("importance." + figure))
assert [task["figure"] for task in load("auc")["labels"]] == ["click.auc", "conversion.auc"]
def by_slot(figure): return {slot["slot"]: slot["importance"] for slot in load(figure)["slots"]}
clicks, conversions = by_slot("click.cost"), by_slot("conversion.cost")
assert clicks["page"] > 10 * abs(clicks["user"]) and conversions["user"] > 10 * abs(conversions["page"])
# The cost of all is the sum over the tasks, and so is what a slot does to it.
for slot, importance in by_slot("cost").items():
    assert abs(importance - clicks[slot] - conversions[slot]) < 1e-9, slot
PYTHON
expect_status 2 "${important[@]}" conversions.auc
expect_text err "is no measure of this job (did you mean 'conversion.auc'?): it has cost, click.cost"
awk -F, 'NR == 1 || $4 == ""' visits_test.csv >unknown.csv
expect_status 3 ps-train --model visits/pass-00005 --job test --data unknown.csv --importance conversion.auc
expect_text err "'conversion.auc' is undefined on these data"
ps-train --model visits/pass-00005 --job test --intervals --data visits_test.csv >intervals 2>err
grep -q '^conversion.auc ' intervals || fail "$(<intervals)"

echo "the cost of each task is the mean over the examples that have its label, for one trainer and for two, with servers or without"
python3 - <<'PYTHON'
import random
random.seed(7)
with open("known.csv", "w") as table:
    print("x,y,click,conversion,weight", file=table)
    for i in range(1210):
        click = random.choice(["0", "1", "1", ""])
        conversion = random.choice(["0", "1"]) if click == "1" else ""
        print(random.gauss(0, 1), random.gauss(0, 1), click, conversion, random.choice([0.5, 1, 3]), sep=",", file=table)
PYTHON
cat >tasks.json <<'JSON'
{
  "job": {"name": "tasks"},
  "data": {
    "format": "csv", "slots": "auto", "batch_size": 50,
    "csv": {"labels": ["click", "conversion"], "weight": "weight", "columns": [{"name": "*", "scale": "none"}]}
  },
  "model": {
    "layers": [
      {"name": "click_score", "type": "fc", "input": "dense:*", "size": 1},
      {"name": "conversion_score", "type": "fc", "input": "dense:*", "size": 1}
    ],
    "cost": {"type": "binary_cross_entropy", "input": "click_score", "label": "click"},
    "auxiliary_costs": [
      {"type": "binary_cross_entropy", "input": "conversion_score", "label": "conversion", "factor": 0.5}
    ]
  },
  "optimizer": {"type": "sgd", "learning_rate": 1e-30},
  "train": {"passes": 1, "log_period": 4, "strategy": {"type": "all_reduce"}}
}
JSON

# end_all: waits for $processes, which end well.
end_all() {
  local process
  for process in "${processes[@]}"; do wait "$process" || fail "a trainer ended with $?: $(cat ./*.err)"; done
  processes=()
}

# two_trainers NAME [flags...]: of one job.
two_trainers() {
  local name=$1 rank
  shift
  for rank in 0 1; do
    timeout 120 ps-train tasks.json --data known.csv --trainers 2 --rank "$rank" --save-dir "$name" --json \
      --metrics "$name.$rank.metrics" "$@" >"$name.$rank.json" 2>"$name.$rank.err" &
    processes+=($!)
  done
  end_all
}

ps-train tasks.json --data known.csv --print-config >filled.json
mv filled.json tasks.json
timeout 120 ps-train tasks.json --data known.csv --test-data known.csv --save-dir one --json --metrics one.metrics >one.json 2>one.err
port=$(source "$PS_SOURCE/share/launch/common.sh" && free_ports 1)
two_trainers two --peers "127.0.0.1:$port"
rm -f port
ps-serve tasks.json --set 'train.strategy={"type": "parameter_server"}' --set cluster.trainers=2 --host 127.0.0.1 --port 0 --port-file port \
  >serve.out 2>serve.err &
server=$!
until [[ -s port ]]; do
  kill -0 $server 2>/dev/null || fail "$(<serve.err)"
  sleep 0.05
done
two_trainers served --set 'train.strategy={"type": "parameter_server"}' --servers "127.0.0.1:$(head -1 port)"
kill -TERM $server
wait $server || fail "$(<serve.err)"
server=
ps-train --model one/pass-00000 --job predict --data known.csv >predictions
# The rate is so small that weights do not change: all passes have the costs of the predictions.
python3 - <<'PYTHON' || fail "costs are not those of the predictions"
import csv, json, math
rows, want = list(csv.DictReader(open("known.csv"))), {}
predicted = [list(map(float, line.split())) for line in open("predictions")]
for column, (label, factor) in enumerate((("click", 1), ("conversion", 0.5))):
    known = [(p[column], int(r[label]), float(r["weight"])) for p, r in zip(predicted, rows) if r[label]]
    assert 100 < len(known) < 1000
    want[label + ".cost"] = -factor * sum(w * math.log(p if y else 1 - p) for p, y, w in known) / sum(w for _, _, w in known)
def check(found, cost, who):
    assert found.keys() == want.keys(), (who, found)
    assert all(abs(found[name] - want[name]) < 1e-5 for name in want), (who, found, want)
    assert abs(cost - sum(want.values())) < 2e-5, (who, cost)
results = {name: json.load(open(name + ".json")) for name in ("one", "two.0", "served.0")}
for name, result in results.items():
    assert result["passes"][0]["samples"] == 1210
    check(result["passes"][0]["evaluators"], result["passes"][0]["avg_cost"], name)
check(results["one"]["test"]["evaluators"], results["one"]["test"]["cost"], "test")
for key in ("avg_cost", "evaluators"):
    assert results["served.0"]["passes"][0][key] == results["two.0"]["passes"][0][key], key
lines = [json.loads(line) for line in open("one.metrics")]
last = [line for line in lines if line["event"] == "batch"][-1]
assert last["evaluators"].keys() == last["current_evaluators"].keys() == want.keys(), last
assert {line["event"] for line in lines} == {"batch", "pass", "test"}, lines
PYTHON
expect_text one.err ' Eval: click.cost='

echo "validation measures each task, and may decide by the cost of one"
timeout 120 ps-train tasks.json --data known.csv --set data.validation=0.2 --set train.best_by=conversion.cost --save-dir valid \
  --json >valid.json 2>valid.err || fail "$(<valid.err)"
expect_text valid.err 'The best pass on the validation data is 0, conversion.cost='
python3 - <<'PYTHON' || fail "$(<valid.json)"
import json
result = json.load(open("valid.json"))
validation = result["passes"][0]["validation"]
assert validation["evaluators"].keys() == {"click.cost", "conversion.cost"}
assert abs(validation["cost"] - sum(validation["evaluators"].values())) < 1e-9
assert result["best"]["conversion.cost"] == validation["evaluators"]["conversion.cost"]
PYTHON
