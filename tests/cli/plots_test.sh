#!/bin/bash
# share/plots/plot draws each suite from recorded lines of ps-bench --json-stream, and refuses what is none.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need gnuplot
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
drawn codec "codec/int8/encode" "rate, bytes/s"

# Columns hold what the lines do.
expect_text dgc.dat 'x "DGC"'
expect_text dgc.dat '1 2.45'
"$plot" <"$streams/dgc.jsonl" >/dev/null
[[ -s dgc.svg ]] || fail "without a name the pictures are not named after the suite"


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
expect_text err "no results of ps-bench"
echo '{"rows": []}' >none
expect_status 3 "$plot" <none
expect_status 2 "$plot" --help
echo "every suite's lines are drawn"
