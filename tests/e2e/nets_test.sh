#!/bin/bash
# The networks of share/jobs/nets: all are well-formed jobs, and LeNet learns images from few examples, with the same
# bits on one thread as on two.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
nets=$PS_SOURCE/share/jobs/nets
cd "$scratch"

: >none
for job in "$nets"/*.json; do
  ps-train "$job" --data none --dry-run 2>plan || fail "$job: $(cat plan)"
  expect_text plan conv2d
done

ps-datagen dense --dim 784 --classes 10 --samples 2500 --seed 3 --format libsvm >images.txt
head -n 2000 images.txt >train.txt
tail -n 500 images.txt >test.txt
for threads in 1 2; do
  ps-train "$nets/lenet.json" --data train.txt --test-data test.txt --passes 3 --threads $threads --json \
    --set optimizer.learning_rate=0.02 --save-dir "saved$threads" --log-level error >"result$threads"
done
cmp saved1/pass-00002/model.safetensors saved2/pass-00002/model.safetensors || fail "threads change the weights"
python3 - <<'PY' || fail "LeNet has not learned the images: $(tail -n 3 result1)"
import json
report = json.load(open("result1"))
error = report["test"]["evaluators"]["classification_error"]
print(f"LeNet errs on {100 * error:.1f} % of images it has not seen")
assert error < 0.25, error  # of guesses 0.9 are wrong
PY
echo "all networks are well-formed jobs, and LeNet learns with the same bits on one and two threads"
