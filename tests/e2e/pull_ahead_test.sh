#!/bin/bash
# Two servers and a trainer that pulls ahead, as a user runs them: its models are those of a trainer that waits for every
# step, bit for bit, for optimizers of every kind, and whatever is killed and started again.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
servers=() trainer=                   # process ids
ahead=(--set train.pull_ahead=6)
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=7)
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
  ps-train job.json --data train.txt --test-data test.txt --servers "$addresses" --save-dir "$folder" --json "$@" \
    >"$folder.json" 2>>"$folder.err" &
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

# same_models FOLDER OTHER: of all passes, and their figures and tests.
same_models() {
  local pass
  for pass in 0 1; do cmp "$1/pass-0000$pass/model.safetensors" "$2/pass-0000$pass/model.safetensors" || fail "another model: $2"; done
  [[ $(figures "$1.json") == "$(figures "$2.json")" ]] || fail "other figures: $2"
}

figures() { grep -o '"samples":[0-9]*,"avg_cost":[^,]*\|"cost":[0-9.]*' "$1"; }

# Two sparse tables, one of them with rows in every batch; rows that are trained whole, matrices, and running means.
cat >job.json <<'JSON'
{
  "job": {"name": "ahead"},
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
ps-datagen sparse-binary --dim 3000 --samples 2010 --output train.txt
ps-datagen sparse-binary --dim 3000 --first 2010 --samples 300 --output test.txt

echo "the bits of a trainer that waits, for every kind of optimizer"
poly='"schedule": {"type": "poly", "a": 0.01, "b": 0.5}'
number=0
for optimizer in \
  '{"type": "sgd", "learning_rate": 0.05, "l1": 0.0001, '"$poly"'}' \
  '{"type": "momentum", "momentum": 0.9, "learning_rate": 0.01, "l2": 0.0001, '"$poly"'}' \
  '{"type": "adagrad", "learning_rate": 0.05, "l2": 0.0001}' \
  '{"type": "adam", "learning_rate": 0.01, "l2": 0.0001, '"$poly"'}' \
  '{"type": "momentum", "momentum": 0.9, "learning_rate": 0.05, "clip_global_norm": 1, "average": {"begin_step": 10}}'; do
  ((++number))
  flags=(--set "optimizer=$optimizer")
  serve "${flags[@]}"
  train "waits.$number" "${flags[@]}"
  end_all_servers
  serve "${flags[@]}" "${ahead[@]}"
  train "ahead.$number" "${flags[@]}" "${ahead[@]}"
  end_all_servers
  same_models "waits.$number" "ahead.$number"
done
cmp -s {waits.1,waits.2}/pass-00001/model.safetensors && fail "the optimizer changes nothing"
waits=waits.2
rm -f serve.?.err

# until_true COMMAND...: runs it, in slower and slower jobs, until it is true.
until_true() {
  for halt in 0.02 0.05 0.1 0.2; do ! "$@" || return 0; done
  fail "it never came about: $*"
}
flags=(--set "optimizer={\"type\": \"momentum\", \"momentum\": 0.9, \"learning_rate\": 0.01, \"l2\": 0.0001, $poly}" "${ahead[@]}")

# begin FILE TEXT COUNT [server flags...]: the job, slowly, until the file has so many lines with the text; false when it
# has ended before.
begin() {
  local file=$1 text=$2 count=$3 status=0
  shift 3
  rm -rf checkpoints killed killed.* serve.?.err
  touch serve.0.err killed.err
  serve "${flags[@]}" "$@"
  start killed "${flags[@]}"
  slowly "$trainer"
  timeout 60 grep -m"$count" -- "$text" <(tail -n +1 -F --pid="$trainer" "$file" 2>/dev/null) >awaited || true
  (($(wc -l <awaited) == count)) && kill -0 "$trainer" 2>/dev/null || status=1
  return $status
}

murder() {
  kill -9 "$@" 2>/dev/null || true
  wait "$@" 2>/dev/null || true
}

# kill_trainer BATCHES: without checkpoints; another process goes on where all servers are.
kill_trainer() {
  local status=0
  begin killed.err ' Batch=' "$1" || status=1
  murder "$trainer"
  rm -f slow
  start killed "${flags[@]}"
  finish killed
  end_all_servers
  for pass in 0 1; do
    cmp $waits/pass-0000$pass/model.safetensors killed/pass-0000$pass/model.safetensors || fail "another model"
  done
  ((status == 0)) && grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' killed.err
}

echo "a trainer that is killed, in the first pass or in the second, is replaced: the same models, without checkpoints"
for batches in 17 64 140; do until_true kill_trainer $batches; done

# kill_server S: whose checkpoints are gone on from.
kill_server() {
  local status=0
  begin serve.0.err 'Checkpoint at step ' 2 "${checkpoints[@]}" || status=1
  murder "${servers[$1]}"
  serve_one "$1" "${flags[@]}" "${checkpoints[@]}" --resume
  rm -f slow
  finish killed
  end_all_servers
  same_models $waits killed
  ((status == 0)) && grep -q 'going back to the last checkpoint' killed.err
}

echo "a server that is killed goes back to its checkpoint, and the trainer with it"
until_true kill_server 0
until_true kill_server 1

kill_all() {
  local status=0
  begin serve.0.err 'Checkpoint at step ' 2 "${checkpoints[@]}" || status=1
  murder "$trainer" "${servers[@]}"
  rm -f slow ports.*
  serve "${flags[@]}" "${checkpoints[@]}" --resume
  train killed "${flags[@]}" --resume
  end_all_servers
  cmp $waits/pass-00001/model.safetensors killed/pass-00001/model.safetensors || fail "another model"
  ((status == 0)) && grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' killed.err
}

echo "all of it is killed, and goes on with --resume"
until_true kill_all

echo "what cannot be is refused, with the way out"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train job.json --data train.txt --servers 127.0.0.1:1 "${ahead[@]}" "$@"
  expect_text err "$text"
}
refused "parameter_server alone pulls ahead" --set 'train.strategy={"type": "local_sgd", "period": 5}'
refused "'async', with which no step waits anyway" --set 'train.strategy={"type": "parameter_server", "consistency": "async"}'
refused "'staleness', with which" --set 'train.strategy={"type": "parameter_server", "consistency": "staleness", "staleness": 2}'
refused "train.strategy.codec rounds rows" --set train.strategy.codec=int8
refused "2 trainers push rows of which this one keeps copies" --trainers 2 --rank 0
refused "--role reader leaves the dense part" --role reader --compute 127.0.0.1:2
refused "train.pull_ahead" --set train.pull_ahead=-1
expect_status 2 timeout 60 ps-serve job.json --port 0 "${ahead[@]}" --set train.strategy.codec=int8
expect_text err "train.strategy.codec rounds rows"

echo "servers that were not told are named, and rows that come and go are not pulled ahead"
serve
expect_status 2 timeout 60 ps-train job.json --data train.txt --servers "$addresses" --save-dir '' "${ahead[@]}"
expect_text err 'train.pull_ahead is 6, not absent'
end_all_servers
rows=(--set 'model.layers.0.weight.rows={"expire": {"unseen": 2}}')
serve "${ahead[@]}" "${rows[@]}"
expect_status 2 timeout 60 ps-train job.json --data train.txt --servers "$addresses" --save-dir '' "${ahead[@]}" "${rows[@]}"
expect_text err 'come and go by a policy of the servers'
end_all_servers
echo passed
