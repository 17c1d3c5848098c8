#!/bin/bash
# A tenth of the negative examples is trained on: predictions of data that nobody thinned are still probabilities.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3

clicks=(ps-datagen ctr --slots 6 --dim 300 --positive-rate 0.04)
"${clicks[@]}" --samples 40000 --output train.txt
"${clicks[@]}" --first 40000 --samples 30000 --output test.txt
train=(ps-train --recipe logistic --data train.txt --test-data test.txt --passes 10 --json
  --set 'model.evaluators=["auc", "calibration"]')

"${train[@]}" --save-dir whole >whole.json 2>err
"${train[@]}" --save-dir tenth --set data.negative_rate=0.1 >tenth.json 2>err
ps-train --model tenth/pass-00009 --job predict --data test.txt >predicted 2>err
awk '{ print $NF }' test.txt >labels

python3 - <<'END'
import json
whole, tenth = (json.load(open(f"{name}.json")) for name in ("whole", "tenth"))
sizes = [run["passes"][0]["samples"] for run in (whole, tenth)]
assert sizes[0] == 40000 and 4000 < sizes[1] < 8000, sizes
tests = [run["test"] for run in (whole, tenth)]
assert all(test["samples"] == 30000 for test in tests), tests
(whole_auc, whole_calibration), (auc, calibration) = (
    (test["evaluators"]["auc"], test["evaluators"]["calibration"]) for test in tests)
predicted, labels = ([float(line) for line in open(name)] for name in ("predicted", "labels"))
ratio = sum(predicted) / sum(labels)
print(f"of {sizes[0]} and {sizes[1]} examples: calibration {whole_calibration:.3f} and {calibration:.3f}, "
      f"AUC {whole_auc:.4f} and {auc:.4f}; predicted over found {ratio:.3f}")
assert abs(calibration - 1) < 0.1 and abs(calibration - whole_calibration) < 0.05
assert abs(ratio - calibration) < 1e-3
assert auc > whole_auc - 0.02 and whole_auc > 0.8
END

echo "refusals"
expect_status 2 "${train[@]}" --set data.negative_rate=0
expect_text err 'data.negative_rate: '
echo 'words and more words' >words.txt
expect_status 2 ps-train quickstart --data words.txt --set data.format=text --set data.negative_rate=0.5 --save-dir ''
expect_text err "data.negative_rate: the labels of format 'text' are words"
