#!/bin/bash
# Recipes beside other programs, on real data: each by its defaults, and as the best of a sweep of as many combinations.
# Prints one table: data, what was trained, measure, by default, swept, command.  Only accuracy counts, no time is taken.
# A sweep chooses on a tenth of the training data, kept from it, and tests the model of that as it is.
#
# usage: recipes.sh [-n COMBINATIONS] DATA [NAME...]
#   -n    of a sweep: 8 unless told, 0 for none
#   DATA  a folder with a9a, 20news, ctr10k and mnist (train.libsvm.zst, test.libsvm.zst), adult (train.multislot.zst,
#         test.multislot.zst) and gutenberg (corpus.txt.zst)
#   NAME  of a9a 20news adult ctr10k mnist gutenberg ratings: all unless told; ratings are generated
#
# Programs of pskit are those of PS_BIN or PATH; PYTHON is a python3 with the peers that are there, of
# numpy scikit-learn lightgbm vowpalwabbit fasttext gensim implicit torch, and LIBLINEAR is liblinear-train.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
recipes=$here/../recipes
PATH=${PS_BIN:+$PS_BIN:}$PATH
python=${PYTHON:-python3}

usage() {
  sed -n 's/^# \{0,1\}//p' "$0" | sed -n '/^usage:/,/^$/p' >&2
  exit 2
}
combinations=8
while getopts n: option; do
  case $option in
    n) combinations=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
(($# >= 1)) || usage
data=$(cd "$1" && pwd)
shift
(($# >= 1)) || set -- a9a 20news adult ctr10k mnist gutenberg ratings

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# figure KEY FILE: of the test in a result.
figure() {
  "$python" -c 'import json, sys; print(json.load(open(sys.argv[2]))["test"]["evaluators"][sys.argv[1]])' "$@"
}
# shown MEASURE VALUE: an error is shown as an accuracy.
shown() {
  case $1 in
    accuracy) awk -v error="$2" 'BEGIN { printf "%.4f", 1 - error }' ;;
    *) printf %.4f "$2" ;;
  esac
}
row() { printf '%s\t' "${@:1:$#-1}" && printf '%s\n' "${!#}"; }

# ours NAME RECIPE TRAIN TEST MEASURE KEY: a row of a recipe.
ours() {
  local name=$1 recipe=$2 train=$3 test=$4 measure=$5 key=$6 default swept='' best
  ps-train --recipe "$recipes/$recipe.json" --data "$train" --test-data "$test" --threads 1 --save-dir '' --json \
    --log-level warning >result
  default=$(shown "$measure" "$(figure "$key" result)")
  if ((combinations > 0)); then
    rm -rf swept
    ps-train --recipe "$recipes/$recipe.json" --data "$train" --threads 1 --save-dir swept --json --log-level error \
      --set data.validation=0.1 --set "train.best_by=$key" --sweep-samples "$combinations" \
      --sweep optimizer.learning_rate=log:0.003..0.3 --sweep optimizer.l2=log:1e-5..1e-2 >result
    best=$("$python" -c 'import json; print("%03d" % json.load(open("result"))["best"])')
    ps-train --model "swept/$best/best" --job test --data "$test" --threads 1 --json --log-level warning >result
    swept=$(shown "$measure" "$(figure "$key" result)")
  fi
  row "$name" "recipe $recipe" "$measure" "$default" "$swept" "ps-train --recipe $recipe --data ${train#*/} --test-data ${test#*/}"
}

# peers NAME: their rows.
peers() { "$python" -B "$here/recipe_peers.py" "$1" "$combinations" | while IFS= read -r line; do row "$1" "$line"; done; }

# plain NAME KIND: train and test data without compression.
plain() {
  local part
  mkdir -p "$1"
  for part in train test; do zstd -dqf "$data/$1/$part.$2.zst" -o "$1/$part.$2"; done
}

run_libsvm() {  # NAME MEASURE KEY RECIPE...
  local name=$1 recipe
  plain "$name" libsvm
  for recipe in "${@:4}"; do ours "$name" "$recipe" "$name/train.libsvm" "$name/test.libsvm" "$2" "$3"; done
}

run_adult() {
  local part recipe
  plain adult multislot
  for part in train test; do "$python" "$here/recipe_data.py" adult adult/$part.multislot adult/$part.csv; done
  for recipe in logistic fm ffm wide_deep deepfm dcn; do ours adult $recipe adult/train.csv adult/test.csv AUC auc; done
}

# Scores all items that a user has not bought, as the peers do.
run_ratings() {
  local last
  "$python" "$here/recipe_data.py" ratings 1
  ps-train --recipe "$recipes/two_tower.json" --data ratings.csv --threads 1 --save-dir towers --log-level warning
  last=$(printf '%s\n' towers/pass-* | tail -n 1)
  ps-train --model "$last" --job test --data candidates.csv --threads 1 --json --log-level warning \
    --set data.csv.group=query --set 'model.evaluators=[{"type": "recall_at_k", "k": 20}]' >result
  row ratings 'recipe two_tower' recall@20 "$(shown recall "$(figure recall_at_20 result)")" '' \
    'ps-train --recipe two_tower --data ratings.csv'
}

# The words that are near to some go to standard error.
run_gutenberg() {
  local last
  zstd -dqf "$data/gutenberg/corpus.txt.zst" -o corpus.txt
  ps-train --recipe "$recipes/word2vec.json" --data corpus.txt --threads 1 --save-dir vectors --log-level warning
  last=$(printf '%s\n' vectors/pass-* | tail -n 1)
  ps-ckpt2model "$last" --format word2vec --tables words.weight --output vectors.txt
  row gutenberg 'recipe word2vec' purity "$("$python" -B "$here/recipe_peers.py" words vectors.txt)" '' \
    'ps-train --recipe word2vec --data corpus.txt'
}

row data what measure default swept command
for name in "$@"; do
  case $name in
    a9a) run_libsvm a9a AUC auc logistic fm deepfm ;;
    ctr10k) run_libsvm ctr10k AUC auc logistic fm deepfm ;;
    20news)
      run_libsvm 20news accuracy classification_error softmax text
      for part in train test; do "$python" "$here/recipe_data.py" lines 20news/$part.libsvm 20news/$part.txt; done
      ;;
    mnist) run_libsvm mnist accuracy classification_error mlp ;;
    adult | ratings | gutenberg) "run_$name" ;;
    *) usage ;;
  esac
  peers "$name"
done
