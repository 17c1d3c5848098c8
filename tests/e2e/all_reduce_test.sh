#!/bin/bash
# Trainers without servers, as a user runs them: the model is that of servers, bit for bit, under a shell loop; under
# mpirun; after a kill; and every trainer names the one that is gone, silent, missing, or of another job.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
source "$PS_SOURCE/tests/e2e/peers_job.sh"
job=job.json

# Rows of an embedding that is trained whole, matrices, running means, and norms over all of them.
cat >job.json <<'JSON'
{
  "job": {"name": "dense"},
  "data": {"format": "paddle_sparse_binary", "dim": 1000, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "hidden", "type": "fc", "input": "features", "size": 8, "activation": "tanh"},
      {"name": "normal", "type": "batch_norm", "input": "hidden"},
      {"name": "output", "type": "fc", "input": "normal", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "momentum", "momentum": 0.9, "learning_rate": 0.05, "l2": 0.0001, "clip_global_norm": 1},
  "train": {"passes": 2, "log_period": 0, "strategy": {"type": "all_reduce"}}
}
JSON
ps-datagen sparse-binary --dim 1000 --samples 2010 --output train.txt

# serve_and_train NAME [flags...]: three trainers with a server, to the end.
serve_and_train() {
  local name=$1 server
  shift
  rm -f ready port
  mkfifo ready
  ps-serve job.json --set train.strategy.type=parameter_server "$@" --host 127.0.0.1 --port 0 --port-file port >ready 2>serve.err &
  server=$!
  head -1 ready >/dev/null
  start "$name" "0 1 2" --set train.strategy.type=parameter_server --servers "127.0.0.1:$(head -1 port)" "$@"
  end_all "$name" 0
  kill -TERM $server
  wait $server
}

echo "three trainers have the model that they would have with servers, bit for bit, whatever the algorithm"
serve_and_train served
for algorithm in auto direct chain server; do
  train "$algorithm" --set "train.strategy.algorithm=$algorithm"
  for pass in 0 1; do cmp {served,"$algorithm"}/pass-0000$pass/model.safetensors; done
done

echo "so have they when weights fill more than one exchange, which then begin while backward runs"
large=(--set model.layers.0.size=300 --set train.passes=1)
serve_and_train large.served "${large[@]}"
train large "${large[@]}"
cmp large{.served,}/pass-00000/model.safetensors

echo "where the algorithm is named, they send the same bytes when a device trains the model"
train device --set train.strategy.algorithm=chain --device emulated --set device.trains=model
sent=$(number bytes_sent chain.0.json)
[[ $sent == "$(number bytes_sent device.0.json)" ]] || fail "not $sent bytes: $(cat device.0.json)"

echo "layers that are divided over trainers give the model of layers that are not, to rounding"
wide='model.layers=[
  {"name": "hidden", "type": "fc", "input": "features", "size": 8, "activation": "tanh"},
  {"name": "wide", "type": "fc", "input": "hidden", "size": 70, "activation": "tanh"},
  {"name": "output", "type": "fc", "input": "wide", "size": 2, "activation": "softmax"}]'
divided=(--set "$wide" --set model.layers.1.parallel=model --set model.layers.2.parallel=model)
train whole --set "$wide"
train divided "${divided[@]}" --checkpoint-dir divided.checkpoints --set checkpoint.steps=7
for model in whole divided; do
  ps-train job.json --job test --data train.txt --json "${divided[@]}" --init-model $model/pass-00001 >$model.tested 2>err || fail "$(cat err)"
done
awk -v a="$(number cost whole.tested)" -v b="$(number cost divided.tested)" 'BEGIN { exit !(a > 0.1 && a - b < 1e-4 && b - a < 1e-4) }' ||
  fail "another model: $(cat whole.tested divided.tested)"
predictions() { ps-train job.json --job predict --data train.txt --log-level warning "${divided[@]}" --init-model "$1" | sha256sum; }
[[ $(predictions divided/pass-00001) == "$(predictions divided.checkpoints)" ]] || fail "the last checkpoint is another model"
start refused "0 1 2" "${divided[@]}" --set 'train.strategy={"type": "post_local_sgd", "k_steps": 4}'
end_all refused 2
expect_text refused.0.err "'wide.weight' is divided over 3 trainers"

echo "with a token they have the same model, and one with another token is refused by all"
(umask 077 && printf 'train %064d\n' 1 >tokens && printf 'train %064d\n' 2 >others)
train guarded --token-file tokens
cmp {served,guarded}/pass-00001/model.safetensors
start stranger "0 1" --token-file tokens
ps-train job.json --data train.txt --peers "$address" --trainers 3 --rank 2 --save-dir stranger --token-file others \
  2>stranger.2.err && fail "a stranger trained"
[[ $? == 7 ]] || fail "$(cat stranger.2.err)"
# One may hear that another is gone before it is killed itself.
kill -9 "${processes[@]}" 2>/dev/null || true
wait "${processes[@]}" 2>/dev/null || true
processes=()

echo "over several connections to each other they have the same bits, and all must have the same number of them"
self_signed peers "IP:${address%:*},IP:127.0.0.1"
encrypted=(--tls-cert peers.crt --tls-key peers.key --tls-ca peers.crt)
train over.2 "${large[@]}" --set cluster.connections=2 "${encrypted[@]}"
train over.4 "${large[@]}" --set cluster.connections=4 --token-file tokens
for connections in 2 4; do cmp {large,"over.$connections"}/pass-00000/model.safetensors; done
start unequal "0 2" --set cluster.connections=2 --set cluster.trainer_timeout=4
others=("${processes[@]}")
start unequal 1 --set cluster.trainer_timeout=4
end_all unequal 2
processes=("${others[@]}")
end_all unequal 4
expect_text unequal.1.err 'rank 1 has 4 connections, of which it measures how many to use, to each other rank, expected 2 connections'
for rank in 0 2; do expect_text unequal.$rank.err 'rank 1 has not come within 4 s'; done

[[ ! -s auto.1.json && ! -s auto.2.json ]] || fail "a trainer beside the first wrote to standard output"
samples=$(grep -o '"samples":[0-9]*' auto.0.json | sort -u)
[[ $samples == '"samples":2010' ]] || fail "the passes of all trainers had $samples"

echo "when one is killed, the others name it; started again, they go on from the checkpoint, with the same bits"
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=7)
# Trainer 1 waits after its 25th batch of 20, and so after the checkpoint at step 21.
half=$((3 * 20 * 25))
hold_trainer_1 killed $half "${checkpoints[@]}"
kill_trainer_1 killed
for rank in 0 2; do expect_text killed.$rank.err 'rank 1 at'; done
train resumed "${checkpoints[@]}" --resume
for rank in 0 1 2; do expect_text resumed.$rank.err 'Going on from step 2'; done
for pass in 0 1; do cmp {served,resumed}/pass-0000$pass/model.safetensors; done
figures() { grep -o '"samples":[0-9]*,"avg_cost":[^,]*,"evaluators":{[^}]*}' "$1"; }
[[ $(figures auto.0.json) == "$(figures resumed.0.json)" ]] || fail "figures: $(cat resumed.0.json)"

echo "so do those with several connections, which are another number after the kill"
hold_trainer_1 many $half "${checkpoints[@]}" --set cluster.connections=3
kill_trainer_1 many
for rank in 0 2; do expect_text many.$rank.err 'rank 1 at'; done
train fewer "${checkpoints[@]}" --resume --set cluster.connections=2
expect_text fewer.0.err 'Going on from step 2'
for pass in 0 1; do cmp {served,fewer}/pass-0000$pass/model.safetensors; done

echo "so do those that divide layers"
hold_trainer_1 halted $half "${divided[@]}" "${checkpoints[@]}"
kill_trainer_1 halted
train again "${divided[@]}" "${checkpoints[@]}" --resume
expect_text again.0.err 'Going on from step 2'
for pass in 0 1; do cmp {divided,again}/pass-0000$pass/model.safetensors; done

echo "a trainer that falls silent, never comes, or has another job is named by all others"
hold_trainer_1 stopped $half "${checkpoints[@]}" --set cluster.trainer_timeout=4
kill -STOP $held
end_all stopped 4
kill -9 $held
stop_feeding
for rank in 0 2; do expect_text stopped.$rank.err 'is silent'; done
for rank in 0 2; do expect_text stopped.$rank.err 'rank 1 at'; done
start missing "0 2" --set cluster.trainer_timeout=2
end_all missing 4
for rank in 0 2; do expect_text missing.$rank.err 'rank 1 has not come within 2 s'; done
start other "0 2"
others=("${processes[@]}")
start other 1 --seed 2
processes+=("${others[@]}")
end_all other 2
for rank in 0 1 2; do expect_text other.$rank.err 'trainer 1 has another job than trainer 0: job.seed is 2, not 1'; done

echo "SIGTERM to one ends all after the same step, and --resume goes on from there"
hold_trainer_1 ended $half "${checkpoints[@]}"
wait $feeder
kill -TERM "${processes[0]}"
feed tail -n +$((half + 1)) train.txt
status=0
wait "${processes[0]}" || status=$?
[[ $status == 143 ]] || fail "trainer 0 ended with $status"
wait "${processes[1]}" "$held"
stop_feeding
processes=()
train continued "${checkpoints[@]}" --resume
cmp {served,continued}/pass-00001/model.safetensors

echo "what cannot be is refused"
expect_status 2 ps-train job.json --data train.txt --trainers 3 --rank 0
expect_text err 'give --peers HOST:PORT'
expect_status 2 ps-train job.json --data train.txt --trainers 2 --rank 0 --peers "$address,192.0.2.1"
expect_text err "--peers '192.0.2.1' can be reached by others"
expect_status 2 ps-train "$PS_SOURCE/share/jobs/quickstart.json" --data train.txt --set train.strategy.type=all_reduce \
  --peers "$address" --trainers 1 --servers 127.0.0.1:1
expect_text err 'all_reduce has no servers'
expect_status 2 ps-serve job.json --host 127.0.0.1 --port 0
expect_text err 'all_reduce has no servers'

expect_status 2 ps-train job.json --data train.txt --trainers 2 --rank 0 --collective mpi --set cluster.connections=2
expect_text err "cluster.connections: 2, but with cluster.collective mpi connections are MPI's affair"
expect_status 2 ps-train job.json --data train.txt --trainers 2 --rank 0 --peers "$address" --set cluster.connections=17
expect_text err 'cluster.connections'

echo "a trainer alone may have sparse tables, and trains them as it does without a strategy"
alone() { ps-train job.json --data train.txt --set model.layers.0.sparse_update=true --json --save-dir "$@" >"$1.json" 2>"$1.err" || fail "$(cat "$1.err")"; }
alone lone.plain --set train.strategy.type=parameter_server
alone lone.peers --trainers 1 --rank 0
alone lone --set train.passes=2
for pass in 0 1; do cmp lone{.plain,.peers}/pass-0000$pass/model.safetensors; done
for pass in 0 1; do cmp lone{.plain,}/pass-0000$pass/model.safetensors; done
grep -q '"hidden.weight.keys"' lone/pass-00001/model.safetensors || fail "the model has no rows by keys"
awk -v first="$(grep -o '"avg_cost":[0-9.]*' lone.json | head -n 1 | cut -d: -f2)" -v last="$(number avg_cost lone.json)" \
  'BEGIN { exit !(last > 0 && last < first) }' || fail "it has learned nothing: $(cat lone.json)"

if command -v mpirun >/dev/null; then
  echo "three trainers that mpirun starts have the model of those over TCP, to rounding"
  run=(mpirun --allow-run-as-root --oversubscribe --mca btl "tcp,self" --mca btl_tcp_if_include lo -n 3
    ps-train job.json --data train.txt --collective mpi --json)
  status=0
  "${run[@]}" --save-dir mpi >mpi.json 2>mpi.err || status=$?
  if grep -q "MPI was not installed when this was built" mpi.err; then skip "built without Open MPI"; fi
  [[ $status == 0 ]] || fail "$(cat mpi.err)"
  [[ $(grep -c '"samples":2010' mpi.json) == 1 ]] || fail "$(cat mpi.json)"
  for pass in 0 1; do
    python3 "$PS_SOURCE/tests/e2e/close_models.py" {auto,mpi}/pass-0000$pass/model.safetensors || fail "another model after pass $pass"
  done
fi
