#!/bin/bash
# From data to predictions without a job file: a recipe is filled in from the data, trained, and its model predicts by
# itself.  Prints the AUC on held-out clicks beside the best that any model could reach.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly samples=100000 test_samples=20000
output=build/recipe
bin=build/release/bin

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train
rm -rf "$output"
mkdir -p "$output"

"$bin/ps-datagen" ctr --samples "$samples" --output "$output/clicks.txt"
"$bin/ps-datagen" ctr --first "$samples" --samples "$test_samples" --truth "$output/truth.json" --output "$output/held_out.txt"

echo
echo "== all that is given is the data: the recipe looks at them, and says what it has filled in"
"$bin/ps-train" --recipe logistic --data "$output/clicks.txt" --test-data "$output/held_out.txt" --passes 3 \
  --save-dir "$output/model"

echo
echo "== the model alone is enough to predict with"
"$bin/ps-train" --model "$output/model/pass-00002" --job predict --data "$output/held_out.txt" --output "$output/predictions"
echo "$(wc -l <"$output/predictions") predictions, the first three:"
head -n 3 "$output/predictions"

echo
echo "== the most that any model could score on the held-out clicks, from the law that made them"
grep '"auc"' "$output/truth.json"
