#!/bin/bash
# Several label columns, each for a cost of its own: two tasks of one model, by the recipe click_conversion.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3

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
measures = json.load(open(sys.argv[1]))["test"]["evaluators"]
rows = list(csv.DictReader(open("visits_test.csv")))
predicted = [list(map(float, line.split())) for line in open("predictions")]
assert all(len(p) == 2 for p in predicted) and len(predicted) == len(rows)
for column, label in enumerate(("click", "conversion")):
    pairs = [(p[column], int(r[label])) for p, r in zip(predicted, rows) if r[label]]
    loss = -sum(math.log(p if y else 1 - p) for p, y in pairs) / len(pairs)
    good, bad = ([p for p, y in pairs if y == want] for want in (1, 0))
    auc = sum((a > b) + (a == b) / 2 for a in good for b in bad) / len(good) / len(bad)
    assert abs(loss - measures[label + ".log_loss"]) < 1e-5, (label, loss, measures)
    assert abs(auc - measures[label + ".auc"]) < 1e-4, (label, auc, measures)
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
ps-train --model visits/pass-00005 --job test --importance click.auc --data visits_test.csv >importance 2>err || fail "$(<err)"
[[ $(awk 'NR > 2 { print $3 }' importance | paste -sd ' ') == 'page user' ]] || fail "$(<importance)"
ps-train --model visits/pass-00005 --job test --intervals --data visits_test.csv >intervals 2>err
grep -q '^conversion.auc ' intervals || fail "$(<intervals)"
