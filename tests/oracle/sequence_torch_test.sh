#!/bin/bash
# gru, lstm and attention against those of torch: the predictions of a saved model, and the gradient of every parameter,
# as one step of gradient descent shows it.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
here=$(dirname "$(realpath "$0")")
python=${PYTHON:-python3}
need "$python"
"$python" -c 'import torch' 2>/dev/null || skip "torch is not installed (python3-torch)"
cd "$scratch"
PATH=$PS_BIN:$PATH

# A batch is all examples, so that a pass is a step.
cat >job.json <<'JSON'
{
  "job": {"name": "torch"},
  "data": {"format": "paddle_sparse_binary", "dim": 50, "batch_size": 64},
  "model": {
    "layers": [
      {"name": "rows", "type": "embedding", "input": "features", "size": 6, "pooling": "none"},
      {"name": "gru", "type": "gru", "input": "rows", "size": 5, "direction": "both", "output": "all"},
      {"name": "attention", "type": "attention", "input": "gru", "size": 10, "heads": 2},
      {"name": "causal", "type": "attention", "input": "attention", "size": 10, "heads": 5, "causal": true},
      {"name": "lstm", "type": "lstm", "input": "causal", "size": 4, "direction": "both"},
      {"name": "output", "type": "fc", "input": "lstm", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"}
  },
  "optimizer": {"type": "adam", "learning_rate": 0.1},
  "train": {"passes": 5, "gradient": "sum", "log_period": 100000}
}
JSON
awk 'BEGIN {
  srand(3)
  for (i = 0; i < 64; ++i) {
    n = int(13 * rand()); line = "0," int(2 * rand())
    for (k = 0; k < n; ++k) line = line "," int(50 * rand()) " 1"
    print line
  }
}' >data.txt
train() { ps-train job.json --data data.txt --log-level warning "$@"; }
train --save-dir before
train --save-dir after --passes 1 --init-model before/pass-00004 --set optimizer='{"type": "sgd", "learning_rate": 0.25}'
ps-train --model before/pass-00004 --job predict --data data.txt --output predictions
"$python" "$here/sequence_torch.py" before/pass-00004/model.safetensors after/pass-00000/model.safetensors 0.25 data.txt \
  predictions
