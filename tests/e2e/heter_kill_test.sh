#!/bin/bash
# Heterogeneous training in which processes are killed: others go on or come again, and the model is the same, bit for
# bit.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/e2e/heter_job.sh"

make_plain_model
mkfifo pipe

echo "compute trainers and a reader are killed, and the model is the same, bit for bit"
serve
two_computes
three_readers
# Reader 0 has one batch in 150 examples, and all wait for it: there are batches to come whenever one is killed.
open_pipe
feed 3000
wait_for_file metrics.0 "${readers[0]}"
wait_for_batches 10
kill -9 "$second"
feed 5250
wait_for_batches 25
kill_at_once "$first"
start compute.a2 ps-train job.json --role compute --servers "$addresses" --port "$first_port"
first=$started
feed 7500
wait_for_batches 40
kill -9 "${readers[2]}"
run_reader 2
readers[2]=$started
close_pipe
end_well "${readers[0]}" trainer.0 "${readers[1]}" trainer.1 "${readers[2]}" trainer.2 "$first" compute.a2
cmp plain/pass-00000/model.safetensors killed/pass-00000/model.safetensors
expect_text trainer.1.err 'going on with compute trainer'
end_servers

echo "a run without its compute trainer ends with 4, and is resumed from the checkpoint with the same bits"
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=20)
serve "${checkpoints[@]}"
places=
compute compute.a "${checkpoints[@]}"
rm -rf killed metrics.*
three_readers --checkpoint-dir checkpoints --set cluster.server_timeout=1
open_pipe
feed 9000
wait_for_file metrics.0 "${readers[0]}"
wait_for_batches 50
kill -9 "$started_compute"
close_pipe 2>/dev/null || true  # the reader may be gone
exec 3>&-
for rank in 0 1 2; do
  status=0
  wait "${readers[rank]}" || status=$?
  [[ $status == 4 ]] || fail "reader $rank ended with $status: $(<trainer.$rank.err)"
done
grep -q "compute trainer '${places%,}'.* cannot be reached" trainer.*.err || fail "nobody names the compute trainer"
end_servers
serve "${checkpoints[@]}" --resume
places=
compute compute.a "${checkpoints[@]}"
train 3 killed --passes 1 "${checkpoints[@]}" --resume --role reader --compute "$places"
end_well "$started_compute" compute.a
end_servers
cmp plain/pass-00000/model.safetensors killed/pass-00000/model.safetensors
expect_text trainer.0.err 'Resuming in pass 0 after '

echo "a reader that is told to end tells its compute trainer"
serve
places=
compute compute.a
rm -rf killed metrics.*
readers=()
run_reader 0 --trainers 1
readers+=("$started")
open_pipe
feed 1000
wait_for_file metrics.0 "${readers[0]}"
kill -TERM "${readers[0]}"
status=0
wait "${readers[0]}" || status=$?
exec 3>&-
[[ $status == 143 ]] || fail "the reader ended with $status: $(<trainer.0.err)"
end_well "$started_compute" compute.a
end_servers

echo "a reader is killed, the others go on without it, and train what it has left of its data; its compute trainer ends well"
# Reports of reader 0 fill a pipe that nobody reads, so that no reader is at the end of its data before one is killed.
settings=(--set cluster.on_trainer_loss=continue --set cluster.trainer_timeout=3 --set data.batch_size=10)
serve "${settings[@]}"
two_computes "${settings[@]}"  # the second is of reader 1 alone
rm -rf killed metrics.* pipe
mkfifo metrics.0
exec 8<>metrics.0
three_readers "${settings[@]}" 8>&-
# Every report is a batch.
timeout 60 head -n 20 <&8 >reports || fail "reader 0 reports nothing: $(<trainer.0.err)"
(($(wc -l <reports) == 20)) || fail "reader 0 reports: $(<reports)"
kill_at_once "${readers[1]}"
timeout 600 cat <&8 >/dev/null &
reports=$!
end_well "${readers[0]}" trainer.0 "${readers[2]}" trainer.2 "$first" compute.a "$second" compute.b
kill "$reports"
exec 8>&-
end_servers
# The figures of the pass lack the batches that the lost reader had trained, and nothing else.
lost=$(sed -n 's/.*Taking over from trainer 1 in pass 0: its batches \([0-9]*\), .*/\1/p' trainer.0.err)
[[ -n $lost ]] || fail "nobody takes over: $(<trainer.0.err)"
grep -q " Pass=0 .* samples=$((15000 - 10 * lost)) " trainer.0.err || fail "batches from $lost on: $(grep Pass= trainer.0.err)"
expect_text trainer.2.err "Taking over from trainer 1 in pass 0: its batches $((lost + 1)), "
grep -qE 'The others (go on|have ended the run) without reader 1' compute.b.err || fail "compute.b: $(<compute.b.err)"
expect_text compute.a.err 'The run has ended: batches='
