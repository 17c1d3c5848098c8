#!/bin/bash
# Layers over sequences as a user runs them: the model is the same bit for bit on any number of threads, after a resume,
# with rows on a device, on servers, by readers and compute trainers, and without servers; its model files predict alike;
# and a layer that reads words in their order learns a language that sums of words do not.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/e2e/heter_job.sh"

cat >job.json <<'JSON'
{
  "job": {"name": "sequences"},
  "data": {"format": "paddle_sparse_binary", "dim": 1000, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "rows", "type": "embedding", "input": "features", "size": 6, "pooling": "none", "sparse_update": true},
      {"name": "placed", "type": "position_encoding", "input": "rows"},
      {"name": "attended", "type": "attention", "input": "placed", "size": 6, "heads": 2},
      {"name": "residual", "type": "add", "input": ["placed", "attended"]},
      {"name": "states", "type": "gru", "input": "residual", "size": 5, "direction": "both", "output": "all"},
      {"name": "pooled", "type": "sequence_pool", "input": "states", "pooling": "attention"},
      {"name": "last", "type": "lstm", "input": "rows", "size": 7},
      {"name": "output", "type": "fc", "input": ["pooled", "last"], "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adam", "learning_rate": 0.002, "clip_global_norm": 1},
  "train": {"passes": 2, "log_period": 100000},
  "cluster": {"server_timeout": 20, "trainer_timeout": 20}
}
JSON
# make_examples SEED COUNT: of 0 to 14 ids in no order; the label says whether the first is below the last.
make_examples() {
  awk -v seed="$1" -v count="$2" 'BEGIN {
    srand(seed)
    for (i = 0; i < count; ++i) {
      n = int(15 * rand()); ids = ""
      for (k = 0; k < n; ++k) { last = int(1000 * rand()); if (k == 0) first = last; ids = ids "," last " 1" }
      print "0," (n > 0 && first < last ? 1 : 0) ids
    }
  }'
}
make_examples 1 600 >train.txt
make_examples 2 100 >held_out.txt
alone() { ps-train job.json --data train.txt --log-level warning "$@"; }

echo "one thread and two, a resume, and rows on a device"
alone --save-dir one --threads 1 --checkpoint-dir checkpoints --test-data held_out.txt --json >one.json
alone --save-dir two --threads 2
alone --save-dir resumed --passes 1 --checkpoint-dir half
alone --save-dir resumed --resume --checkpoint-dir half
alone --save-dir device --device emulated --set device.rows=256
for folder in two resumed device; do
  cmp {one,$folder}/pass-00001/model.safetensors || fail "$folder has another model"
done

echo "files of the model"
cost() { grep -o '"cost":[0-9.]*' "$1" | tail -n 1; }
predict() { ps-train job.json --init-model "$1" --job predict --data held_out.txt --output "$2" --log-level warning; }
ps-train job.json --init-model one/pass-00001 --job test --data held_out.txt --json --log-level warning >tested.json
[[ -n $(cost one.json) && $(cost tested.json) == "$(cost one.json)" ]] || fail "tested: $(cat tested.json)"
ps-ckpt2model checkpoints --output converted.safetensors
predict one/pass-00001 predicted
predict converted.safetensors predicted_converted
cmp predicted predicted_converted
[[ $(sort -u predicted | wc -l) -gt 80 ]] || fail "predictions: $(cat predicted)"

echo "two trainers with servers; as readers in front of a compute trainer; and without servers"
serve
train 2 plain
end_servers
serve
places=
compute compute
train 2 heter --role reader --compute "$places"
same_model heter
end_well "$started_compute" compute
end_servers
sed 's/"sparse_update": true/"sparse_update": false/' job.json >dense.json
mv dense.json job.json
rm -rf plain
serve
train 2 plain
end_servers
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))
ids=()
for rank in 0 1; do
  start "peer.$rank" ps-train job.json --data train.txt --set train.strategy.type=all_reduce --peers "$address" \
    --trainers 2 --rank $rank --save-dir peers
  ids+=("$started" "peer.$rank")
done
end_well "${ids[@]}"
same_model peers

# A word follows from the one before it: of eight words the last is to be told from the others.
echo "the order of words"
ps-datagen language --dim 60 --samples 1500 --seed 5 --output text.txt
ps-datagen language --dim 60 --samples 200 --seed 5 --first 1500 --truth truth.json --output unseen.txt
small=(--set data.text.vocabulary_size=61 --set model.layers.2.num_classes=61 --set optimizer.learning_rate=0.05)
read_text() {
  ps-train gutenberg_gru --data text.txt --test-data unseen.txt --log-level warning --json --save-dir '' \
    --passes 3 "${small[@]}" "$@"
}
read_text >gru.json
read_text --set model.layers.0.pooling=sum --set model.layers.1='{"name": "state", "type": "fc", "input": "words",
  "size": 64, "activation": "tanh"}' >sums.json
python3 - <<'PY' || fail "the order is not learned: $(cat gru.json sums.json)"
import json
gru, sums = (json.load(open(name))["test"]["cost"] for name in ("gru.json", "sums.json"))
least = json.load(open("truth.json"))["bigram_entropy_nats"]
print(f"cost of a word that was not seen: {gru:.3f} by a gru, {sums:.3f} by sums of words; at least {least:.3f}")
assert gru < 0.9 * sums, (gru, sums)
PY
