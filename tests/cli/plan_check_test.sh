#!/bin/bash
# ps-bench plan-check: measures strategies with and without servers, goes on from rows that were saved, and tells errors of the
# plan.  Nothing here asks how fast the machine is.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
cd "$scratch"

small=(--models lenet --ranks 2 --bandwidth 1G --servers 2 --periods 4 --compute 1ms --runs 1 --link bucket)
ps-bench plan-check "${small[@]}" --save rows.jsonl >table 2>err
expect_text err "lenet, 2 ranks, 1G: 9 strategies"
expect_text table "9 rows of 1 configurations"
expect_text table "named the fastest, or one within 5 % of it"
expect_text table "the same among exchanges of whole gradients"
python3 - <<'PY' || fail "the rows are not as they should be"
import json
rows = [json.loads(line) for line in open("rows.jsonl")][1:]
names = ["server", "direct", "chain", "server", "ring", "halving_doubling", "tree", "dgc", "local_sgd, k = 4"]
assert sorted(row["strategy"] for row in rows) == sorted(names), rows
for row in rows:
    terms = sum(row["modelled_%s_seconds" % term] for term in ("latency", "transfer", "sum", "codec"))
    assert abs(terms - row["modelled_exchange_seconds"]) < 1e-9, row
    assert abs(row["modelled_step_seconds"] - terms - 0.001) < 1e-9 and row["step_seconds"] >= 0.001, row
    assert (row["codec_seconds"] is not None) == (row["strategy"] == "dgc") == (row["modelled_codec_seconds"] > 0), row
assert sorted(row["servers"] for row in rows if row["strategy"] == "server") == [0, 2], "of two servers, and of rank 0"
assert all(row["servers"] == 0 for row in rows if row["strategy"] != "server"), rows
PY

echo "rows that are known are not measured again"
grep -v '"strategy":"direct"' rows.jsonl >resumed.jsonl
ps-bench plan-check "${small[@]}" --save resumed.jsonl --resume >/dev/null 2>err
expect_text err "lenet, 2 ranks, 1G: 1 strategies"
[[ $(wc -l <resumed.jsonl) == 10 ]] || fail "a machine and 9 rows were expected"
ps-bench plan-check "${small[@]}" --save rows.jsonl --resume >again 2>err
[[ ! -s err ]] || fail "nothing was left to measure"
tail -n +2 table | diff - <(tail -n +2 again)

echo "a run that goes on and is cut off at once has every row that it began with"
cp rows.jsonl before.jsonl
if (ulimit -f 3; exec ps-bench plan-check "${small[@]}" --save rows.jsonl --resume) >/dev/null 2>err; then
  fail "the file has more than 3 KiB"
fi
cmp before.jsonl rows.jsonl

echo "errors are those of the rows"
python3 - <<'PY'
import json
machine = open("rows.jsonl").readline()
def row(model, strategy, seconds, modelled):
    return {"suite": "plan-check", "model": model, "ranks": 2, "bandwidth_text": "1G", "compute_seconds": 1, "strategy": strategy,
            "servers": 0, "step_seconds": seconds, "modelled_step_seconds": modelled, "exchange_seconds": seconds - 1,
            "modelled_exchange_seconds": modelled - 1, "codec_seconds": None, "modelled_codec_seconds": 0}
# By the model `direct` is shorter in both; it was so in `one`, and 10 % longer in `two`.
rows = [row("one", "direct", 2, 2.2), row("one", "ring", 4, 3), row("two", "direct", 2.2, 2.2), row("two", "ring", 2, 2.5)]
# DGC and local SGD hide which of the others are named.
short = [row(model, strategy, 1.5, 1.5) for model in ("one", "two") for strategy in ("dgc", "local_sgd, k = 4")]
with open("hidden.jsonl", "w") as file:
    file.write(machine + "".join(json.dumps(each) + "\n" for each in rows + short))
with open("short.jsonl", "w") as file:
    file.write(machine + "".join(json.dumps(each) + "\n" for each in short))
open("made.jsonl", "w").write(machine + "".join(json.dumps(each) + "\n" for each in rows))
PY
ps-bench plan-check --join made.jsonl --json >made.json
python3 - <<'PY' || fail "the errors of made rows are wrong"
import json
made = json.load(open("made.json"))
errors = {each["strategy"]: each for each in made["errors"]}
near = lambda one, other: abs(one - other) < 1e-9
assert near(errors["direct"]["step"]["worst"], 10) and near(errors["direct"]["step"]["median"], 5), errors
assert near(errors["direct"]["exchange"]["worst"], 20) and near(errors["ring"]["step"]["median"], 25), errors
assert errors["all"]["rows"] == 4 and near(errors["all"]["step"]["median"], 17.5), errors
assert [each["right"] for each in made["choices"]] == [True, False] and near(made["right_percent"], 50), made
PY
ps-bench plan-check --join hidden.jsonl --json >hidden.json
ps-bench plan-check --join short.jsonl --json >short.json
python3 - <<'PY' || fail "the choices of made rows are wrong"
import json
made, hidden, short = (json.load(open(name + ".json")) for name in ("made", "hidden", "short"))
assert hidden["right_percent"] == 100 and {each["named"] for each in hidden["choices"]} == {"dgc"}, hidden
assert hidden["uncompressed_choices"] == made["uncompressed_choices"] == made["choices"], hidden
assert hidden["uncompressed_right_percent"] == 50, hidden
assert short["uncompressed_choices"] == [] and short["uncompressed_right_percent"] is None, short
PY
ps-bench plan-check --join hidden.jsonl >hidden
expect_text hidden "named the fastest, or one within 5 % of it: 100 %, bar 95 %: met"
expect_text hidden "the same among exchanges of whole gradients: 50 %, bar 95 %: missed"
ps-bench plan-check --join made.jsonl >made
expect_text made "two, 2 ranks, 1G, 1 s"
expect_text made "median error of a step: 17.5 %, bar 5 %: missed"

echo "mistakes are refused"
expect_status 2 ps-bench plan-check --servers 0
expect_status 2 ps-bench plan-check --periods 1
expect_status 2 ps-bench plan-check --models lenet6
expect_status 2 ps-bench plan-check --resume
expect_text err "needs --save FILE"
