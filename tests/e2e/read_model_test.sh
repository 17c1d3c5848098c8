#!/bin/bash
# The example that reads models from Python: numpy predicts what ps-train does.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
PYTHON=/usr/bin/python3 "$PS_SOURCE/examples/read_model.sh" "$scratch/read_model" | tee "$scratch/out"
[[ $(grep -c '1000 predictions, at most' "$scratch/out") == 4 ]] || fail "$(cat "$scratch/out")"
