#!/bin/bash
# train.calibrate: predictions of a saved model are fitted to the validation data, and kept so in the model.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3

ps-datagen ctr --samples 20000 --output train.txt
ps-datagen ctr --first 20000 --samples 5000 --output test.txt
# A positive example counts five times, so that the model predicts far too many.
run() {
  ps-train --recipe logistic --data train.txt --test-data test.txt --passes 2 --set data.validation=0.25 --json \
    --set model.cost.pos_weight=5 --set 'model.evaluators=["auc", "log_loss", {"type": "calibration"}]' "$@"
}

run --save-dir plain >plain.json 2>err
at_least "$(measure plain.json calibration_error)" 0.1
for way in platt isotonic; do
  echo "$way: the error of calibration falls, and the order of examples stays"
  run --save-dir $way --set train.calibrate=$way >$way.json 2>err
  expect_text err 'Calibrated on '
  at_least 0.03 "$(measure $way.json calibration_error)"
  at_least "$(measure plain.json log_loss)" "$(measure $way.json log_loss) + 0.05"
  at_least 0.005 "abs($(measure $way.json auc) - $(measure plain.json auc))"

  echo "$way: the model keeps it: --job test measures and --job predict prints what was tested"
  ps-train --model $way/pass-00001 --job test --data test.txt --json >again.json 2>err
  python3 -c 'import json, sys
a, b = (json.load(open(f))["test"]["evaluators"] for f in sys.argv[1:])
assert a == b, (a, b)' $way.json again.json || fail "the tests differ"
  ps-train --model $way/pass-00001 --job predict --data test.txt >$way.txt 2>err
  ps-train --model $way/best --job predict --data test.txt >best.txt 2>err
  ps-train --model plain/pass-00001 --job predict --data test.txt >plain.txt 2>err
done
# The calibration of the job, applied here to the predictions of the model without one, whose weights are the same.
cmp plain/pass-00001/model.safetensors platt/pass-00001/model.safetensors
python3 - <<'PYTHON' || fail "the predictions are not those of the calibration in job.json"
import bisect, json, math
plain = [float(line) for line in open("plain.txt")]
def check(way, apply):
    fit = json.load(open(f"{way}/pass-00001/job.json"))["model"]["calibration"]
    assert fit["type"] == way, fit
    worst = max(abs(apply(fit, p) - float(line)) for p, line in zip(plain, open(f"{way}.txt")))
    assert worst < 1e-5, (way, worst)
def isotonic(fit, p):
    i = bisect.bisect_right(fit["from"], p)
    if i in (0, len(fit["from"])): return fit["to"][max(0, i - 1)]
    (x, y), (u, v) = ((fit["from"][j], fit["to"][j]) for j in (i - 1, i))
    return x != u and y + (v - y) * (p - x) / (u - x)
check("platt", lambda fit, p: 1 / (1 + math.exp(-fit["scale"] * math.log(p / (1 - p)) - fit["offset"])))
check("isotonic", isotonic)
PYTHON

echo "training that begins with the job of a calibrated model leaves the calibration alone, and saves none"
ps-train platt/pass-00001/job.json --data train.txt --passes 1 --save-dir more --set train.calibrate=none 2>err
python3 -c 'import json; assert "calibration" not in json.load(open("more/pass-00000/job.json"))["model"]' || fail 'a calibration'

echo "it needs validation data, and a cost that predicts a probability"
expect_status 2 ps-train --recipe logistic --data train.txt --set train.calibrate=platt
expect_text err 'train.calibrate: there are no validation data: set data.validation'
expect_status 2 ps-train --recipe linear --data train.txt --set train.calibrate=platt --set data.validation=0.1
expect_text err 'train.calibrate: the cost squared_error predicts no probability of label 1'
expect_status 2 ps-train --recipe logistic --data train.txt --set train.calibrate=beta --set data.validation=0.1
expect_text err 'train.calibrate'
