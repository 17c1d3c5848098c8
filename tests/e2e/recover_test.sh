#!/bin/bash
# A job with servers that write checkpoints: whatever is killed and started again, it ends with the model of the
# undisturbed run; and all of it can end and go on, with other numbers of servers, ports and trainers too.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
servers=() trainers=() checkpoints=() # process ids
trap 'kill -9 "${servers[@]}" "${trainers[@]}" 2>/dev/null || true; rm -rf "$scratch"' EXIT

# serve S PORTS [flags...]: server number S, on the ports that it had before, if any.
serve() {
  local s=$1 ports=$2 port
  shift 2
  if [[ -s ports.$s ]]; then port=$(head -1 "ports.$s"); else port=$(free_ports $((2 * ports))); fi
  rm -f "ready.$s"
  mkfifo "ready.$s"
  ps-serve "$job" --host 127.0.0.1 --port "$port" --port-file "ports.$s" --ports-num "$ports" \
    --ports-num-for-sparse "$ports" "${checkpoints[@]}" "$@" >"ready.$s" 2>>"serve.$s.err" &
  servers[s]=$!
  head -1 "ready.$s" >"serve.$s.out"
  [[ -s serve.$s.out ]] || fail "server $s: $(cat "serve.$s.err")"
}

# addresses N: of the first N servers.
addresses() {
  local s all=
  for ((s = 0; s < $1; ++s)); do all+=${all:+,}127.0.0.1:$(head -1 "ports.$s"); done
  echo "$all"
}

# train RANK FOLDER SERVERS TRAINERS [flags...]: starts a trainer.
train() {
  local rank=$1 folder=$2 num_servers=$3 num_trainers=$4
  shift 4
  ps-train "$job" --servers "$(addresses "$num_servers")" --trainers "$num_trainers" --data train.txt --passes 4 \
    --set data.batch_size=15 --set train.log_period=1000 --set cluster.server_timeout=20 --rank "$rank" \
    --save-dir "$folder" "$@" >"$folder.$rank.out" 2>>"$folder.$rank.err" &
  trainers[rank]=$!
}

# await FILE TEXT: until the file, which grows, has it.
await() {
  timeout 60 grep -qm1 -- "$2" <(tail -n +1 -F --pid=$$ "$1" 2>/dev/null) || fail "'$2' does not come in $1"
}

# murder ID
murder() {
  kill -9 "$1" || fail "process $1 had ended before it was killed"
  wait "$1" 2>/dev/null || true
}

# finish RANK...: these trainers end well.
finish() {
  local rank
  for rank in "$@"; do
    wait "${trainers[$rank]}" || fail "trainer $rank ended with $?: $(tail -n 5 ./*."$rank".err)"
  done
  trainers=()
}

end_servers() {
  local id
  kill -TERM "${servers[@]}"
  for id in "${servers[@]}"; do wait "$id" || fail "a server ended with $?"; done
  servers=()
  rm -f ports.*
}

# same_model FOLDER: the models of all passes are those of the undisturbed run.
same_model() {
  local pass
  for pass in 0 1 2 3; do cmp "calm/pass-0000$pass/model.safetensors" "$1/pass-0000$pass/model.safetensors"; done
}

ps-datagen ctr --samples 10000 --output train.txt

echo "the undisturbed run"
checkpoints=()
for s in 0 1; do serve $s 2; done
for rank in 0 1 2; do train $rank calm 2 3; done
finish 0 1 2
end_servers

echo "checkpoints change nothing"
checkpoints=(--checkpoint-dir written --set checkpoint.steps=10)
for s in 0 1; do serve $s 2; done
for rank in 0 1 2; do train $rank written 2 3; done
finish 0 1 2
end_servers
same_model written
expect_text serve.0.err 'Checkpoint at step '
ps-ckpt2model written --verify

echo "a server that is killed and started again, with every process of the job"
checkpoints=(--checkpoint-dir killed.d --set checkpoint.steps=10)
for s in 0 1; do serve $s 2; done
for rank in 0 1 2; do train $rank killed 2 3; done
for victim in 1 0; do
  await serve.0.err 'Checkpoint at step .* killed.d/'
  : >serve.0.err
  murder "${servers[$victim]}"
  serve $victim 2 --resume
  await killed.0.err 'going back to the last checkpoint'
  : >killed.0.err
done
finish 0 1 2
end_servers
same_model killed

# interrupt_job FOLDER: begins the job with 2 servers and 3 trainers, and kills all of it once there is a checkpoint.
interrupt_job() {
  local id
  checkpoints=(--checkpoint-dir "$1.d" --set checkpoint.steps=10)
  : >serve.0.err
  for s in 0 1; do serve $s 2; done
  for rank in 0 1 2; do train $rank "$1" 2 3; done
  await serve.0.err "Checkpoint at step .* $1.d/"
  for id in "${servers[@]}" "${trainers[@]}"; do murder "$id"; done
  rm -f ports.*
  servers=() trainers=()
}

echo "all of a job is killed, and goes on with 3 servers of other ports: the same models"
interrupt_job moved
for s in 0 1 2; do serve $s 1 --resume; done
for rank in 0 1 2; do train $rank moved 3 3 --resume; done
finish 0 1 2
end_servers
cmp calm/pass-00003/model.safetensors moved/pass-00003/model.safetensors
expect_text moved.0.err 'Resuming in pass '

echo "and what was done is not done again"
for s in 0 1; do serve $s 2 --resume; done
for rank in 0 1 2; do train $rank again 2 3 --resume; done
finish 0 1 2
end_servers
expect_text again.0.err 'All 4 passes are done'
[[ ! -e again ]] || fail "it trained again"

echo "it goes on with 2 trainers instead of 3"
interrupt_job fewer
for s in 0 1; do serve $s 2 --resume; done
for rank in 0 1; do train $rank fewer 2 2 --resume; done
finish 0 1
end_servers
[[ -s fewer/pass-00003/model.safetensors ]] || fail "no model"

echo "checkpoints of an earlier run are not mixed with another's"
for s in 0 1; do serve $s 2; done
train 0 mixed 2 1
status=0
wait "${trainers[0]}" || status=$?
[[ $status == 2 ]] || fail "status $status: $(cat mixed.0.err)"
expect_text mixed.0.err 'holds checkpoints of an earlier run: --resume goes on from them'
trainers=()
end_servers
echo passed
