#!/bin/bash
# Two servers, and several trainers that add up dense gradients among themselves and train the rows of the servers in small
# caches on devices, each the rows that it owns: models, checkpoints, and what comes of kills are those of trainers
# without devices, bit for bit.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
tested=${TEST_DEVICE:-emulated} # cuda:0 on a machine that has a GPU
# Each trainer owns a third of some 500 keys of a step: some buckets are too full for one round.
cache=(--device "$tested" --set device.rows=128)
servers=() trainers=() # process ids
flags=()               # of all processes
number=3               # of trainers
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=4)
trap 'kill -9 "${servers[@]}" "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# An address of this test alone: nobody else has this one of the loopback network's.
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

# serve [flags...]: both servers; $addresses names them.
serve() {
  begin_two_servers job.json --ports-num 2 "${flags[@]}" "$@"
  addresses=127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)
}

# start RANK FOLDER [flags...]: one of the trainers.
start() {
  local rank=$1 folder=$2
  shift 2
  ps-train job.json --data train.txt --servers "$addresses" --peers "$address" --trainers "$number" --rank "$rank" \
    --save-dir "$folder" --json "${flags[@]}" "$@" >"$folder.$rank.json" 2>>"$folder.$rank.err" &
  trainers[rank]=$!
}

# finish FOLDER: all trainers end well.
finish() {
  local rank
  for rank in "${!trainers[@]}"; do
    wait "${trainers[rank]}" || fail "trainer $rank ended with $?: $(tail -n 5 "$1".?.err)"
  done
  trainers=()
}

# train FOLDER [flags...]: all trainers, to the end.
train() {
  local rank
  for ((rank = 0; rank < number; ++rank)); do start $rank "$@"; done
  finish "$1"
}

# run FOLDER [flags...]: a whole job, whose servers write the folder's checkpoints.
run() {
  rm -f serve.?.err
  serve --checkpoint-dir "$1.checkpoints" --set checkpoint.steps=5
  train "$@"
  end_all_servers
}

same_models() {
  local pass
  for pass in 0 1; do cmp "$1/pass-0000$pass/model.safetensors" "$2/pass-0000$pass/model.safetensors" || fail "another model: $2"; done
}

# same_checkpoints FOLDER OTHER: rows, dense parameters and all states that are not those of single trainers.
same_checkpoints() {
  local newest file
  newest=$(cut -d' ' -f1 "$1/LATEST")
  [[ $newest == "$(cut -d' ' -f1 "$2/LATEST")" ]] || fail "checkpoints: $(cat "$1/LATEST" "$2/LATEST")"
  for file in "$1/$newest"/{rows,dense}-*.psc; do
    cmp "$file" "$2/$newest/${file##*/}" || fail "another checkpoint: $2/$newest"
  done
  ps-ckpt2model "$1" --diff "$2" >diff.txt || { cat diff.txt; fail "$1 and $2 differ"; }
}

reports() { grep -o '"waiting":[0-9]*,"created":[0-9]*,"expired":[0-9]*,"evicted":[0-9]*,"refused":[0-9]*' "$1"; }
figures() { grep -o '"samples":[0-9]*,"avg_cost":[^,]*,"evaluators":{[^}]*}' "$1"; }
count() { grep -o "\"rows_$1\":[0-9]*" "$2" | cut -d: -f2; }

# Two sparse tables; rows that are trained whole, matrices, and running means.
cat >job.json <<'JSON'
{
  "job": {"name": "owners"},
  "data": {"format": "paddle_sparse_binary", "dim": 3000, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "wide", "type": "fc", "input": "features", "size": 2, "sparse_update": true},
      {"name": "embedding", "type": "embedding", "input": "features", "size": 3, "sparse_update": true},
      {"name": "deep", "type": "fc", "input": "features", "size": 4, "activation": "tanh"},
      {"name": "normal", "type": "batch_norm", "input": "deep"},
      {"name": "output", "type": "fc", "input": ["wide", "embedding", "normal"], "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adam", "learning_rate": 0.01, "l2": 0.0001},
  "train": {"passes": 2, "log_period": 1, "strategy": {"type": "hybrid"}},
  "cluster": {"server_timeout": 20, "trainer_timeout": 20}
}
JSON
ps-datagen sparse-binary --dim 3000 --samples 450 --nnz 6:14 --output train.txt

served=(--set 'train.strategy={"type": "parameter_server"}')
averaging='{"type": "momentum", "momentum": 0.9, "learning_rate": 0.01, "l2": 0.0001, "average": {"begin_step": 6}}'
clipped='{"type": "momentum", "momentum": 0.9, "learning_rate": 0.05, "clip_global_norm": 0.3}'

echo "the bits of servers, and those of trainers without devices: 3 trainers"
flags=("${served[@]}")
run served
flags=()
run plain
run device "${cache[@]}"
for other in plain device; do
  same_models served $other
  [[ $(figures served.0.json) == "$(figures $other.0.json)" ]] || fail "figures: $(cat $other.0.json)"
done
same_checkpoints plain.checkpoints device.checkpoints
[[ $(count evicted device.0.json) -gt 100 ]] || fail "evicted: $(cat device.0.json)"

echo "2 trainers with two devices each, clipped by the norm of all gradients"
number=2 flags=("${served[@]}" --set "optimizer=$clipped")
run served.2
flags=(--set "optimizer=$clipped")
run device.2 --device emulated:0,emulated:1 --set device.rows=256
same_models served.2 device.2
cmp -s {served,served.2}/pass-00001/model.safetensors && fail "clipping changes nothing"
number=3

echo "dense gradients that are exchanged in several groups while backward still runs, and a trainer with fewer batches"
flags=(--set model.layers.2.size=300)
run plain.5
run device.5 "${cache[@]}"
same_models plain.5 device.5
flags=()

policy=(--set "optimizer=$averaging")
rows='{"rows": {"admission": {"count": 2}, "decay": 0.5, "expire": {"unseen": 1}, "shrink_steps": 2, "limit": 256, "when_full": "evict"}}'
for layer in 0 1; do policy+=(--set "model.layers.$layer.weight=$rows"); done
flags=("${policy[@]}" "${served[@]}")
run served.3
flags=("${policy[@]}")
# A device multiplies dense matrices with other roundings than the processor.
run model.3 --device "$tested" --set device.trains=model
for trains in rows all; do
  echo "means of weights, rows that come and go by a policy, and devices that train $trains"
  run device.3.$trains "${cache[@]}" --set device.trains=$trains
  [[ $trains == rows ]] && plain=served.3 || plain=model.3
  same_models $plain device.3.$trains
  [[ $(reports $plain.0.json) == "$(reports device.3.$trains.0.json)" ]] || fail "rows: $(cat device.3.$trains.0.json)"
  grep -q '"expired":[1-9]' device.3.$trains.0.json || fail "no row expired: $(cat device.3.$trains.0.json)"
  grep -q '"evicted":[1-9]' device.3.$trains.0.json || fail "no table was full: $(cat device.3.$trains.0.json)"
done
flags=()

echo "examples that go from trainer to trainer: the bits of trainers without devices"
flags=(--set data.shuffle=global)
run plain.4
run device.4 "${cache[@]}"
same_models plain.4 device.4
cmp -s {plain,plain.4}/pass-00001/model.safetensors && fail "the shuffle changes nothing"
flags=()

# begin [flags...]: the job, slowly, until it has written a checkpoint.
begin() {
  local rank
  rm -rf checkpoints killed killed.*
  serve "${checkpoints[@]}"
  for rank in 0 1 2; do start $rank killed "$@"; done
  slowly "${trainers[0]}"
  until [[ -s checkpoints/LATEST ]]; do
    kill -0 "${trainers[@]}" 2>/dev/null || return 0
    sleep 0.02
  done
}

# kill_trainer RANK: and starts it again.  False when the others have not gone back to a checkpoint.
kill_trainer() {
  begin "${cache[@]}"
  kill -9 "${trainers[$1]}" 2>/dev/null || true
  wait "${trainers[$1]}" 2>/dev/null || true
  start "$1" killed "${cache[@]}"
  rm slow
  finish killed
  end_all_servers
  same_models served killed
  grep -q 'going back to the last checkpoint' killed.$((($1 + 1) % 3)).err
}

echo "a trainer is killed, and its rows are lost: all go back to the checkpoint, and have the same models"
until_true kill_trainer 1
until_true kill_trainer 0

# kill_all [flags...]: all of it is killed, and resumed with these flags.
kill_all() {
  begin "${cache[@]}"
  kill -9 "${trainers[@]}" "${servers[@]}" 2>/dev/null || true
  wait "${trainers[@]}" "${servers[@]}" 2>/dev/null || true
  rm slow ports.*
  serve "${checkpoints[@]}" --resume
  train killed --resume "$@"
  end_all_servers
  same_models served killed
  grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' killed.0.err
}

echo "all of it is killed, and goes on with --resume, on devices or without any"
until_true kill_all "${cache[@]}"
until_true kill_all

# kill_servers: both keep a log, of rows that came back too, and have lost nothing.
kill_servers() {
  rm -f serve.?.err
  begin "${cache[@]}"
  kill -9 "${servers[@]}" 2>/dev/null || true
  wait "${servers[@]}" 2>/dev/null || true
  serve "${checkpoints[@]}" --resume
  rm slow
  finish killed
  end_all_servers
  same_models served killed
  ! grep -q 'going back' killed.?.err || fail "the trainers went back, and the servers have logs"
  grep -q 'Taking the run up' serve.0.err
}

echo "servers that are killed and have logs go on where they were, and so do the trainers with their rows"
checkpoints+=(--durability log)
until_true kill_servers
checkpoints=("${checkpoints[@]:0:4}")

# end_one: SIGTERM to one trainer ends all after the same step, and the model that is saved is what the servers then have.
end_one() {
  local status=0 model
  begin "${cache[@]}"
  kill -TERM "${trainers[1]}" 2>/dev/null || true
  rm slow
  wait "${trainers[1]}" || status=$?
  wait "${trainers[0]}" "${trainers[2]}" || true
  trainers=()
  model=$(find killed -maxdepth 1 -name 'pass-*-batch-*' -print -quit)
  [[ $status == 143 && -n $model ]] || { end_all_servers && return 1; }
  ps-train job.json --job predict --init-model "$model" --data train.txt --log-level warning >predicted ||
    fail "the saved model does not predict"
  end_all_servers
  [[ $(wc -l <predicted) == 450 ]] || fail "predictions: $(wc -l <predicted)"
}

echo "SIGTERM to one trainer ends all, and a model is saved"
until_true end_one

# end_without_servers: SIGTERM to all trainers, while servers do not answer: nobody can give the rows of this pass back.
end_without_servers() {
  local rank statuses=()
  rm -rf killed killed.*
  serve
  for rank in 0 1 2; do start $rank killed "${cache[@]}" --set data.batch_size=5; done
  slowly "${trainers[0]}"
  until grep -q 'Batch=' killed.0.err; do
    kill -0 "${trainers[0]}" 2>/dev/null || break
    sleep 0.02
  done
  kill -STOP "${servers[@]}"
  kill -TERM "${trainers[@]}" 2>/dev/null || true
  rm slow
  # Each ends when it has waited for servers, or when it finds that another one has left.
  for rank in 0 1 2; do
    statuses[rank]=0
    wait "${trainers[rank]}" || statuses[rank]=$?
    [[ ${statuses[rank]} == @(0|143) ]] || fail "trainer $rank ended with ${statuses[rank]}: $(tail -n 3 killed.$rank.err)"
  done
  trainers=()
  kill -CONT "${servers[@]}"
  end_all_servers
  [[ ${statuses[*]} == "143 143 143" ]] || return 1 # the job was done before
  grep -q 'No model is saved: rows are on devices of trainers that have ended otherwise' killed.0.err || return 1
  [[ -z $(find killed -name model.safetensors 2>/dev/null) ]] || fail "a model without all rows: $(find killed)"
}

echo "a run that ends while rows cannot come back saves no model, and says so"
until_true end_without_servers

# only_some RANK: trainers of which that one alone has a device.
only_some() {
  local rank status
  rm -f some.*
  serve
  for rank in 0 1 2; do
    if [[ $rank == "$1" ]]; then start $rank some "${cache[@]}"; else start $rank some; fi
  done
  for rank in 0 1 2; do
    status=0
    wait "${trainers[rank]}" || status=$?
    [[ $status == 2 ]] || fail "trainer $rank of a job with some devices ended with $status: $(cat some.$rank.err)"
  done
  trainers=()
  end_all_servers
}

echo "a job of which only some trainers have a device ends at once"
only_some 1
for rank in 0 1 2; do
  expect_text some.$rank.err "trainer 1 has rows on a device, and trainer 0 none: give --device to all trainers"
done

echo "what cannot be is refused, with the way out"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train job.json --data train.txt --servers 127.0.0.1:1 --peers "$address" --trainers 2 --rank 0 \
    "${cache[@]}" "$@"
  expect_text err "$text"
}
refused "train with servers and train.strategy hybrid alone" "${served[@]}"
refused "train.strategy.codec rounds rows" --set train.strategy.codec=int8
expect_status 2 timeout 60 ps-train job.json --data train.txt --servers 127.0.0.1:1 "${cache[@]}" \
  --set 'train.strategy={"type": "local_sgd", "period": 5}'
expect_text err "a device trains rows of servers with parameter_server or hybrid alone"
echo passed
