#!/bin/bash
# Trainers that are killed, as a user sees it: they return and the model is the undisturbed one's; they do not
# return and the job ends, naming them; or it goes on without them, and the others train what they have left.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
server='' trainers=() # process ids; trainers by rank
trap 'kill -9 $server "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# serve [flags...]: a server of 2 + 2 ports, and $flags for its trainers.
serve() {
  rm -f ready
  mkfifo ready
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file ports --ports-num 2 --ports-num-for-sparse 2 "$@" \
    >ready 2>serve.err &
  server=$!
  head -1 ready >serve.out
  flags=(--servers "127.0.0.1:$(head -1 ports)" --trainers 3 --set data.batch_size=50 --set train.log_period=10)
}

# train RANK FOLDER [flags...]: starts a trainer, for $passes passes.
passes=8
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
    cat <&8 >/dev/null &
    reports=$!
    return
  fi
  while read -r -t 60 report <&8; do [[ $report != *"$1"* ]] || return 0; done
  fail "trainer 0 does not report '$1'"
}

# train_once RANK FOLDER GATE: starts a trainer for one pass, whose second half waits for the end of the file GATE.
train_once() {
  ps-train "$job" "${flags[@]}" --data - --passes 1 --rank "$1" --save-dir "$2" >"$2.$1.out" 2>>"$2.$1.err" \
    < <(exec 8<"$3" 9>&- && head -n 15000 train.txt && cat <&8 && tail -n +15001 train.txt) 9>&- &
  trainers[$1]=$!
}

# open_gate holds trainers in the midst of their pass; close_gate has them go on.
open_gate() { exec 9<>gate; }
close_gate() { exec 9>&-; }

# await FILE TEXT: until the file, which grows, has it.
await() {
  timeout 60 grep -qm1 -- "$2" <(tail -n +1 -F --pid=$$ "$1" 2>/dev/null) || fail "'$2' does not come in $1"
}

# murder RANK: kills a trainer that has not ended.
murder() {
  local status=0
  kill -9 "${trainers[$1]}"
  wait "${trainers[$1]}" 2>/dev/null || status=$?
  [[ $status == 137 ]] || fail "trainer $1 had ended with $status before it was killed"
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

ps-datagen ctr --samples 30000 --output train.txt
mkfifo gate

echo "the undisturbed run"
serve
for rank in 0 1 2; do train $rank calm; done
finish 0 0 1 2
end_server

echo "trainers that are killed and started again, one after the other and all together, leave no trace in the model"
serve
lead returned
for rank in 1 2; do train $rank returned; done
follow '"batch":20,'
murder 1
train 1 returned
follow '"event":"pass","pass":0,'
murder 2
murder 0
lead returned
train 2 returned
follow '"event":"pass","pass":1,'
for rank in 0 1 2; do murder $rank; done
for rank in 2 1 0; do train $rank returned; done
finish 0 0 1 2
end_server
for rank in 0 1 2; do expect_text returned.$rank.err 'Resuming in pass '; done
for pass in {0..7}; do
  cmp calm/pass-0000$pass/model.safetensors returned/pass-0000$pass/model.safetensors
done

echo "a trainer that does not return ends the job with 4, and is named"
# The timeout is also that of a trainer that begins later than the others, on a busy machine.
serve --set cluster.trainer_timeout=5
open_gate
for rank in 0 1 2; do train_once $rank stopped gate; done
await stopped.0.err 'Batch=20 '
murder 1
close_gate # also those that have trained on all of the first half then need trainer 1
finish 4 0 2
expect_text stopped.0.err 'no connection from trainer 1 of 3 for 5 s'

echo "started again, it takes the run up, and so do the others"
for rank in 0 1 2; do train_once $rank stopped /dev/null; done
finish 0 0 1 2
end_server
cmp calm/pass-00000/model.safetensors stopped/pass-00000/model.safetensors

echo "or the others go on without it, and the lowest rank that is there saves"
serve --set cluster.trainer_timeout=5 --set cluster.on_trainer_loss=continue
open_gate
for rank in 0 1 2; do train_once $rank continued gate; done
await continued.0.err 'Batch=20 '
murder 0
close_gate
finish 0 1 2
end_server
expect_text continued.1.err 'saves in their place'
[[ -s continued/pass-00000/model.safetensors ]] || fail "nobody saved"
expect_text continued.1.err 'what trainer 0 has left of pass 0 is left out'

echo "they train what it has left of files, and in the next passes all of its share"
strategy='train.strategy={"type": "parameter_server", "consistency": "async"}'
for mode in sync async; do
  settings=(--set cluster.trainer_timeout=3 --set cluster.on_trainer_loss=continue)
  [[ $mode == sync ]] || settings+=(--set "$strategy")
  serve "${settings[@]}"
  flags+=("${settings[@]}")
  lead taken_$mode
  for rank in 1 2; do train $rank taken_$mode; done
  follow '"batch":20,'
  murder 1
  follow
  finish 0 0 2
  kill "$reports"
  end_server
  # The figures of the pass in which it was lost lack the batches that it had trained, and nothing else.
  read -r lost first < <(sed -n 's/.*Taking over from trainer 1 in pass \([0-9]*\): its batches \([0-9]*\), .*/\1 \2/p' \
    taken_$mode.0.err)
  for ((pass = lost; pass < passes; ++pass)); do
    ((samples = pass == lost ? 30000 - 50 * first : 30000))
    grep -q " Pass=$pass .* samples=$samples " taken_$mode.0.err || fail "mode $mode: $(grep Pass= taken_$mode.0.err)"
  done
  expect_text taken_$mode.2.err "Taking over from trainer 1 in pass $lost: its batches $((first + 1)), "
done
