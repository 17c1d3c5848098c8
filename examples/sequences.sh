#!/bin/bash
# Layers that read words in their order: a gated recurrent unit learns which word follows which, where sums of the same
# words cannot.  Prints the cost of a word on held-out text beside the least that any model could reach.
#
#   examples/sequences.sh                 on a language that is made up
#   examples/sequences.sh TEXT [LINES]    on so many lines of a text of your own, of which the last 3 % are held out: a gru,
#                                         an lstm, attention, and sums
set -euo pipefail
text=${1:+$(realpath "$1")} lines=${2:-1000000000}
cd "$(dirname "$0")/.."

readonly words=200 sentences=5000 test_sentences=1000
passes=2
output=build/sequences
bin=build/release/bin

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train
rm -rf "$output"
mkdir -p "$output"

# train NAME [flags...]: share/jobs/gutenberg_gru.json, which guesses a word from the eight before it.
train() {
  "$bin/ps-train" gutenberg_gru --data "$output/text.txt" --test-data "$output/held_out.txt" --passes $passes \
    --save-dir "$output/$1" --json --log-level warning "${@:2}" >"$output/$1.json"
}

# Embeddings that are added up, in the place of the layer that reads them in their order.
sums=(--set model.layers.0.pooling=sum
  --set 'model.layers.1={"name": "state", "type": "fc", "input": "words", "size": 64, "activation": "tanh"}')

cost() { sed 's/.*"test":{[^}]*"cost":\([0-9.]*\).*/\1/' "$output/$1.json"; }

if [[ -n $text ]]; then
  # A block of a transformer, whose rows are pooled.
  attention='[{"name": "words", "type": "embedding", "input": "context", "size": 64, "pooling": "none",
     "sparse_update": true, "weight": {"init": {"type": "normal", "deviation": 1}}},
    {"name": "placed", "type": "position_encoding", "input": "words"},
    {"name": "attended", "type": "attention", "input": "placed", "size": 64, "heads": 4},
    {"name": "both", "type": "add", "input": ["placed", "attended"]},
    {"name": "state", "type": "sequence_pool", "input": "both", "pooling": "attention"},
    {"name": "next", "type": "nce", "input": "state", "num_classes": 10000, "num_neg_samples": 20,
     "noise": "log_uniform", "sparse_update": true}]'
  part=$(($(wc -l <"$text") * 97 / 100))
  head -n $((part < lines ? part : lines)) "$text" >"$output/text.txt"
  tail -n +$((part + 1)) "$text" >"$output/held_out.txt"
  passes=1
  train sums "${sums[@]}"
  train gru
  train lstm --set model.layers.1.type=lstm
  train attention --set "model.layers=$attention" --set optimizer.learning_rate=0.05
  for model in sums gru lstm attention; do
    awk -v name=$model -v cost="$(cost $model)" \
      'BEGIN { printf "%-9s has a perplexity of %.1f on text that it has not seen\n", name, exp(cost) }'
  done
  exit
fi

"$bin/ps-datagen" language --dim $words --samples $sentences --output "$output/text.txt"
"$bin/ps-datagen" language --dim $words --samples $test_sentences --first $sentences --truth "$output/truth.json" \
  --output "$output/held_out.txt"

of_language=(--set data.text.vocabulary_size=$((words + 1)) --set model.layers.2.num_classes=$((words + 1)))

echo
echo "== the model in which a gru reads the embeddings of the words one after the other"
train gru "${of_language[@]}"
echo "cost of a word: $(cost gru)"

echo
echo "== a model of the same size that adds them up"
train sums "${of_language[@]}" "${sums[@]}"
echo "cost of a word: $(cost sums)"

echo
echo "== the least that any model could reach, and what the words' frequencies alone give"
grep -E '"(bigram|unigram)_entropy_nats"' "$output/truth.json"
awk -v gru="$(cost gru)" -v sums="$(cost sums)" 'BEGIN {
  if (gru >= 0.95 * sums) { print "the order was not learned"; exit 1 }
  print "the order of words tells more than their sum"
}'
