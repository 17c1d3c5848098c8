#!/bin/bash
# Files of earlier versions stay readable, and what is written today are the same bytes.  tests/golden holds twelve
# clicks as text and as records, a model trained on them, and its predictions.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
golden=$PS_SOURCE/tests/golden
job=$PS_SOURCE/share/jobs/quickstart.json

ps-train "$job" --job convert --data "$golden/clicks.multislot" --output "$scratch/records" --log-level error
cmp "$scratch/records" "$golden/clicks.records" || fail "records are written in other bytes: ps-data(5) needs a new version"

ps-train "$job" --job convert --format records --data "$golden/clicks.records" --output-format multislot --log-level error \
  --output "$scratch/text"
cmp "$scratch/text" "$golden/clicks.multislot" || fail "records read otherwise than they were written"

# Another exp may round the last digit otherwise.
ps-train "$job" --job predict --init-model "$golden/clicks.safetensors" --format records --data "$golden/clicks.records" \
  --output "$scratch/predictions" --log-level error
paste "$scratch/predictions" "$golden/clicks.predictions" |
  awk '{ d = $1 - $2; if (d < -1e-6 || d > 1e-6 || NF != 2) exit 1 } END { if (NR != 12) exit 1 }' ||
  fail "the model of an earlier version predicts otherwise"
echo "records and models of earlier versions read as they were written"
