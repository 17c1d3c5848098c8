#!/bin/bash
# Two servers and a trainer that trains their sparse rows in a small cache on a device: its models and its checkpoints are
# those of a trainer without a device, bit for bit, whatever is killed and started again.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
servers=() trainer=                   # process ids
# A batch has some 200 keys of each table: some buckets of 256 rows are too full for one round.
cache=(--device emulated --set device.rows=256)
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=4)
trap 'kill -9 "${servers[@]}" $trainer 2>/dev/null || true; rm -rf "$scratch"' EXIT

# serve [flags...]: both servers, on the ports that they had before, if any.
serve() {
  local s
  for s in 0 1; do serve_one $s "$@"; done
  addresses=127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)
}

# serve_one S [flags...]: server number S.
serve_one() {
  local s=$1 port
  shift
  if [[ -s ports.$s ]]; then port=$(head -1 "ports.$s"); else port=$(free_ports 2); fi
  rm -f "ready.$s"
  mkfifo "ready.$s"
  ps-serve job.json --host 127.0.0.1 --port "$port" --port-file "ports.$s" --ports-num 1 --ports-num-for-sparse 1 "$@" \
    >"ready.$s" 2>>"serve.$s.err" &
  servers[s]=$!
  timeout 60 head -1 "ready.$s" >"serve.$s.out" || true
  [[ -s serve.$s.out ]] || fail "server $s: $(cat "serve.$s.err")"
}

# start FOLDER [flags...]: the trainer.
start() {
  local folder=$1
  shift
  ps-train job.json --data train.txt --servers "$addresses" --save-dir "$folder" --json "$@" >"$folder.json" 2>>"$folder.err" &
  trainer=$!
}

# finish FOLDER: it ends well.
finish() {
  wait "$trainer" || fail "the trainer ended with $?: $(tail -n 5 "$1.err")"
  trainer=
}

train() {
  start "$@"
  finish "$1"
}

# same_models FOLDER OTHER: of all passes.
same_models() {
  local pass
  for pass in 0 1; do
    cmp "$1/pass-0000$pass/model.safetensors" "$2/pass-0000$pass/model.safetensors" || fail "another model: $2"
  done
}

# same_checkpoints FOLDER OTHER: the files of all shards are the same in the newest, but for the first shard's, which has the
# trainer's times.
same_checkpoints() {
  local newest file
  newest=$(cut -d' ' -f1 "$1/LATEST")
  [[ $newest == "$(cut -d' ' -f1 "$2/LATEST")" ]] || fail "checkpoints: $(cat "$1/LATEST" "$2/LATEST")"
  for file in "$1/$newest"/{rows,dense,shard-d-1}-*.psc; do
    cmp "$file" "$2/$newest/${file##*/}" || fail "another checkpoint: $2/$newest"
  done
  ps-ckpt2model "$1" --diff "$2" >diff.txt || { cat diff.txt; fail "$1 and $2 differ"; }
}

figures() { grep -o '"samples":[0-9]*,"avg_cost":[^,]*\|"cost":[0-9.]*' "$1"; }
count() { grep -o "\"rows_$1\":[0-9]*" "$2" | cut -d: -f2; }

# Two sparse tables, one of them with rows in every batch; rows that are trained whole, matrices, and running means.
cat >job.json <<'JSON'
{
  "job": {"name": "lent"},
  "data": {"format": "paddle_sparse_binary", "dim": 3000, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "wide", "type": "fc", "input": "features", "size": 2, "sparse_update": true},
      {"name": "vectors", "type": "embedding", "input": "features", "size": 5, "sparse_update": true},
      {"name": "deep", "type": "fc", "input": "features", "size": 4, "activation": "tanh"},
      {"name": "normal", "type": "batch_norm", "input": "deep"},
      {"name": "output", "type": "fc", "input": ["wide", "vectors", "normal"], "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "momentum", "momentum": 0.9, "learning_rate": 0.01, "l2": 0.0001},
  "train": {"passes": 2, "log_period": 1},
  "cluster": {"server_timeout": 30, "trainer_timeout": 30}
}
JSON
ps-datagen sparse-binary --dim 3000 --samples 250 --output train.txt
ps-datagen sparse-binary --dim 3000 --first 250 --samples 100 --output test.txt
tests=(--test-data test.txt)

echo "the bits of a trainer without a device, for every kind of optimizer"
poly='"schedule": {"type": "poly", "a": 0.01, "b": 0.5}'
number=0
for optimizer in \
  '{"type": "sgd", "learning_rate": 0.05, "l1": 0.0001, '"$poly"'}' \
  '{"type": "momentum", "momentum": 0.9, "learning_rate": 0.01, "l2": 0.0001, '"$poly"'}' \
  '{"type": "adagrad", "learning_rate": 0.05}' \
  '{"type": "adam", "learning_rate": 0.01, "l2": 0.0001, "clip_norm": 0.1, '"$poly"'}' \
  '{"type": "momentum", "momentum": 0.9, "learning_rate": 0.05, "clip_global_norm": 0.3}'; do
  ((++number))
  flags=(--set "optimizer=$optimizer")
  for device in plain device; do
    serve "${flags[@]}" --checkpoint-dir $device.checkpoints.$number --set checkpoint.steps=5
    if [[ $device == plain ]]; then
      train plain.$number "${flags[@]}" "${tests[@]}"
    else
      train device.$number "${flags[@]}" "${tests[@]}" "${cache[@]}"
    fi
    end_all_servers
  done
  same_models plain.$number device.$number
  [[ $(figures plain.$number.json) == "$(figures device.$number.json)" ]] || fail "figures: $(cat device.$number.json)"
  same_checkpoints {plain,device}.checkpoints.$number
  [[ $(count evicted device.$number.json) -gt 1000 ]] || fail "evicted: $(cat device.$number.json)"
done
cmp -s {plain.1,plain.2}/pass-00001/model.safetensors && fail "the optimizer changes nothing"

flags=(--set "optimizer={\"type\": \"momentum\", \"momentum\": 0.9, \"learning_rate\": 0.01, \"l2\": 0.0001, $poly}")
plain=plain.2
rm -f serve.?.err

# until_true COMMAND...: runs it, in slower and slower jobs, until it is true.
until_true() {
  for halt in 0.02 0.05 0.1 0.2; do ! "$@" || return 0; done
  fail "it never came about: $*"
}

# begin FILE TEXT COUNT [server flags...]: the job on a device, slowly, until the file has so many lines with the text; false
# when it has ended before.
begin() {
  local file=$1 text=$2 count=$3 status=0
  shift 3
  rm -rf checkpoints killed killed.* serve.?.err
  touch serve.0.err killed.err
  serve "${flags[@]}" "$@"
  start killed "${flags[@]}" "${cache[@]}"
  slowly "$trainer"
  timeout 60 grep -m"$count" -- "$text" <(tail -n +1 -F --pid="$trainer" "$file" 2>/dev/null) >awaited || true
  (($(wc -l <awaited) == count)) && kill -0 "$trainer" 2>/dev/null || status=1
  return $status
}

murder() {
  kill -9 "$@" 2>/dev/null || true
  wait "$@" 2>/dev/null || true
}

# kill_trainer BATCHES [flags...]: its rows are lost, and the servers go back with the process that takes its place.
kill_trainer() {
  local status=0
  begin killed.err ' Batch=' "$1" "${checkpoints[@]}" || status=1
  murder "$trainer"
  rm -f slow
  start killed "${flags[@]}" "${@:2}"
  finish killed
  end_all_servers
  same_models $plain killed
  ((status == 0)) && grep -q 'going back to the last checkpoint: rows on a device were lost' killed.err
}

echo "a trainer that is killed, in the first pass or in the second, is replaced by one with or without a device: the same models"
until_true kill_trainer 3 "${cache[@]}"
until_true kill_trainer 19

# kill_server S: whose checkpoints are gone on from.
kill_server() {
  local status=0
  begin serve.0.err 'Checkpoint at step ' 2 "${checkpoints[@]}" || status=1
  murder "${servers[$1]}"
  serve_one "$1" "${flags[@]}" "${checkpoints[@]}" --resume
  rm -f slow
  finish killed
  end_all_servers
  same_models $plain killed
  ((status == 0)) && grep -q 'going back to the last checkpoint' killed.err
}

echo "a server that is killed goes back to its checkpoint, and the trainer with it"
until_true kill_server 0

# kill_logging S: a server that keeps a log, of rows that came back too, has lost nothing.
kill_logging() {
  local status=0
  begin killed.err ' Batch=' 10 "${checkpoints[@]}" --durability log || status=1
  murder "${servers[$1]}"
  serve_one "$1" "${flags[@]}" "${checkpoints[@]}" --durability log --resume
  rm -f slow
  finish killed
  end_all_servers
  same_models $plain killed
  ! grep -q 'going back' killed.err || fail "the trainer went back, and the servers have logs"
  ((status == 0)) && grep -q 'Taking the run up' "serve.$1.err"
}

echo "a server that is killed and has a log goes on where it was"
until_true kill_logging 1

# kill_all [flags of the new trainer...]: it goes on with or without a device.
kill_all() {
  local status=0
  begin serve.0.err 'Checkpoint at step ' 2 "${checkpoints[@]}" || status=1
  murder "$trainer" "${servers[@]}"
  rm -f slow ports.*
  serve "${flags[@]}" "${checkpoints[@]}" --resume
  train killed "${flags[@]}" --resume "$@"
  end_all_servers
  cmp $plain/pass-00001/model.safetensors killed/pass-00001/model.safetensors || fail "another model"
  ((status == 0)) && grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' killed.err
}

echo "all of it is killed, and goes on with --resume, on a device or on none"
until_true kill_all "${cache[@]}"
until_true kill_all

# lose_rows: there is no checkpoint to go back to.
lose_rows() {
  local status=0
  begin killed.err ' Batch=' 5 || status=1
  murder "$trainer"
  rm -f slow
  if ((status == 0)); then
    expect_status 4 timeout 60 ps-train job.json --data train.txt --servers "$addresses" --save-dir '' "${flags[@]}" "${cache[@]}"
    expect_text err 'rows on a device were lost with the process before this one'
    expect_text err 'give them --checkpoint-dir'
  fi
  end_all_servers
  return $status
}

echo "without checkpoints, rows that were lost with a trainer are named"
until_true lose_rows

echo "what cannot be is refused, with the way out"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train job.json --data train.txt --servers 127.0.0.1:1 "${cache[@]}" "$@"
  expect_text err "$text"
}
refused "parameter_server alone" --set 'train.strategy={"type": "local_sgd", "period": 5}'
refused "parameter_server alone" --set 'train.strategy={"type": "hybrid"}'
refused "is 'async', and rows on a device are in step" --set 'train.strategy={"type": "parameter_server", "consistency": "async"}'
refused "is 'staleness', and rows on a device are in step" \
  --set 'train.strategy={"type": "parameter_server", "consistency": "staleness", "staleness": 2}'
refused "train.strategy.codec rounds rows" --set train.strategy.codec=int8
refused "2 trainers exchange rows" --trainers 2 --rank 0
refused "train.pull_ahead is 4" --set train.pull_ahead=4
refused "--role reader has no rows of its own" --role reader --compute 127.0.0.1:2
echo passed
