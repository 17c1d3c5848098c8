#!/bin/bash
# Trainers on devices whose dense gradients are added up whole, without servers and beside some: dense parameters stay on the
# devices, and models are those of the processor, bit for bit where there are no products of dense matrices.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
source "$PS_SOURCE/tests/e2e/peers_job.sh"

job=job.json
ps-datagen sparse-binary --dim 2000 --samples 600 --output train.txt
there=(--device emulated --set device.trains=model)
cat >job.json <<'JSON'
{
  "job": {"name": "whole"},
  "data": {"format": "paddle_sparse_binary", "dim": 2000, "batch_size": 20},
  "model": {
    "layers": [{"name": "output", "type": "fc", "input": "features", "size": 16, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "output"}
  },
  "optimizer": {"type": "momentum", "learning_rate": 0.05, "momentum": 0.9},
  "train": {"passes": 2, "log_period": 0, "strategy": {"type": "all_reduce"}},
  "checkpoint": {"directory": ""}
}
JSON
# Its last weights are a factor of products, whose sums run in another order on a device.
products=(--set 'model.layers=[{"name": "hidden", "type": "fc", "input": "features", "size": 4},
  {"name": "output", "type": "fc", "input": "hidden", "size": 8, "activation": "softmax"}]')
no_shorter() { [[ $(number bytes_sent "$1.0.json") == "$(number bytes_sent "$2.0.json")" ]] || fail "other bytes were sent"; }
expect_there() { [[ $(number trained_there "$1.0.json") == "$2" ]] || fail "$(cat "$1.0.json")"; }

echo "all_reduce: the same model and the same bytes"
for algorithm in direct ring; do
  train here_$algorithm --set train.strategy.algorithm=$algorithm
  train there_$algorithm --set train.strategy.algorithm=$algorithm "${there[@]}"
  for pass in 0 1; do cmp {here,there}_$algorithm/pass-0000$pass/model.safetensors; done
  no_shorter {here,there}_$algorithm
  expect_there there_$algorithm 1
  if grep -q trained_there here_$algorithm.0.json; then fail "nothing is on a device"; fi
done

echo "all_reduce: it goes on from a checkpoint of devices with the same bits, with and without them"
direct=(--set train.strategy.algorithm=direct)
for resumed in here there; do
  train first_$resumed "${direct[@]}" "${there[@]}" --set train.passes=1 --checkpoint-dir checkpoints_$resumed
  options=()
  if [[ $resumed == there ]]; then options=("${there[@]}"); fi
  train back_$resumed "${direct[@]}" "${options[@]}" --checkpoint-dir checkpoints_$resumed --resume
  cmp {here_direct,back_$resumed}/pass-00001/model.safetensors
done
train products "${direct[@]}" "${products[@]}" "${there[@]}"
train again "${direct[@]}" "${products[@]}" "${there[@]}"
cmp {products,again}/pass-00001/model.safetensors
expect_there products 3

# serve NAME [flags...]: a server with the sparse parameters, at $server.
serve() {
  local name=$1
  shift
  mkfifo "ready.$name"
  ps-serve $job --host 127.0.0.1 --port 0 "$@" >"ready.$name" 2>"serve.$name.err" &
  servers=($!) held=$!
  timeout 60 head -1 "ready.$name" >serving || fail "no server: $(cat "serve.$name.err")"
  server=127.0.0.1:$(grep -o '"ports":\[[0-9]*' serving | grep -o '[0-9]*$')
}

echo "hybrid: the same model and the same bytes, also with rows in the bytes of a codec"
sparse=(--set 'model.layers=[{"name": "output", "type": "fc", "input": "features", "size": 16, "activation": "softmax",
  "sparse_update": true}]')
for codec in f32 int8; do
  hybrid=("${sparse[@]}" --set "train.strategy={\"type\": \"hybrid\", \"algorithm\": \"direct\",
    \"codec\": {\"push\": \"$codec\"}}")
  for kind in here there; do
    options=()
    if [[ $kind == there ]]; then options=("${there[@]}"); fi
    serve ${codec}_$kind "${hybrid[@]}"
    train hybrid_${codec}_$kind "${hybrid[@]}" --servers "$server" "${options[@]}"
    end_all_servers
    held=
  done
  for pass in 0 1; do cmp hybrid_${codec}_{here,there}/pass-0000$pass/model.safetensors; done
  expect_there hybrid_${codec}_there 1
done
cmp -s hybrid_{f32,int8}_here/pass-00001/model.safetensors && fail "no codec was used"
exit 0
