#!/bin/bash
# A job whose servers are found in etcd (Debian's etcd-server).  One of its 2 servers is stopped, as by a machine that
# hangs, and another is started in its place, at another port; trainers go there by themselves.  When the old one wakes
# it ends with status 8.  Prints what the servers say, and the checksums of the model and of an undisturbed run's.
set -euo pipefail
cd "$(dirname "$0")/.."
source share/launch/common.sh

output=build/find_servers
job=share/jobs/quickstart.json
rm -rf "$output"
mkdir -p "$output"
port=$(free_ports 2)
place=etcd://127.0.0.1:$port/quickstart
trap 'kill -KILL $(jobs -p) 2>/dev/null || true' EXIT
etcd --data-dir "$output/etcd" --listen-client-urls "http://127.0.0.1:$port" --listen-peer-urls "http://127.0.0.1:$((port + 1))" \
  --advertise-client-urls "http://127.0.0.1:$port" >"$output/etcd.log" 2>&1 &

# server NAME [flags...]: on any port; registers as number 0 or 1, whichever is free.
server() {
  ps-serve "$job" --host 127.0.0.1 --port 0 --discovery "$place" --set cluster.num_servers=2 --set cluster.request_timeout=2 \
    --checkpoint-dir "$output/checkpoints" --set checkpoint.steps=50 "${@:2}" >"$output/$1.out" 2>"$output/$1.log" &
  server_ids+=($!)
}

ps-datagen ctr --samples 100000 --output "$output/train.txt"
flags=(--data "$output/train.txt" --passes 2)
share/launch/local.sh -s 2 -n 2 "$job" "${flags[@]}" --save-dir "$output/undisturbed" 2>/dev/null

server first
wait_for_file "$output/first.out" "${server_ids[0]}"
server second
for rank in 0 1; do
  ps-train "$job" "${flags[@]}" --discovery "$place" --set cluster.num_servers=2 --set cluster.request_timeout=2 \
    --rank $rank --trainers 2 --save-dir "$output/moved" 2>"$output/train.$rank.log" &
  trainer_ids+=($!)
done
until grep -q 'Checkpoint at step' "$output/first.log"; do kill -0 "${server_ids[0]}" && sleep 0.05; done
kill -STOP "${server_ids[1]}"
server third --resume
wait "${trainer_ids[0]}"
wait "${trainer_ids[1]}"
kill -CONT "${server_ids[1]}"
status=0
wait "${server_ids[1]}" || status=$?
grep -hE 'Server . of the job|taken the place' "$output"/{first,second,third}.log
echo "the server that was stopped ended with status $status"
grep -hE 'going back|Resuming' "$output/train.0.log"
sha256sum "$output"/{undisturbed,moved}/pass-00001/model.safetensors
cmp "$output"/{undisturbed,moved}/pass-00001/model.safetensors
echo "the same model"
