#!/bin/bash
# From a fresh Debian 12 to a trained sparse model in under five minutes: installs what is missing, builds, and pipes
# clicks from ps-datagen into ps-train.  Prints a loss that falls, and the AUC on held-out clicks beside the best
# that any model could reach.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly train_samples=400000 test_samples=50000
job=share/jobs/quickstart.json
output=build/quickstart
bin=build/release/bin

examples/setup.sh
# The tests need more packages; tests/run.sh turns them on.
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train
rm -rf "$output"
mkdir -p "$output"

echo
echo "== training on $train_samples clicks, straight from the pipe"
"$bin/ps-datagen" ctr --samples "$train_samples" |
  "$bin/ps-train" "$job" --data - --save-dir "$output"

echo
echo "== testing the saved model on $test_samples clicks that it has not seen"
"$bin/ps-datagen" ctr --first "$train_samples" --samples "$test_samples" --truth "$output/truth.json" |
  "$bin/ps-train" "$job" --job test --init-model "$output/pass-00000" --data -

echo
echo "== the most that any model could score on them, from the law that made them"
grep -E '"(auc|log_loss)"' "$output/truth.json"
