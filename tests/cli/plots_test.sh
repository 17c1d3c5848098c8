#!/bin/bash
# share/plots/plot draws each suite from recorded lines of ps-bench --json-stream, and a run from those of ps-train --metrics, and refuses what is none.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need gnuplot python3
streams=$PS_SOURCE/tests/cli/streams
plot=$PS_SOURCE/share/plots/plot
cd "$scratch"

# drawn NAME CURVE...: NAME.svg and NAME.png are pictures, and the first has these curves.
drawn() {
  local name=$1 curve
  shift
  "$plot" "$name" <"$streams/$name.jsonl" >files 2>errors || fail "$name: $(cat errors)"
  [[ ! -s errors ]] || fail "$name: gnuplot says: $(cat errors)"
  cmp -s files <(printf '%s\n' "$name.svg" "$name.png") || fail "$name: the files were not named"
  [[ $(head -c 8 "$name.png" | od -An -tx1 | tr -d ' ') == 89504e470d0a1a0a ]] || fail "$name.png is no PNG"
  expect_text "$name.svg" "</svg>"
  for curve in "$@"; do expect_text "$name.svg" "$curve"; done
}

drawn dgc "momentum, overlapped" "DGC" "published: momentum, FasterRCNN" "seconds a step"
drawn local-sgd "10Gbit/s" "1Gbit/s" "published: ResNet-50"
drawn scaling "direct" "dgc" "efficiency, %"
drawn accuracy "all_reduce" "power_sgd rank 2" "measure of the test data"
drawn all-reduce "2-ranks, direct" "bus bandwidth"
drawn plan-check "halving_doubling" "measured = planned" "seconds of an exchange, measured"
drawn metrics "5 passes, 24085 examples" "training, since the line before" "validation" "auc, test" "learning rate" "examples a second"
drawn codec "codec/int8/encode" "rate, bytes/s"

# Columns hold what the lines do.
expect_text dgc.dat 'x "DGC"'
expect_text dgc.dat '1 2.45'
expect_text plan-check.dat 'x "direct"'
expect_text plan-check.dat "$(python3 -c 'import json, sys
row = [json.loads(line) for line in open(sys.argv[1]) if "direct" in line][0]
print(row["exchange_seconds"], row["modelled_exchange_seconds"])' "$streams/plan-check.jsonl")"
"$plot" <"$streams/dgc.jsonl" >/dev/null
[[ -s dgc.svg ]] || fail "without a name the pictures are not named after the suite"

# Every number of the lines of a run is a point of the curve that it belongs to, those of nested evaluators too.
python3 - "$streams/metrics.jsonl" metrics.dat <<'END' || fail "the columns of a run are not what its lines say"
import json, sys
events = [json.loads(line) for line in open(sys.argv[1])]
curves = {block.split("\n")[0][3:-1]: [list(map(float, row.split())) for row in block.split("\n")[1:] if row]
          for block in open(sys.argv[2]).read().split("\n\n\n")}
expected, passed, last = {}, 0, (0, 0)
def add(curve, x, y, panel):
    expected.setdefault(curve, []).append([x, y, panel])
for e in events:
    kind = e["event"]
    if kind in ("validation", "test"):
        add(kind, x, e["cost"], -1)
        for name, value in e["evaluators"].items(): add(f"{name}, {kind}", x, value, -2)
        continue
    x = passed + e["samples"]
    if kind == "batch": add("training, since the line before", x, e["current_cost"], 1)
    else: add("training, mean of the pass", x, e["avg_cost"], 1)
    for name, value in e["evaluators"].items(): add(f"{name}, training", x, value, 2)
    if e["samples"] > last[0]: add("examples a second", x, (e["samples"] - last[0]) / (e["seconds"] - last[1]), 4)
    last = (e["samples"], e["seconds"])
    if kind == "batch": add("learning rate", x, e["learning_rate"], 3)
    else: passed, last = x, (0, 0)
assert set(curves) == set(expected), set(curves) ^ set(expected)
assert len(expected) == 12 and len(expected["validation"]) == 5
for name, points in expected.items():
    assert len(points) == len(curves[name]), name
    for a, b in zip(points, curves[name]):
        assert all(abs(x - y) <= 1e-4 * abs(x) for x, y in zip(a, b)), (name, a, b)
END

# A run without lines of batches, and a test alone, are drawn too.
grep -v '"event":"batch"' "$streams/metrics.jsonl" | "$plot" passes >/dev/null 2>errors
[[ ! -s errors ]] || fail "gnuplot says: $(cat errors)"
expect_text passes.svg "auc, test"
grep -m 1 '"event":"test"' "$streams/metrics.jsonl" | "$plot" tested >/dev/null 2>errors
expect_text tested.svg "log_loss, test"

# The pictures in the tree are those of the lines beside them.
cp -r "$PS_SOURCE/share/plots" .
for picture in "$PS_SOURCE"/share/plots/pictures/*.svg; do
  name=$(basename "$picture" .svg)
  plots/pictures.sh --draw "$name" >/dev/null
  diff <(grep -o '<text>.*' "$picture") <(grep -o '<text>.*' "plots/pictures/$name.svg") || fail "$name.svg is of other lines"
  grep -q "share/plots/pictures/$name.svg" "$PS_SOURCE/README.md" || fail "README.md does not show $name.svg"
done
expect_status 2 plots/pictures.sh
expect_text err "usage: share/plots/pictures.sh"
expect_status 2 plots/pictures.sh accuracies
expect_text err "there is no picture 'accuracies'"

expect_status 3 "$plot" </dev/null
expect_text err "no results of ps-bench --json-stream, and no reports of ps-train --metrics"
echo '{"rows": []}' >none
expect_status 3 "$plot" <none
expect_status 2 "$plot" --help
echo "every suite's lines are drawn"
