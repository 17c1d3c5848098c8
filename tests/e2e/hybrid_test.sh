#!/bin/bash
# Two servers with sparse parameters and three trainers that add up the dense ones among themselves, as a user runs them:
# the models are those of parameter_server, bit for bit; so are checkpoints, and what comes of kills.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=job.json data=train.txt
servers=() trainers=()                # process ids
parameter_server=(--set 'train.strategy={"type": "parameter_server"}')
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=5)
flags=()                              # of all processes of a job that is killed
trap 'kill -9 "${servers[@]}" "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# An address of this test alone: nobody else has this one of the loopback network's.
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

# serve [flags...]: both servers, with two ports each; $addresses names them.
serve() {
  begin_two_servers "$job" --ports-num 2 "$@"
  addresses=127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)
}

# start RANK FOLDER [flags...]: one of three trainers.
start() {
  local rank=$1 folder=$2
  shift 2
  ps-train $job --data $data --servers "$addresses" --peers "$address" --trainers 3 --rank "$rank" \
    --save-dir "$folder" --json "$@" >"$folder.$rank.json" 2>>"$folder.$rank.err" &
  trainers[rank]=$!
}

# finish FOLDER STATUS RANK...: these end with it.
finish() {
  local folder=$1 expected=$2 rank status
  shift 2
  for rank in "$@"; do
    status=0
    wait "${trainers[rank]}" || status=$?
    [[ $status == "$expected" ]] || fail "trainer $rank ended with $status: $(tail -n 5 "$folder".?.err)"
  done
  trainers=()
}

# train FOLDER [flags...]: three trainers, to the end.
train() {
  local rank
  for rank in 0 1 2; do start $rank "$@"; done
  finish "$1" 0 0 1 2
}

# same_models FOLDER OTHER: of all passes.
same_models() {
  local pass
  for pass in 0 1; do cmp "$1/pass-0000$pass/model.safetensors" "$2/pass-0000$pass/model.safetensors" || fail "another model: $2"; done
}

figures() { grep -o '"samples":[0-9]*,"avg_cost":[^,]*,"evaluators":{[^}]*}' "$1"; }

# A sparse table, rows that are trained whole, matrices, and running means.
cat >job.json <<'JSON'
{
  "job": {"name": "hybrid"},
  "data": {"format": "paddle_sparse_binary", "dim": 3000, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "wide", "type": "fc", "input": "features", "size": 2, "sparse_update": true},
      {"name": "deep", "type": "fc", "input": "features", "size": 8, "activation": "tanh"},
      {"name": "normal", "type": "batch_norm", "input": "deep"},
      {"name": "output", "type": "fc", "input": ["wide", "normal"], "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adam", "learning_rate": 0.01, "l2": 0.0001, "schedule": {"type": "poly", "a": 0.001, "b": 0.5}},
  "train": {"passes": 2, "log_period": 0, "strategy": {"type": "hybrid"}},
  "cluster": {"server_timeout": 20, "trainer_timeout": 20}
}
JSON
clipped=(--set 'optimizer={"type": "momentum", "momentum": 0.9, "learning_rate": 0.05, "clip_global_norm": 1, "average": {"begin_step": 10}}')
ps-datagen sparse-binary --dim 3000 --samples 2010 --output train.txt

echo "the models of parameter_server, bit for bit"
serve "${parameter_server[@]}"
train served "${parameter_server[@]}"
end_all_servers
serve
train hybrid
same_models served hybrid
[[ $(figures served.0.json) == "$(figures hybrid.0.json)" ]] || fail "figures: $(cat hybrid.0.json)"

echo "whoever tests with the servers has the whole model"
tested() { ps-train $job --job test --data train.txt --json "$@" 2>err | grep -o '"test":{"samples":[0-9]*,"cost":[^,]*'; }
[[ $(tested --servers "$addresses") == "$(tested --init-model hybrid/pass-00001)" ]] || fail "$(cat err)"
end_all_servers

echo "the same where dense weights fill more than one exchange, which then begin while backward runs"
large=(--set model.layers.1.size=100)
serve "${parameter_server[@]}" "${large[@]}"
train large.served "${parameter_server[@]}" "${large[@]}"
end_all_servers
serve "${large[@]}" --checkpoint-dir large.checkpoints --set checkpoint.steps=5
train large "${large[@]}"
end_all_servers
same_models large.served large

echo "norms of all gradients together, and means of weights: the same, also of the checkpoints"
serve "${parameter_server[@]}" "${clipped[@]}"
train clipped.served "${parameter_server[@]}" "${clipped[@]}"
end_all_servers
serve "${clipped[@]}" "${checkpoints[@]}"
train clipped "${clipped[@]}"
end_all_servers
same_models clipped.served clipped
for model in checkpoints clipped/pass-00001; do
  ps-train $job --job predict --init-model "$model" --data train.txt --log-level warning | sha256sum >>predicted
done
[[ $(sort -u predicted | wc -l) == 1 ]] || fail "the last checkpoint is not that of the end"

# begin [flags...]: the job, slowly, until it has written a checkpoint; false when it has ended before.
begin() {
  local rank
  rm -rf checkpoints killed killed.*
  serve "${checkpoints[@]}" "${flags[@]}"
  for rank in 0 1 2; do start $rank killed "${flags[@]}" "$@"; done
  slowly "${trainers[0]}"
  until [[ -s checkpoints/LATEST ]]; do
    kill -0 "${trainers[@]}" 2>/dev/null || return 0
    sleep 0.02
  done
}

# kill_trainer RANK MODELS: and starts it again; the models are those.  False when the others have not gone back to a
# checkpoint.
kill_trainer() {
  begin
  kill -9 "${trainers[$1]}" 2>/dev/null || true
  wait "${trainers[$1]}" 2>/dev/null || true
  start "$1" killed "${flags[@]}"
  rm slow
  finish killed 0 0 1 2
  end_all_servers
  same_models "$2" killed
  grep -q 'going back to the last checkpoint' killed.$((($1 + 1) % 3)).err
}

echo "a trainer is killed and started again: all go back to the checkpoint, and have the same models"
until_true kill_trainer 2 hybrid
until_true kill_trainer 0 hybrid

echo "examples go from trainer to trainer, and the models are those of trainers that read all, also after a kill"
shuffled=(--set data.shuffle=global)
serve "${parameter_server[@]}" "${shuffled[@]}"
train all "${parameter_server[@]}" "${shuffled[@]}"
end_all_servers
serve "${shuffled[@]}"
train moved "${shuffled[@]}"
end_all_servers
same_models all moved
cmp -s {hybrid,moved}/pass-00001/model.safetensors && fail "the shuffle changes nothing"
expect_text moved.0.json '"example_bytes_sent":'
! grep example_bytes_sent all.0.json || fail "who reads all sends nothing"
flags=("${shuffled[@]}")
until_true kill_trainer 1 moved
flags=()
mkdir parts
split -n l/4 train.txt parts/
data=parts
serve "${shuffled[@]}"
train dealt "${shuffled[@]}"
end_all_servers
same_models moved dealt
data=train.txt

echo "the same with a token, and of gradients that travel as signs, whose residuals come back"
(umask 077 && printf 'train %064d\n' 1 >tokens)
flags=(--token-file tokens --set 'train.strategy.codec={"push": "one_bit", "pull": "int8_blocks"}')
serve "${flags[@]}"
train coded "${flags[@]}"
end_all_servers
cmp -s {hybrid,coded}/pass-00001/model.safetensors && fail "the codec changes nothing"
until_true kill_trainer 1 coded
flags=()

kill_all() {
  local rank
  begin
  kill -9 "${trainers[@]}" "${servers[@]}" 2>/dev/null || true
  wait "${trainers[@]}" "${servers[@]}" 2>/dev/null || true
  rm slow ports.*
  serve "${checkpoints[@]}" --resume
  train killed --resume
  end_all_servers
  same_models hybrid killed
  grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' killed.0.err
}

echo "all of it is killed, and goes on with --resume"
until_true kill_all

echo "SIGTERM to one ends all after the same step, and a trainer that does not come again is named"
end_one() {
  local status=0
  begin
  kill -TERM "${trainers[1]}" 2>/dev/null || true
  rm slow
  wait "${trainers[1]}" || status=$?
  wait "${trainers[0]}" "${trainers[2]}" || true
  trainers=()
  end_all_servers
  [[ $status == 143 && -n $(find killed -name 'pass-*-batch-*' -print -quit) ]]
}
until_true end_one
flags=("${shuffled[@]}")
until_true end_one
flags=()
# The timeout is also that of trainers that meet at the beginning, of which one is slow.
miss_one() {
  begin --set cluster.trainer_timeout=10
  kill -9 "${trainers[1]}" 2>/dev/null || true
  rm slow
  wait "${trainers[0]}" && { kill -9 "${servers[@]}"; rm ports.*; return 1; }
  finish killed 4 2
  expect_text killed.2.err 'rank 1 has not come'
  end_all_servers
}
until_true miss_one

echo "what cannot be is refused"
serverless=127.0.0.1:1
expect_status 2 ps-train $job --data train.txt --servers $serverless --trainers 3 --rank 0
expect_text err 'hybrid: 3 trainers add up dense gradients among themselves: give --peers HOST:PORT'
expect_status 2 ps-train $job --data train.txt --servers $serverless --peers "$address" --trainers 3 --rank 0 \
  --set cluster.on_trainer_loss=continue
expect_text err 'cannot go on without one'
expect_status 2 ps-train $job --data train.txt --servers $serverless --collective mpi --trainers 3 --rank 0
expect_text err 'would hear nothing of its servers'
expect_status 2 ps-train $job --data train.txt --peers "$address" --trainers 3 --rank 0
expect_text err '3 trainers need servers'
expect_status 2 ps-train $job --data train.txt --servers $serverless --role reader --compute 127.0.0.1:2
expect_text err 'readers and compute trainers with parameter_server alone'
