#!/bin/bash
# Trainers that join a running job, as a user sees it: they take part and the others train what they leave; the same joins at the
# same step give the same model; and what cannot be is refused.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
server='' trainers=() # process ids; trainers by rank
trap 'kill -9 $server "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# serve [flags...]: a server of 2 + 2 ports that goes on without trainers, and $flags for its trainers.
serve() {
  rm -f ready
  mkfifo ready
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file ports --ports-num 2 --ports-num-for-sparse 2 \
    --set cluster.on_trainer_loss=continue "$@" >ready 2>serve.err &
  server=$!
  timeout 60 head -1 ready >serve.out
  flags=(--servers "127.0.0.1:$(head -1 ports)" --trainers 2 --max-trainers 4 --set data.batch_size=50
    --set cluster.on_trainer_loss=continue --set train.log_period=10 "$@")
}

# train RANK FOLDER [flags...]: starts a trainer, for $passes passes.
passes=3
train() {
  ps-train "$job" "${flags[@]}" --data train.txt --passes "$passes" --rank "$1" --save-dir "$2" "${@:3}" \
    >"$2.$1.out" 2>>"$2.$1.err" 8>&- &
  trainers[$1]=$!
}

# lead FOLDER: starts trainer 0, which reports every batch to a pipe, and waits once the pipe is full: so nobody ends before
# the test goes on.  follow TEXT: reads its reports up to one that has the text; without a text: the rest of them.
lead() {
  rm -f reports
  mkfifo reports
  exec 8<>reports
  train 0 "$1" --metrics reports --set train.log_period=1
}
follow() {
  local report
  if [[ -z ${1-} ]]; then
    timeout 600 cat <&8 >/dev/null &
    reports=$!
    return
  fi
  while read -r -t 60 report <&8; do [[ $report != *"$1"* ]] || return 0; done
  fail "trainer 0 does not report '$1'"
}

# await FILE TEXT: until the file, which grows, has it.
await() {
  timeout 60 grep -q -m 1 -- "$2" <(tail -n +1 -F --pid=$$ "$1" 2>/dev/null) || fail "'$2' does not come in $1"
}

# await_joined FOLDER RANK [TEXT [N]]: until that trainer has joined, for the Nth time, as the text says.  A joiner takes part from
# the next step on, so trainer 0 must not come to rest at a full pipe; and the run must not be over by then, so its reports are
# read slowly.
await_joined() {
  local tries count
  for ((tries = 0; tries < 1200; ++tries)); do
    count=$(grep -c -- "${3:-Resuming in pass }" "$1.$2.err" 2>/dev/null || true)
    if ((${count:-0} >= ${4:-1})); then return; fi
    read -r -t 1 <&8 || true
    sleep 0.05
  done
  fail "trainer $2 does not join: $(tail -n 5 "$1.$2.err")"
}

# finish STATUS RANK...: these trainers end with the status.
finish() {
  local expected=$1 rank status
  shift
  for rank in "$@"; do
    status=0
    wait "${trainers[$rank]}" || status=$?
    [[ $status == "$expected" ]] || fail "trainer $rank ended with $status: $(tail -n 5 ./*."$rank".err)"
  done
}

end_server() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?"
}

# whole FOLDER RANK FIRST: from that pass on, the rank's figures are those of all examples.
whole() {
  local pass
  for ((pass = $3; pass < passes; ++pass)); do
    grep -q " Pass=$pass .* samples=30000 " "$1.$2.err" || fail "pass $pass of $1: $(grep Pass= "$1.$2.err")"
  done
}

ps-datagen ctr --samples 30000 --output train.txt

echo "two of four ranks train all of the data, and wait for nobody"
serve
for rank in 0 1; do train $rank alone; done
finish 0 0 1
whole alone 0 0
expect_text alone.1.err 'Taking over from trainer 3 in pass 2'
end_server

echo "one joins, takes part to the end, and dies or leaves without harm, in every consistency"
stale='{"type": "parameter_server", "consistency": "staleness", "staleness": 2}'
async='{"type": "parameter_server", "consistency": "async"}'
for mode in sync stale async; do
  case $mode in
    sync) settings=() ;;
    stale) settings=(--set "train.strategy=$stale") ;;
    async) settings=(--set "train.strategy=$async") ;;
  esac
  serve "${settings[@]}" --set cluster.trainer_timeout=2
  lead joined_$mode
  train 1 joined_$mode
  follow '"batch":20,'
  train 3 joined_$mode
  train 2 joined_$mode
  for rank in 2 3; do await_joined joined_$mode $rank; done
  # Reports of trainer 0 are read until the others have trained too.
  follow '"event":"pass","pass":0,'
  follow '"batch":5,'
  kill -TERM "${trainers[3]}"
  finish 143 3
  kill -9 "${trainers[2]}"
  wait "${trainers[2]}" 2>/dev/null || true
  train 3 joined_$mode # its rank is free
  await_joined joined_$mode 3 'Resuming in pass ' 2
  follow
  finish 0 0 1 3
  kill "$reports" 2>/dev/null || true
  whole joined_$mode 0 2
  end_server
done

echo "one that comes first waits until the job has begun"
serve
train 2 first
await first.2.err 'joins a run of 2 trainers once they have begun it'
lead first
train 1 first
await_joined first 2 'Training with' # there may be no step yet from which it could resume
follow
finish 0 0 1 2
kill "$reports" 2>/dev/null || true
end_server

echo "what cannot be is told"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train "$job" --data train.txt --rank 0 "$@"
  expect_text err "$text"
}
most=(--servers 127.0.0.1:1 --trainers 2 --max-trainers 3)
go_on=(--set cluster.on_trainer_loss=continue)
refused "cluster.on_trainer_loss is 'stop'" "${most[@]}"
refused '1 is less than cluster.trainers, 2' --servers 127.0.0.1:1 --trainers 2 --max-trainers 1
refused 'nobody joins without servers' --trainers 1 --max-trainers 2 "${go_on[@]}"
refused "with parameter_server alone" "${most[@]}" "${go_on[@]}" --set 'train.strategy={"type": "local_sgd", "period": 4}'
refused "with parameter_server alone" --trainers 2 --max-trainers 3 --peers 127.0.0.1:1 "${go_on[@]}" \
  --set 'train.strategy={"type": "all_reduce"}'
refused "train.pull_ahead is 4" "${most[@]}" "${go_on[@]}" --set train.pull_ahead=4
refused "has its place from the beginning" "${most[@]}" "${go_on[@]}" --role reader --compute 127.0.0.1:2
refused "is not below the number of trainers, 3" "${most[@]}" "${go_on[@]}" --rank 3
expect_status 2 timeout 60 ps-serve "$job" --port 0 --set cluster.max_trainers=3
expect_text err "cluster.on_trainer_loss is 'stop'"
serve
lead counts
train 1 counts
follow '"event":"pass","pass":0,'
refused 'was started as one of 5' "${flags[@]}" --max-trainers 5
follow
finish 0 0 1
kill "$reports" 2>/dev/null || true
end_server
