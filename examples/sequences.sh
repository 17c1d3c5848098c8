#!/bin/bash
# Layers that read words in their order: a gated recurrent unit learns which word follows which, where sums of the same
# words cannot.  Prints the cost of a word on held-out text beside the least that any model could reach.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly words=200 sentences=5000 test_sentences=1000 passes=2
output=build/sequences
bin=build/release/bin

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train
rm -rf "$output"
mkdir -p "$output"

"$bin/ps-datagen" language --dim $words --samples $sentences --output "$output/text.txt"
"$bin/ps-datagen" language --dim $words --samples $test_sentences --first $sentences --truth "$output/truth.json" \
  --output "$output/held_out.txt"

# train NAME [flags...]: share/jobs/gutenberg_gru.json, which guesses a word from the eight before it.
train() {
  "$bin/ps-train" gutenberg_gru --data "$output/text.txt" --test-data "$output/held_out.txt" --passes $passes \
    --save-dir "$output/$1" --json --log-level warning --set data.text.vocabulary_size=$((words + 1)) \
    --set model.layers.2.num_classes=$((words + 1)) "${@:2}" >"$output/$1.json"
}

cost() { sed 's/.*"test":{[^}]*"cost":\([0-9.]*\).*/\1/' "$output/$1.json"; }

echo
echo "== the model in which a gru reads the embeddings of the words one after the other"
train gru
echo "cost of a word: $(cost gru)"

echo
echo "== a model of the same size that adds them up"
train sums --set model.layers.0.pooling=sum \
  --set model.layers.1='{"name": "state", "type": "fc", "input": "words", "size": 64, "activation": "tanh"}'
echo "cost of a word: $(cost sums)"

echo
echo "== the least that any model could reach, and what the words' frequencies alone give"
grep -E '"(bigram|unigram)_entropy_nats"' "$output/truth.json"
awk -v gru="$(cost gru)" -v sums="$(cost sums)" 'BEGIN {
  if (gru >= 0.95 * sums) { print "the order was not learned"; exit 1 }
  print "the order of words tells more than their sum"
}'
