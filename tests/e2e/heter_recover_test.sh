#!/bin/bash
# Heterogeneous training in which a server is killed: it comes again, and the model is the same, bit for bit.
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
end_servers
