#!/bin/bash
# Readers with several batches on their way to compute trainers, as a user runs them: in synchronous mode the model is that of
# plain trainers, bit for bit, whoever is killed.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/e2e/heter_job.sh"
ahead=(--set train.pull_ahead=6)

ps-datagen criteo --samples 6000 --output train.txt

# in_flight KEY: of the last reader.
in_flight() { grep -o '"in_flight":{[^}]*}' trainer.0.out | grep -o "\"$1\":[0-9.]*" | cut -d: -f2; }

echo "one reader and one compute trainer make the model of a plain trainer, bit for bit"
serve
train 1 plain
plain_figures=$(figures)
end_servers
serve "${ahead[@]}"
places=
compute compute.a "${ahead[@]}"
train 1 heter --role reader --compute "$places" "${ahead[@]}"
same_model heter
[[ $(figures) == "$plain_figures" ]] || fail "the figures are $(figures), not $plain_figures"
end_well "$started_compute" compute.a
end_servers
[[ $(in_flight batches) == 240 ]] || fail "batches: $(in_flight batches)"
(($(in_flight ahead) > 0)) || fail "batches ahead: $(in_flight ahead)"
awk -v wait="$(in_flight wait_seconds)" 'BEGIN { exit !(wait > 0) }' || fail "no wait"

echo "both are killed, others come, and the model is the same, bit for bit"
mkfifo pipe
serve "${ahead[@]}"
places=
compute compute.a "${ahead[@]}"
first=$started first_port=$(<compute.a.port)
compute compute.b "${ahead[@]}"
second=$started
readers=()
run_one_reader() {
  run_reader 0 --trainers 1 "${ahead[@]}" "$@"
  readers[0]=$started
}
run_one_reader
open_pipe
feed 2000
wait_for_file metrics.0 "${readers[0]}"
wait_for_batches 10
kill_at_once "$first"
feed 4000
wait_for_batches 40
kill_at_once "$second"
start compute.a2 ps-train job.json --role compute --servers "$addresses" --port "$first_port" "${ahead[@]}"
first=$started
feed 5000
wait_for_batches 70
kill_at_once "${readers[0]}"
exec 3>&-
rm pipe
run_one_reader
end_well "${readers[0]}" trainer.0 "$first" compute.a2
cmp plain/pass-00000/model.safetensors killed/pass-00000/model.safetensors
expect_text trainer.0.err 'Resuming in pass 0 after '
end_servers

echo "two readers are ahead together, all are killed one after the other, and the model is that of two plain trainers, bit for bit"
serve
train 2 plain_two --passes 1
end_servers
rm -rf killed metrics.*
mkfifo pipe
serve "${ahead[@]}"
places=
compute compute.a "${ahead[@]}"
first=$started_compute first_port=$(<compute.a.port)
start_one_of_two() {
  run_reader "$1" --trainers 2 "${ahead[@]}" "${@:2}"
  readers[$1]=$started
}
start_one_of_two 1
start_one_of_two 0
open_pipe
feed 2000
wait_for_file metrics.0 "${readers[0]}"
wait_for_batches 6
kill_at_once "$first"
start compute.a2 ps-train job.json --role compute --servers "$addresses" --port "$first_port" "${ahead[@]}"
first=$started
wait_for_batches 14
kill_at_once "${readers[1]}"
start_one_of_two 1
feed 4000
wait_for_batches 28
kill_at_once "${readers[0]}"
exec 3>&-
rm pipe
start_one_of_two 0
end_well "${readers[0]}" trainer.0 "${readers[1]}" trainer.1 "$first" compute.a2
cmp plain_two/pass-00000/model.safetensors killed/pass-00000/model.safetensors
expect_text trainer.0.err 'Resuming in pass 0 after '
end_servers

echo "a server is killed and comes again, the readers go back to its checkpoint together, and the model is the same, bit for bit"
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=8)
rm -rf killed metrics.*
mkfifo pipe
serve "${ahead[@]}" "${checkpoints[@]}"
places=
compute compute.a "${ahead[@]}" "${checkpoints[@]}"
start_both() {
  start_one_of_two 1 "${checkpoints[@]}" "$@"
  start_one_of_two 0 "${checkpoints[@]}" "$@"
}
# Until a checkpoint is there, in the midst of the data.
start_both_on_pipe() {
  start_both
  open_pipe
  feed 3000
  wait_for_file metrics.0 "${readers[0]}"
  wait_for_batches 20
  wait_for_file checkpoints/LATEST "${readers[0]}"
}
start_both_on_pipe
kill_at_once "${servers[1]}"
exec 3>&-
rm pipe
cp train.txt pipe
start server.two ps-serve job.json --port "$(head -1 server.two.port)" --ports-num-for-sparse 1 --resume "${ahead[@]}" "${checkpoints[@]}"
servers[1]=$started
end_well "${readers[0]}" trainer.0 "${readers[1]}" trainer.1 "$started_compute" compute.a
cmp plain_two/pass-00000/model.safetensors killed/pass-00000/model.safetensors
for rank in 0 1; do expect_text trainer.$rank.err 'going back to the last checkpoint'; done
end_servers

echo "everything is killed, goes on with --resume, and the model is the same, bit for bit"
rm -rf killed metrics.* checkpoints pipe
mkfifo pipe
serve "${ahead[@]}" "${checkpoints[@]}"
places=
compute compute.a "${ahead[@]}" "${checkpoints[@]}"
start_both_on_pipe
for process in "${readers[@]}" "$started_compute" "${servers[@]}"; do kill_at_once "$process"; done
exec 3>&-
rm pipe
serve --resume "${ahead[@]}" "${checkpoints[@]}"
places=
compute compute.a "${ahead[@]}" "${checkpoints[@]}"
start_both --resume
end_well "${readers[0]}" trainer.0 "${readers[1]}" trainer.1 "$started_compute" compute.a
cmp plain_two/pass-00000/model.safetensors killed/pass-00000/model.safetensors
expect_text trainer.0.err 'Resuming in pass 0 after '
end_servers

echo "asynchronous readers have several batches on their way, and their servers write checkpoints"
strategy=(--set train.strategy.consistency=async "${ahead[@]}" --checkpoint-dir free_checkpoints --set checkpoint.steps=25)
serve "${strategy[@]}"
places=
compute compute.a "${strategy[@]}"
train 2 free --role reader --compute "$places" "${strategy[@]}"
end_well "$started_compute" compute.a
end_servers
ls free_checkpoints/step-* >/dev/null || fail "there is no checkpoint: $(ls free_checkpoints)"
(($(in_flight ahead) > 0)) || fail "batches ahead: $(in_flight ahead)"
awk -v auc="$(auc | cut -d: -f2 | tail -n 1)" 'BEGIN { exit !(auc > 0.6) }' || fail "the AUC is $(auc)"

echo "what cannot be is told"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train job.json --data train.txt --servers 127.0.0.1:1 "${ahead[@]}" "$@"
  expect_text err "$text"
}
reader=(--role reader --compute 127.0.0.1:2)
refused "2 trainers push rows" --trainers 2 --rank 0
refused "one compute trainer has the copies" --trainers 2 --rank 0 "${reader[@]}" --compute 127.0.0.1:3
refused "none goes on without another" --trainers 2 --rank 0 "${reader[@]}" --set cluster.on_trainer_loss=continue
refused "train.strategy.max_lag is 3" "${reader[@]}" --set 'train.strategy={"type": "parameter_server", "consistency": "async", "max_lag": 3}'
refused "or train with --role reader" --set train.strategy.consistency=async
serve
expect_status 2 timeout 60 ps-train job.json --data train.txt --servers "$addresses" "${ahead[@]}" "${reader[@]}"
expect_text err 'train.pull_ahead is 6, not absent'
end_servers
