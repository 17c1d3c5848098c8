#!/bin/bash
# Compares what this tree trains with what another one trains, bit for bit: a change that is to change no result shows
# by it that it does not.  Every job of share/jobs runs on generated data, with the programs and the job files of either tree:
# in one process; and with two servers and two trainers, or, where its strategy has no servers, with two trainers alone.  The
# nets for pictures take hours: the smallest of them runs.
#
# usage: tests/compare_builds.sh OTHER_TREE      both trees have programs in build/release/bin
set -euo pipefail
source "$(dirname "$0")/lib.sh"
(($# == 1)) || { sed -n '/^# usage/s/^# //p' "$0" >&2; exit 2; }
other=$(cd "$1" && pwd)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# generate JOB: data that the job can read, to standard output.
generate() {
  local generator=("$PS_BIN/ps-datagen")
  case $1 in
    quickstart | ctr_rows) "${generator[@]}" ctr --samples 4000 ;;
    sparse_binary) "${generator[@]}" sparse-binary --samples 2000 ;;
    sparse_float) "${generator[@]}" sparse-float --samples 1000 ;;
    gutenberg_nce | gutenberg_gru) "${generator[@]}" language --samples 400 ;;
    mnist | accuracy_mnist) "${generator[@]}" dense --samples 1000 --dim 784 --classes 10 --format libsvm ;;
    accuracy_mnist_conv | nets/lenet) "${generator[@]}" dense --samples 300 --dim 784 --classes 10 --format libsvm ;;
    dense_clicks*) "${generator[@]}" sparse-binary --samples 2000 --dim 5000 ;;
    criteo_wide_deep) "${generator[@]}" criteo --samples 2000 ;;
    a9a) "${generator[@]}" sparse-binary --samples 2000 --dim 124 --nnz 5:14 --format libsvm ;;
    20news | accuracy_20news | ctr10k) "${generator[@]}" sparse-binary --samples 1000 --dim 100000 --format libsvm ;;
    *) return 1 ;;
  esac
}

# train TREE JOB NAME [flags...]: one process; the model is NAME/pass-….
train() {
  local tree=$1 job=$2 name=$3
  shift 3
  "$tree/build/release/bin/ps-train" "$tree/share/jobs/$job.json" --data "$scratch/data" --passes 2 \
    --save-dir "$scratch/$name" "$@" >"$scratch/$name.out" 2>&1 || fail "$name: $(tail -n 3 "$scratch/$name.out")"
}

# train_served TREE JOB NAME: the same with two servers and two trainers.
train_served() {
  local tree=$1 job=$2 name=$3 server addresses= trainer trainers=()
  for server in one two; do
    mkfifo "$scratch/$name.$server"
    "$tree/build/release/bin/ps-serve" "$tree/share/jobs/$job.json" --host 127.0.0.1 --port 0 --ports-num 2 \
      --ports-num-for-sparse 2 --port-file "$scratch/$name.ports" >"$scratch/$name.$server" 2>"$scratch/$name.log" &
    servers+=($!)
    head -n 1 "$scratch/$name.$server" >"$scratch/ready"
    addresses+=127.0.0.1:$(head -n 1 "$scratch/$name.ports"),
  done
  for trainer in 0 1; do
    train "$tree" "$job" "$name" --servers "$addresses" --trainers 2 --rank $trainer &
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer"; done
  kill -TERM "${servers[@]}"
  wait "${servers[@]}"
  servers=()
}

# has_servers JOB: its strategy, which is parameter_server unless told, works with servers.
has_servers() { ! grep -qE '"type": "(all_reduce|dgc|diloco)"' "$PS_SOURCE/share/jobs/$1.json"; }

# train_among_peers TREE JOB NAME: the same with two trainers that exchange gradients by themselves.
train_among_peers() {
  local trainer trainers=() address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))
  for trainer in 0 1; do
    train "$@" --peers "$address" --trainers 2 --rank $trainer &
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer"; done
}

# weights FILE: the tensors of a safetensors file, without the header, which may say more in one version.
weights() {
  local header
  header=$(od -An -tu8 -N8 "$1")
  tail -c +$((header + 9)) "$1"
}

compare() {
  local file
  [[ -d $scratch/mine.$1 ]] || fail "$1: no model"
  for file in "$scratch/mine.$1"/pass-*/model.safetensors; do
    cmp <(weights "$file") <(weights "${file/mine/other}") || fail "$1: the models differ"
  done
  echo "$1: equal"
}

for file in "$PS_SOURCE"/share/jobs/*.json "$PS_SOURCE"/share/jobs/nets/lenet.json; do
  job=${file#"$PS_SOURCE/share/jobs/"}
  job=${job%.json}
  if ! generate "$job" >"$scratch/data"; then
    echo "$job: no generator makes its data"
    continue
  fi
  mkdir -p "$(dirname "$scratch/mine.$job")" "$(dirname "$scratch/other.$job")"
  train "$PS_SOURCE" "$job" "mine.$job"
  train "$other" "$job" "other.$job"
  compare "$job"
  together=train_among_peers
  has_servers "$job" && together=train_served
  $together "$PS_SOURCE" "$job" "mine.$job.together"
  $together "$other" "$job" "other.$job.together"
  compare "$job.together"
done
echo "all models are equal, bit for bit"
