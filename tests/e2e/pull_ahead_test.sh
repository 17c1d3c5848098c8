#!/bin/bash
# Two servers and a trainer that pulls ahead, as a user runs them: its models are those of a trainer that waits for every
# step, bit for bit, for optimizers of every kind, and whatever is killed and started again.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
ahead=(--set train.pull_ahead=6)
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=7)
source "$PS_SOURCE/tests/e2e/lone_trainer_job.sh"
tests=(--test-data test.txt)
trainer_flags=("${tests[@]}")

ps-datagen sparse-binary --dim 3000 --samples 2010 --output train.txt
ps-datagen sparse-binary --dim 3000 --first 2010 --samples 300 --output test.txt

echo "the bits of a trainer that waits, for every kind of optimizer"
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
  train "waits.$number" "${flags[@]}" "${tests[@]}"
  end_all_servers
  serve "${flags[@]}" "${ahead[@]}"
  train "ahead.$number" "${flags[@]}" "${ahead[@]}" "${tests[@]}"
  end_all_servers
  same_models "waits.$number" "ahead.$number"
  same_figures "waits.$number" "ahead.$number"
done
cmp -s {waits.1,waits.2}/pass-00001/model.safetensors && fail "the optimizer changes nothing"
plain=waits.2
rm -f serve.?.err

flags=(--set "optimizer={\"type\": \"momentum\", \"momentum\": 0.9, \"learning_rate\": 0.01, \"l2\": 0.0001, $poly}" "${ahead[@]}")

# kill_trainer BATCHES: without checkpoints; another process goes on where all servers are.
kill_trainer() {
  local status=0
  begin killed.err ' Batch=' "$1" || status=1
  murder "$trainer"
  rm -f slow
  start killed "${flags[@]}"
  finish killed
  end_all_servers
  same_models "$plain" killed
  ((status == 0)) && grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' killed.err
}

echo "a trainer that is killed, in the first pass or in the second, is replaced: the same models, without checkpoints"
for batches in 17 64 140; do until_true kill_trainer $batches; done

echo "a server that is killed goes back to its checkpoint, and the trainer with it"
for server in 0 1; do
  until_true kill_server $server
  same_figures "$plain" killed
done

echo "all of it is killed, and goes on with --resume"
until_true kill_all

echo "what cannot be is refused, with the way out"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train job.json --data train.txt --servers 127.0.0.1:1 "${ahead[@]}" "$@"
  expect_text err "$text"
}
refused "pulls ahead with parameter_server alone" --set 'train.strategy={"type": "local_sgd", "period": 5}'
refused "'async', with which no step of a plain trainer waits" --set 'train.strategy={"type": "parameter_server", "consistency": "async"}'
refused "'staleness', with which" --set 'train.strategy={"type": "parameter_server", "consistency": "staleness", "staleness": 2}'
refused "train.strategy.codec rounds rows" --set train.strategy.codec=int8
refused "2 trainers push rows of which this one keeps copies" --trainers 2 --rank 0
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
