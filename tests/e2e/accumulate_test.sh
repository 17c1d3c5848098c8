#!/bin/bash
# Steps of several batches, and rates that grow with the examples of a step: the same model as with one large batch, by one
# trainer or several, with servers and without; and the same bits after a kill.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
launch=$PS_SOURCE/share/launch
# Rows that come with servers, and the same model of matrices for trainers without.
sed 's/"passes": 1/"passes": 2/; s/, "batch_size": 200//' "$PS_SOURCE/share/jobs/quickstart.json" >sparse.json
sed 's/"sparse_update": true/"sparse_update": false/; s/"format"/"hash_bits": 12, "format"/' \
  sparse.json >dense.json
sed -i 's/"type": "adagrad"/"type": "momentum", "momentum": 0.9/' dense.json
ps-datagen ctr --samples 3600 --output train.txt
strategy=(--set train.strategy.type=all_reduce)

# train NAME JOB [flags...]: in one process.
train() {
  ps-train "$2" --data train.txt --save-dir "$1" --json "${@:3}" >"$1.json" 2>"$1.err" || fail "$1: $(cat "$1.err")"
}

# together NAME SERVERS JOB [flags...]: three trainers.
together() {
  timeout 120 "$launch/local.sh" -s "$2" -n 3 "$3" --data train.txt --save-dir "$1" "${@:4}" >"$1.json" 2>"$1.err" ||
    fail "$1: $(cat "$1.err")"
}

# cost JOB FOLDER: of its last model.
cost() {
  ps-train --model "$2/pass-00001" --job test --data train.txt --json 2>test.err |
    sed -n 's/.*"cost":\([0-9.e+-]*\).*/\1/p' | tail -n 1
}

# as_good JOB FOLDER EXPECTED: to rounding.
as_good() {
  local a b
  a=$(cost "$1" "$2") b=$(cost "$1" "$3")
  awk -v a="$a" -v b="$b" 'BEGIN {exit !(a > 0.1 && a - b < 2e-6 && b - a < 2e-6)}' || fail "$2 has cost $a, $3 $b"
}

# killed NAME SERVERS JOB [flags...]: as together, but a trainer is killed after a checkpoint, and comes again.  None can
# reach the end of its data before: the last file is a pipe until then.
killed() {
  local name=$1 launched gate
  rm -f gate
  mkfifo gate
  exec {gate}<>gate
  PS_SERVE_FLAGS="--checkpoint-dir $PWD/checkpoints.$name --set checkpoint.steps=5 ${serve_flags:-}" \
    "$launch/local.sh" -s "$2" -n 3 -r 1 "$3" --data train.txt --data gate --save-dir "$name" "${@:4}" \
    >/dev/null 2>"$name.err" {gate}>&- &
  launched=$!
  timeout 60 bash -c "until [[ -s checkpoints.$name/LATEST ]]; do kill -0 $launched || exit; sleep 0.02; done" ||
    fail "$name: no checkpoint: $(cat "$name.err")"
  kill -KILL "$(pgrep -n -f "^ps-train $3 .*--save-dir $name ")"
  : >no_gate
  mv no_gate gate
  exec {gate}>&-
  timeout 120 tail --pid=$launched -f /dev/null || fail "$name goes on and on: $(cat "$name.err")"
  wait "$launched" || fail "$name ended with $?: $(cat "$name.err")"
}

echo "three batches of 20 make the step of one of 60, for rows and for matrices"
for job in sparse dense; do
  train $job.whole $job.json --set data.batch_size=60
  train $job.parts $job.json --set data.batch_size=20 --set train.accumulate=3 --checkpoint-dir checkpoints.$job
  as_good $job.json $job.parts $job.whole
  for way in whole parts; do
    grep -q '"batches":60,"samples":3600' $job.$way.json || fail "$job.$way: $(cat $job.$way.json)"
  done
  train $job.same $job.json --set data.batch_size=60 --set 'optimizer.scale_rate={"rule": "linear", "batch": 60}'
  cmp $job.{whole,same}/pass-00001/model.safetensors
done

echo "three trainers with two batches of 10 each have the model of one with 60 examples, with servers and without"
shares=(--set data.global_batch_size=60 --set train.accumulate=2)
together sparse.served 2 sparse.json "${shares[@]}"
as_good sparse.json sparse.served sparse.whole
together dense.served 1 dense.json "${shares[@]}"
as_good dense.json dense.served dense.whole
together dense.peers 0 dense.json "${shares[@]}" "${strategy[@]}"
cmp dense.{served,peers}/pass-00001/model.safetensors

echo "after a kill it has the same bits"
killed sparse.killed 2 sparse.json "${shares[@]}"
cmp sparse.{served,killed}/pass-00001/model.safetensors
killed dense.killed 0 dense.json "${shares[@]}" "${strategy[@]}" --checkpoint-dir checkpoints.dense.killed --set checkpoint.steps=5
cmp dense.{peers,killed}/pass-00001/model.safetensors

echo "checkpoints know how many batches make a step"
expect_status 2 ps-train dense.json --data train.txt --save-dir other --set data.batch_size=20 \
  --checkpoint-dir checkpoints.dense --resume
expect_text err 'train.accumulate'

echo "servers scale the rate by the examples of all trainers, and refuse trainers that are not as many as they know"
scale=(--set 'optimizer.scale_rate={"rule":"sqrt","batch":15}' --set data.batch_size=20)
PS_SERVE_FLAGS="${scale[*]}" expect_status 2 timeout 120 "$launch/local.sh" -s 1 -n 3 sparse.json --data train.txt "${scale[@]}"
expect_text err 'optimizer.scale_rate.examples_of_a_step'
