#!/bin/bash
# Gradients that travel to servers in the bytes of a codec, as a user runs it: with every codec the model is about as good as
# with f32, fewer bytes travel, and a job of which all processes are killed ends with the bits that it would have had.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
servers=() trainers=() feeder=
trap 'kill -9 "${servers[@]}" "${trainers[@]}" $feeder 2>/dev/null || true; remove_scratch' EXIT

# A sparse table of rows of 8, and dense matrices.
cat >job.json <<'JSON'
{
  "job": {"name": "codecs"},
  "data": {"format": "paddle_sparse_binary", "dim": 1000, "batch_size": 25},
  "model": {
    "layers": [
      {"name": "rows", "type": "fc", "input": "features", "size": 8, "activation": "tanh", "sparse_update": true},
      {"name": "middle", "type": "fc", "input": "rows", "size": 24, "activation": "tanh"},
      {"name": "output", "type": "fc", "input": "middle", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.02},
  "train": {"passes": 2, "log_period": 0}
}
JSON
ps-datagen sparse-binary --dim 1000 --samples 10000 --output train.txt
ps-datagen sparse-binary --dim 1000 --first 10000 --samples 1000 --output test.txt

# serve [flags...]: two servers of two ports, all of the strategy $strategy.
serve() {
  local s
  addresses=
  for s in 0 1; do
    rm -f ready.$s
    mkfifo ready.$s
    ps-serve job.json --set "train.strategy=$strategy" --host 127.0.0.1 --port 0 --port-file ports.$s --ports-num 2 \
      "$@" >ready.$s 2>serve.$s.err &
    servers[s]=$!
    head -1 ready.$s >serve.$s.out
    [[ -s serve.$s.out ]] || fail "server $s: $(cat serve.$s.err)"
    addresses+=${addresses:+,}127.0.0.1:$(head -1 ports.$s)
  done
}

# start RANK NAME DATA [flags...]: one of two trainers.
start() {
  ps-train job.json --set "train.strategy=$strategy" --servers "$addresses" --trainers 2 --rank "$1" --data "$3" \
    --test-data test.txt --save-dir "$2" --json "${@:4}" >"$2.$1.json" 2>"$2.$1.err" &
  trainers[$1]=$!
}

# finish NAME: both end well.
finish() {
  local trainer
  for trainer in "${trainers[@]}"; do wait "$trainer" || fail "a trainer ended with $?: $(cat "$1".*.err)"; done
  trainers=()
  end_all_servers
}

# train NAME STRATEGY: the whole job, undisturbed.
train() {
  strategy=$2
  serve
  for rank in 0 1; do start $rank "$1" train.txt; done
  finish "$1"
}

# last KEY NAME: the last number of this key in the results of trainer 0.
last() { grep -o "\"$1\":[0-9.e-]*" "$2.0.json" | tail -n 1 | cut -d: -f2; }

echo "with every codec the area under the curve is within 0.01 of that with f32"
train f32 '{"type":"parameter_server"}'
base=$(last auc f32)
awk "BEGIN {exit !($base > 0.8)}" || fail "with f32 the area is $base: the test proves nothing"
for codec in '"fp16"' '{"type":"int8","rounding":"stochastic"}' '"shared_scale_int"' '{"type":"one_bit"}' \
  '{"type":"threshold","tau":0.5}' '{"type":"top_k","density":0.1}' '{"type":"low_rank","rank":2}'; do
  name=$(tr -dc 'a-z_0-9' <<<"$codec")
  train "$name" "{\"type\":\"parameter_server\",\"codec\":{\"push\":$codec}}"
  auc=$(last auc "$name")
  echo "  $codec: $auc, f32: $base"
  awk "BEGIN {exit !($auc > $base - 0.01)}" || fail "$codec: the area is $auc, with f32 $base"
  ! cmp -s {f32,"$name"}/pass-00001/model.safetensors || fail "$codec: the model is that of f32"
done

echo "also without a wait for others, and of sparse tables alone"
train loose '{"type":"parameter_server","consistency":"async","codec":{"push":"shared_scale_int"}}'
awk "BEGIN {exit !($(last auc loose) > $base - 0.02)}" || fail "async: the area is $(last auc loose), with f32 $base"

echo "all processes are killed in the midst of a pass: the job ends with the same model, bit for bit"
for codec in '{"type":"int8","rounding":"stochastic"}' '{"type":"top_k","density":0.1}' '{"type":"low_rank","rank":2}'; do
  name=$(tr -dc 'a-z_0-9' <<<"$codec")
  strategy="{\"type\":\"parameter_server\",\"codec\":{\"push\":$codec}}"
  rm -rf killed checkpoints rest
  mkfifo rest
  exec 9<>rest
  flags=(--set checkpoint.steps=10 --set checkpoint.directory=checkpoints)
  serve "${flags[@]}"
  start 0 killed train.txt "${flags[@]}"
  start 1 killed rest "${flags[@]}"
  head -n $((2 * 25 * 27)) train.txt >&9 &  # trainer 1 then waits for more, after the first checkpoint
  feeder=$!
  until [[ -s checkpoints/LATEST ]]; do
    for process in "${trainers[@]}" "${servers[@]}"; do
      kill -0 "$process" || fail "a process has ended: $(cat killed.*.err serve.*.err)"
    done
    sleep 0.05
  done
  kill -9 "${trainers[@]}" "${servers[@]}"
  wait "${trainers[@]}" "${servers[@]}" 2>/dev/null || true
  exec 9>&-
  kill $feeder 2>/dev/null || true
  servers=() trainers=() feeder=
  serve "${flags[@]}" --resume
  for rank in 0 1; do start $rank killed train.txt "${flags[@]}" --resume; done
  finish killed
  expect_text killed.0.err 'Resuming in pass 0 after '
  for pass in 0 1; do cmp {"$name",killed}/pass-0000$pass/model.safetensors || fail "$codec: another model"; done
done

echo "a codec that there is not is refused, and so is one for weights"
expect_status 2 ps-train job.json --data train.txt --set train.strategy.codec.push=top
expect_text err "train.strategy.codec.push: unknown value 'top' (did you mean 'top_k'?)"
expect_status 2 ps-train job.json --data train.txt --set train.strategy.codec.pull=top_k
expect_text err "train.strategy.codec.pull: unknown value 'top_k'"
