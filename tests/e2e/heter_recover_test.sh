#!/bin/bash
# Heterogeneous training in which a server is killed: it comes again, and the model is the same, bit for bit.  Compute
# trainers that come after the end of a run learn of it.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/e2e/heter_job.sh"

make_plain_model

# kill_server DURABILITY: the second server is killed, and comes again.  Reader 0 has no more data until then, so that the run
# cannot end before; where it goes back, it reads all of them again, and else what is left of them.
kill_server() {
  local rank flags=(--checkpoint-dir checkpoints --set checkpoint.steps=20)
  rm -rf checkpoints killed metrics.* pipe
  mkfifo pipe
  serve "${flags[@]}" --durability "$1"
  places=
  compute compute.a "${flags[@]}"
  readers=()
  for rank in 0 1 2; do
    run_reader $rank --checkpoint-dir checkpoints
    readers+=("$started")
  done
  open_pipe
  feed 9000
  wait_for_file metrics.0 "${readers[0]}"
  wait_for_batches 50
  kill_at_once "${servers[1]}"
  if [[ $1 == none ]]; then
    exec 3>&-
    rm pipe
    cp train.txt pipe
  fi
  start server.two ps-serve job.json --port "$(head -1 server.two.port)" --ports-num-for-sparse 1 "${flags[@]}" --resume \
    --durability "$1"
  servers[1]=$started
  if [[ $1 == log ]]; then close_pipe; fi
  end_well "${readers[0]}" trainer.0 "${readers[1]}" trainer.1 "${readers[2]}" trainer.2 "$started_compute" compute.a
  end_servers
  cmp plain/pass-00000/model.safetensors killed/pass-00000/model.safetensors
}

echo "a server is killed and comes again, all go back to the checkpoint, and the model is the same, bit for bit"
kill_server none
expect_text trainer.0.err 'going back to the last checkpoint'
echo "with a push log nobody goes back"
kill_server log
! grep 'going back' trainer.*.err || fail "somebody went back"

echo "a reader that comes after the end of the run tells a compute trainer that has come again too"
end=(--checkpoint-dir checkpoints.ended)
serve "${end[@]}"
for time in first second; do
  places=
  compute compute.a "${end[@]}"
  train 1 ended --passes 1 "${end[@]}" --role reader --compute "$places"
  end_well "$started_compute" compute.a
done
expect_text trainer.0.err 'All 1 passes are done: the run has ended'

# late NAME TEXT [flags...]: a compute trainer that no reader comes to ends well, and says why.
late() {
  local name=$1 text=$2
  shift 2
  places=
  compute "$name" "$@"
  timeout 60 tail --pid="$started_compute" -f /dev/null || fail "$name has not ended: $(<"$name.err")"
  end_well "$started_compute" "$name"
  expect_text "$name.err" "$text"
  expect_text "$name.err" 'The run has ended: batches=0'
}

echo "without a reader it learns from the servers that the run has ended, also from those that were started again"
over='the run has ended after 1 passes, and nothing is left to train'
late compute.late "$over" "${end[@]}" --passes 1
end_servers
serve "${end[@]}" --resume
late compute.late "$over" "${end[@]}" --passes 1

echo "it waits for readers that train more passes"
places=
compute compute.more "${end[@]}" --passes 2
train 1 ended --passes 2 "${end[@]}" --resume --role reader --compute "$places"
end_well "$started_compute" compute.more
grep -qE 'The run has ended: batches=[1-9]' compute.more.err || fail "compute.more had no batches: $(<compute.more.err)"
end_servers

echo "servers without checkpoints begin another run: it waits for its readers, and ends when none comes"
serve
places=
compute compute.first
train 1 unsaved --passes 1 --role reader --compute "$places"
end_well "$started_compute" compute.first
places=
compute compute.next
train 1 unsaved.next --passes 1 --role reader --compute "$places"
end_well "$started_compute" compute.next
late compute.late 'the run has ended, and no reader has come for 0.5 s' --set cluster.trainer_timeout=0.5
end_servers

echo "without servers it ends as a trainer does"
expect_status 4 ps-train job.json --role compute --servers "$addresses" --port 0 --set cluster.server_timeout=0.5
expect_text err 'connection refused'
