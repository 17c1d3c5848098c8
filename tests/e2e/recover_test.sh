#!/bin/bash
# A job with servers that write checkpoints: whatever is killed and started again, it ends with the model of the
# undisturbed run; and all of it can end and go on, with other numbers of servers, ports and trainers too.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
servers=() trainers=()        # process ids
checkpoints=() job_flags=()   # flags
trap 'kill -9 "${servers[@]}" "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# serve S PORTS [flags...]: server number S, on the ports that it had before, if any.
serve() {
  local s=$1 ports=$2 port
  shift 2
  if [[ -s ports.$s ]]; then port=$(head -1 "ports.$s"); else port=$(free_ports $((2 * ports))); fi
  rm -f "ready.$s"
  mkfifo "ready.$s"
  ps-serve "$job" --host 127.0.0.1 --port "$port" --port-file "ports.$s" --ports-num "$ports" \
    --ports-num-for-sparse "$ports" "${checkpoints[@]}" "${job_flags[@]}" "$@" >"ready.$s" 2>>"serve.$s.err" &
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
    --save-dir "$folder" "${job_flags[@]}" "$@" >"$folder.$rank.out" 2>>"$folder.$rank.err" &
  trainers[rank]=$!
}

# await FILE TEXT COUNT ID: until the file, which grows while the process runs, has so many lines with it; false when the
# process has ended before.  (grep is content with one line, where it writes to /dev/null.)
await() {
  timeout 60 grep -m"$3" -- "$2" <(tail -n +1 -F --pid="$4" "$1" 2>/dev/null) >awaited || true
  (($(wc -l <awaited) == $3))
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

# same_model FOLDER: the models of all passes are those of the undisturbed run.
same_model() {
  local pass
  for pass in 0 1 2 3; do cmp "calm/pass-0000$pass/model.safetensors" "$1/pass-0000$pass/model.safetensors" || fail "another model"; done
}

# same_figures FOLDER PASS: what is printed of the pass is that of the undisturbed run.
same_figures() {
  cmp <(grep "Pass=$2 " calm.0.err) <(grep "Pass=$2 " "$1.0.err" | tail -1) || fail "other figures of pass $2: $1"
}

ps-datagen ctr --samples 5000 --output train.txt

echo "the undisturbed run"
checkpoints=()
for s in 0 1; do serve $s 2; done
for rank in 0 1 2; do train $rank calm 2 3; done
finish 0 1 2
end_all_servers

# murder_servers: all of them, who keep their ports.
murder_servers() {
  local id
  for id in "${servers[@]}"; do murder "$id"; done
  servers=()
}

echo "checkpoints change nothing; nobody leaves before the last one counts, however slowly it is written"
checkpoints=(--checkpoint-dir written --set checkpoint.steps=10 --set checkpoint.bandwidth=200K)
for s in 0 1; do serve $s 2; done
for rank in 0 1 2; do train $rank written 2 3; done
finish 0 1 2
murder_servers
same_model written
expect_text serve.0.err 'Checkpoint at step '
sed -n 's/.*Checkpoint at step [0-9]*: \([0-9.]*\) KiB in \([0-9.]*\) s .*/\1 \2/p' serve.0.err >written.sizes
[[ -s written.sizes ]] || fail "$(cat serve.0.err)"
awk '$1 * 1024 / $2 > 1.3 * 2 * 200000' written.sizes >fast
[[ ! -s fast ]] || fail "two servers write faster than they may: $(<fast)"
ps-ckpt2model written --verify
for model in written calm/pass-00003; do
  ps-train "$job" --job predict --init-model "$model" --data train.txt --log-level warning | sha256sum >>predicted
done
[[ $(sort -u predicted | wc -l) == 1 ]] || fail "the last checkpoint is not that of the end"

echo "who was killed at the end, and comes when the others have gone, has nothing left to do"
for s in 0 1; do serve $s 2 --resume; done
train 2 late 2 3
finish 2
expect_text late.2.err 'All 4 passes are done'
for s in 0 1; do murder "${servers[$s]}"; serve $s 2 --resume; done
train 0 late 2 3
finish 0
expect_text late.0.err 'All 4 passes are done'
[[ ! -e late ]] || fail "it trained again"
end_all_servers

# servers_die: both servers of a job are killed and started again; false when it had ended before.
servers_die() {
  local victim
  rm -rf killed killed.*
  : >serve.0.err
  for s in 0 1; do serve $s 2; done
  for rank in 0 1 2; do train $rank killed 2 3; done
  slowly "${trainers[0]}"
  await serve.0.err 'Checkpoint at step .* killed.d/' 1 "${trainers[0]}" || true
  for victim in 1 0; do
    murder "${servers[$victim]}"
    serve $victim 2 --resume
  done
  rm slow
  finish 0 1 2
  end_all_servers
  same_model killed
  grep -q 'going back to the last checkpoint' killed.0.err
}

echo "servers are killed and started again"
checkpoints=(--checkpoint-dir killed.d --set checkpoint.steps=10)
until_true servers_die

# interrupt FOLDER COUNT TRAINERS: begins the job with 2 servers and so many trainers, and kills all of it once there have
# been so many checkpoints; false when it had ended by then.
interrupt() {
  local folder=$1 rank status=0
  rm -rf "$folder" "$folder".*
  : >serve.0.err
  for s in 0 1; do serve $s 2; done
  for ((rank = 0; rank < $3; ++rank)); do train $rank "$folder" 2 "$3"; done
  slowly "${trainers[0]}"
  await serve.0.err "Checkpoint at step .* $folder.d/" "$2" "${trainers[0]}" || status=1
  kill -9 "${trainers[@]}" 2>/dev/null || status=1
  rm slow
  kill -9 "${servers[@]}"
  wait "${servers[@]}" "${trainers[@]}" 2>/dev/null || true
  rm -f ports.*
  servers=() trainers=()
  return $status
}

# resume FOLDER SERVERS PORTS TRAINERS: goes on with it to its end.
resume() {
  local s rank
  for ((s = 0; s < $2; ++s)); do serve "$s" "$3" --resume; done
  for ((rank = 0; rank < $4; ++rank)); do train "$rank" "$1" "$2" "$4" --resume; done
  finish $(seq 0 $(($4 - 1)))
  end_all_servers
}

# in_the_midst FOLDER COUNT TRAINERS SERVERS PORTS TRAINERS_THEN: the job is interrupted, and others go on with it; false
# unless it was in the midst of a pass.  `meanwhile` is called between the two.
meanwhile=true
in_the_midst() {
  checkpoints=(--checkpoint-dir "$1.d" --set checkpoint.steps=10)
  interrupt "$1" "$2" "$3" && $meanwhile && resume "$1" "$4" "$5" "$6" &&
    grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' "$1.0.err"
}

echo "all of a job is killed, and goes on with 3 servers of other ports: the same models"
until_true in_the_midst moved 1 3 3 1 3
cmp calm/pass-00003/model.safetensors moved/pass-00003/model.safetensors
same_figures moved 3

echo "and what was done is not done again"
for s in 0 1; do serve $s 2 --resume; done
for rank in 0 1 2; do train $rank again 2 3 --resume; done
finish 0 1 2
end_all_servers
expect_text again.0.err 'All 4 passes are done'
[[ ! -e again ]] || fail "it trained again"

echo "the newest checkpoint is damaged: the one before is used"
# damage_newest: false when there is no other one.
damage_newest() {
  local newest
  newest=hurt.d/$(sed 's/ .*//' hurt.d/LATEST)
  rows=$(find "$newest" -name 'rows-*.psc' | sort | head -1)
  [[ -n $rows ]] || fail "there are no rows in $newest"
  printf damage | dd of="$rows" bs=1 seek=$(($(stat -c %s "$rows") / 2)) conv=notrunc status=none || fail "dd"
  (($(find hurt.d -maxdepth 1 -name 'step-*' | wc -l) > 1))
}
meanwhile=damage_newest
until_true in_the_midst hurt 2 3 2 2 3
meanwhile=true
cmp calm/pass-00003/model.safetensors hurt/pass-00003/model.safetensors
cat serve.?.err >serve.err
expect_text serve.err "$rows"

# each_example_once FOLDER: in every pass, by whom it ever was trained.
each_example_once() {
  local pass
  for pass in 0 1 2 3; do
    grep "Pass=$pass " "$1.0.err" | tail -1 | grep -q 'samples=5000 ' || fail "pass $pass: not every example once"
  done
}

echo "it goes on with 2 trainers instead of 3, or with 4"
for trainers_then in 2 4; do
  until_true in_the_midst dealt 1 3 2 2 $trainers_then
  [[ -s dealt/pass-00003/model.safetensors ]] || fail "no model"
  each_example_once dealt
done

echo "checkpoints of an earlier run are not mixed with another's"
for s in 0 1; do serve $s 2; done
train 0 mixed 2 1
status=0
wait "${trainers[0]}" || status=$?
[[ $status == 2 ]] || fail "status $status: $(cat mixed.0.err)"
expect_text mixed.0.err 'holds checkpoints of an earlier run: --resume goes on from them'
trainers=()
end_all_servers

echo "asynchronous trainers, and those with copies of their own, go on in the midst of a pass"
for strategy in '{"consistency":"async"}' '{"type":"local_sgd","period":5}'; do
  job_flags=(--set "train.strategy=$strategy" --set data.batch_size=5)
  until_true in_the_midst loose 1 3 2 2 3
  each_example_once loose
done

echo "a trainer alone with copies of its own goes on with its optimizer and its schedule: the same models"
job_flags=(--set 'train.strategy={"type":"local_sgd","period":3}' --set 'optimizer={"type":"adam","learning_rate":0.01,"l2":0.0001,
  "schedule":{"type":"poly","a":0.001,"b":0.5}}')
checkpoints=()
for s in 0 1; do serve $s 2; done
train 0 adam 2 1
finish 0
end_all_servers
until_true in_the_midst copies 7 1 3 1 1
cmp adam/pass-00003/model.safetensors copies/pass-00003/model.safetensors || fail "another model"
cmp <(grep 'Pass=3 ' adam.0.err) <(grep 'Pass=3 ' copies.0.err | tail -1) || fail "other figures"

echo "and, killed alone, goes back to the last checkpoint by itself"
interrupt_trainer() {
  rm -rf alone alone.*
  : >serve.0.err
  checkpoints=(--checkpoint-dir alone.d --set checkpoint.steps=10)
  for s in 0 1; do serve $s 2; done
  train 0 alone 2 1
  slowly "${trainers[0]}"
  await serve.0.err 'Checkpoint at step .* alone.d/' 5 "${trainers[0]}" || true
  kill -9 "${trainers[0]}" || true
  wait "${trainers[0]}" 2>/dev/null || true
  rm slow
  train 0 alone 2 1
  finish 0
  end_all_servers
  cmp adam/pass-00003/model.safetensors alone/pass-00003/model.safetensors || fail "another model"
  grep -q 'going back to the last checkpoint' alone.0.err
}
until_true interrupt_trainer

echo "rows that come and go, gradients that are rounded, and checkpoints of what has changed, on other servers"
job=$PS_SOURCE/share/jobs/ctr_rows.json
job_flags=(--set model.layers.0.weight.rows.shrink_steps=7 --set checkpoint.full_every=3 --set checkpoint.keep=100
  --set train.strategy.codec.push=int8 --set train.strategy.codec.residual_memory=100K)
checkpoints=()
for s in 0 1; do serve $s 2; done
for rank in 0 1 2; do train $rank rows 2 3; done
finish 0 1 2
end_all_servers
until_true in_the_midst changed 3 3 3 1 3
cmp rows/pass-00003/model.safetensors changed/pass-00003/model.safetensors
cmp <(grep 'Rows of' rows.0.err | tail -1) <(grep 'Rows of' changed.0.err | tail -1)
expect_text rows.0.err 'expired='
grep -q '"base"' changed.d/*/MANIFEST.json || fail "no checkpoint is of what has changed"
for folder in changed.d/step-*; do ps-ckpt2model "$folder" --verify >verified; done
echo passed
