#!/bin/bash
# liblinear-predict reads our linear model of a9a, and is right as often as ps-train --job test.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
data=${PS_DATA:-$PS_SOURCE/../shared/data}/a9a
need liblinear-predict python3
[[ -e $data/train.libsvm.zst && -e $data/test.libsvm.zst ]] || skip "no a9a data in $data"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/a9a.json
ps-train "$job" --data "$data/train.libsvm.zst" --passes 5 --log-level warning --save-dir '' --checkpoint-dir checkpoints
ps-ckpt2model checkpoints --format liblinear --output a9a.model
ps-ckpt2model checkpoints --output a9a.safetensors
ps-train "$job" --job test --data "$data/test.libsvm.zst" --init-model a9a.safetensors --log-level warning --json >tested.json
ps-train "$job" --job convert --data "$data/test.libsvm.zst" --set data.shuffle=none --output-format libsvm \
  --output a9a.t --log-level warning
liblinear-predict a9a.t a9a.model predictions >said
python3 - <<'PY'
import json, re
ours = 1 - json.load(open("tested.json"))["test"]["evaluators"]["classification_error"]
right, total = map(int, re.search(r"\((\d+)/(\d+)\)", open("said").read()).groups())
print(f"liblinear-predict {right / total:.6f}, ps-train {ours:.6f}")
assert round(ours * total) == right and ours > 0.84, (ours, right, total)
PY
