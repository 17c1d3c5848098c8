#!/bin/bash
# liblinear-predict reads our linear models, and is right as often as ps-train --job test: of three classes, and of a9a.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
data=${PS_DATA:-$PS_SOURCE/../shared/data}/a9a
need liblinear-predict python3
cd "$scratch"
PATH=$PS_BIN:$PATH

# agree JOB TRAIN TEST LEAST: both are right equally often with examples of TEST, more often than LEAST.
agree() {
  local job=$1 train=$2 test=$3
  rm -rf checkpoints
  ps-train "$job" --data "$train" --passes 5 --log-level warning --save-dir '' --checkpoint-dir checkpoints
  ps-ckpt2model checkpoints --format liblinear --output linear.model
  ps-ckpt2model checkpoints --output model.safetensors
  ps-train "$job" --job test --data "$test" --init-model model.safetensors --log-level warning --json >tested.json
  ps-train "$job" --job convert --transform --data "$test" --set data.shuffle=none --output-format libsvm \
    --output test.libsvm --log-level warning
  liblinear-predict test.libsvm linear.model predictions >said
  python3 - "$4" <<'PY'
import json, re, sys
ours = 1 - json.load(open("tested.json"))["test"]["evaluators"]["classification_error"]
right, total = map(int, re.search(r"\((\d+)/(\d+)\)", open("said").read()).groups())
print(f"liblinear-predict {right / total:.6f}, ps-train {ours:.6f}")
assert round(ours * total) == right and ours > float(sys.argv[1]), (ours, right, total)
PY
}

echo "three classes, with and without a bias"
python3 - <<'PY'
import json, random
random.seed(5)
centres = [[random.gauss(0, 1) for _ in range(20)] for _ in range(3)]
for name, count in (("train", 3000), ("test", 1000)):
    with open(f"three.{name}", "w") as out:
        for _ in range(count):
            label = random.randrange(3)
            features = [(i + 1, c + random.gauss(0, 2)) for i, c in enumerate(centres[label]) if random.random() < 0.8]
            out.write(f"{label} " + " ".join(f"{i}:{value:.4f}" for i, value in features) + "\n")
for bias in (True, False):
    layer = {"name": "class", "type": "fc", "input": "features", "size": 3, "activation": "softmax", "sparse_update": True}
    if not bias:
        layer["bias"] = False
    json.dump({"job": {"name": "three", "seed": 1}, "data": {"format": "libsvm", "dim": 21, "batch_size": 50},
               "model": {"layers": [layer], "cost": {"type": "cross_entropy", "input": "class"},
                         "evaluators": ["classification_error"]},
               "optimizer": {"type": "adagrad", "learning_rate": 0.05}}, open(f"three_{bias}.json", "w"))
PY
for bias in True False; do agree three_$bias.json three.train three.test 0.8; done

echo "a9a"
[[ -e $data/train.libsvm.zst && -e $data/test.libsvm.zst ]] || skip "no a9a data in $data"
agree "$PS_SOURCE/share/jobs/a9a.json" "$data/train.libsvm.zst" "$data/test.libsvm.zst" 0.84
