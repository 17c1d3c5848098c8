#!/bin/bash
# Vowpal Wabbit's text: recognised by recipes, namespaces as slots, predictions without labels.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
quiet=(--log-level warning)

# The label depends on user and word together, the parts of an exclusive or, and on neither alone.
python3 - >train.vw <<'PY'
import random
random.seed(1)
for i in range(4000):
    user, word = random.choice("ab"), random.choice("cd")
    y = 1 if (user == "a") != (word == "c") else -1
    print(f"{y} 1 tag{i}|user {user} age:{random.random():.3f} |word {word} noise{random.randrange(9)}")
PY
sed 's/^[^|]*|/|/' train.vw >unlabelled.vw

echo "a recipe knows the text by itself, and learns what pairs of features tell"
ps-train --recipe fm --data train.vw --passes 5 --save-dir fm "${quiet[@]}" --json --test-data train.vw >fm.json
python3 -c 'import json; auc = json.load(open("fm.json"))["test"]["evaluators"]["auc"]; assert auc > 0.95, auc'

echo "lines without labels are predicted, with the same result"
ps-train --model fm/pass-00004 --job predict --data train.vw "${quiet[@]}" >expected
ps-train --model fm/pass-00004 --job predict "${quiet[@]}" <unlabelled.vw | cmp - expected
expect_status 3 ps-train --model fm/pass-00004 --job test --data unlabelled.vw
expect_text err "unlabelled.vw:1: column 1: no label before the first '|'"

echo "namespaces are the slots that a job lists"
cat >job.json <<'JSON'
{
  "data": {"format": "vw", "slots": [{"name": "user"}, {"name": "word"}], "batch_size": 50},
  "model": {
    "layers": [
      {"name": "user_vector", "type": "embedding", "input": "user", "size": 4, "sparse_update": true},
      {"name": "word_vector", "type": "embedding", "input": "word", "size": 4, "sparse_update": true},
      {"name": "both", "type": "fc", "input": ["user_vector", "word_vector"], "size": 8, "activation": "relu"},
      {"name": "score", "type": "fc", "input": "both", "size": 1}
    ],
    "cost": {"type": "binary_cross_entropy", "input": "score"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.1},
  "train": {"passes": 3, "save_dir": ""}
}
JSON
ps-train job.json --data train.vw --checkpoint-dir checkpoints "${quiet[@]}"
ps-ckpt2model checkpoints --inspect >tables
expect_text tables 'user_vector.weight: sparse, 3 rows'
expect_text tables 'word_vector.weight: sparse, 11 rows'
sed '7s/|word/|words/' train.vw >other.vw
expect_status 3 ps-train job.json --data other.vw
expect_text err "namespace 'words' is none of data.slots: user, word"
echo passed
