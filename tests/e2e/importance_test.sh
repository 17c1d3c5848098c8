#!/bin/bash
# --importance tells the slots that a model owes its figures to; --dry-run tells the bytes of tables before and after a pass.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
quiet=(--log-level warning)

# The label depends much on `much`, little on `little`, and not on `none`, whose words are all different.  Lines are
# sorted by label.
python3 - >people.csv <<'PY'
import random
random.seed(5)
lines = []
for i in range(4000):
    much, little = random.choice("abcd"), random.choice("efgh")
    y = int(random.random() < 0.5 + (0.35 if much in "ab" else -0.35) + (0.1 if little in "ef" else -0.1))
    lines.append((y, f"{much},{little},n{i},{y}"))
print("much,little,none,label")
for _, line in sorted(lines):
    print(line)
PY
ps-train --recipe logistic --data people.csv --passes 3 --save-dir people "${quiet[@]}"
head -1 people.csv >test.csv
awk 'NR > 1 {sub(/n[0-9]+/, "m" NR); print}' people.csv >>test.csv
important=(ps-train --model people/pass-00002 --job test --data test.csv "${quiet[@]}")

echo "slots come by their importance, and the one without any has none"
"${important[@]}" --importance auc --json >by_auc
"${important[@]}" --importance cost --json >by_cost
python3 - <<'PY'
import json
for name, sign in (("by_auc", -1), ("by_cost", 1)):
    result = json.load(open(name))
    slots = {slot["slot"]: slot for slot in result["slots"]}
    assert [slot["slot"] for slot in result["slots"]] == ["much", "little", "none"], result
    assert slots["much"]["importance"] > 3 * slots["little"]["importance"] > 0, result
    assert abs(slots["none"]["importance"]) < 0.01, result
    for slot in slots.values():
        assert abs(slot["importance"] - sign * (slot["value"] - result["value"])) < 1e-9, result
PY

echo "the first figure is that of a test, and the table is the same each time, with any number of threads"
"${important[@]}" --json >tested
python3 -c 'import json
assert json.load(open("tested"))["test"]["evaluators"]["auc"] == json.load(open("by_auc"))["value"]'
"${important[@]}" --importance auc --json --threads 1 | cmp - by_auc
"${important[@]}" --importance auc >table
expect_text table 'importance  auc without  slot'
[[ $(wc -l <table) == 5 ]] || fail "$(cat table)"

echo "another seed has another order of examples"
"${important[@]}" --importance auc --json --seed 7 >other
cmp -s other by_auc && fail "the seed has no effect"

echo "what it cannot measure is refused"
expect_status 2 "${important[@]}" --importance precision
expect_text err 'is no measure of this job'
expect_status 2 "${important[@]}" --importance precison
expect_text err "--importance: 'precison' tells no better from worse (did you mean 'precision'?)"
expect_status 2 ps-train --model people/pass-00002 --data test.csv --importance auc
expect_text err 'is of --job test'
expect_status 2 ps-train --model people/pass-00002 --job test --data - --importance auc "${quiet[@]}" <test.csv
expect_text err 'a pipe cannot be read once for each slot'

echo "a dry run tells the bytes of tables; their rows are those of a checkpoint after a pass"
ps-train --recipe logistic --data people.csv --dry-run --json >plan 2>err
expect_text err 'after a pass, of '
[[ ! -e output ]] || fail "a dry run made a folder"
ps-train --recipe logistic --data people.csv --passes 1 --save-dir '' --checkpoint-dir checkpoints "${quiet[@]}"
ps-ckpt2model checkpoints --inspect --json >inspected
python3 - <<'PY'
import json
plan = {table["table"]: table for table in json.load(open("plan"))["tables"]}
tables = {table["name"]: table for table in json.load(open("inspected"))["tables"]}
assert set(plan) == set(tables)
for name, table in tables.items():
    assert abs(plan[name]["rows_after_pass"] - table["rows"]) <= 0.04 * table["rows"], (plan[name], table)
    floats = 4 * table["width"] * (1 + table["state_arrays"])
    assert plan[name]["bytes_after_pass"] >= plan[name]["rows_after_pass"] * floats
    assert (plan[name]["bytes"] == 0) == (table["kind"] == "sparse")
PY
echo passed
