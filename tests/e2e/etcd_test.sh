#!/bin/bash
# Servers that register in etcd, and trainers that find them there: whoever comes first waits; a server that is stopped
# is replaced, and ends with status 8 when it wakes; without etcd those who know each other go on.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need etcd etcdctl jq
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
all=() etcd=
trap 'kill -9 "${all[@]}" 2>/dev/null || true; remove_scratch' EXIT

# await FILE TEXT: until the file, which grows, has it.
await() {
  timeout 60 grep -qm1 -- "$2" <(tail -n +1 -F --pid=$$ "$1" 2>/dev/null) || fail "'$2' does not come in $1"
}

# start_etcd: on the ports that it had before, if any.
start_etcd() {
  : "${port:=$(free_ports 2)}"
  : >etcd.log
  etcd --data-dir etcd.d --listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
    --listen-peer-urls "http://127.0.0.1:$((port + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
    --initial-cluster "default=http://127.0.0.1:$((port + 1))" --unsafe-no-fsync >etcd.log 2>&1 &
  etcd=$!
  all+=("$etcd")
  await etcd.log 'serving insecure client requests\|serving client traffic'
}

# serve NAME JOB [flags...]: begins a server, and does not wait for it.
serve() {
  local name=$1 prefix=$2
  shift 2
  ps-serve "$job" --host 127.0.0.1 --port 0 --discovery "etcd://127.0.0.1:$port/$prefix" --set cluster.num_servers=2 \
    --set cluster.request_timeout=2 "$@" >"$name.out" 2>>"$name.err" &
  eval "$name=$!"
  all+=("$!")
}

# train NAME JOB RANK [flags...]: one of two trainers.
train() {
  local name=$1 prefix=$2 rank=$3
  shift 3
  ps-train "$job" --discovery "etcd://127.0.0.1:$port/$prefix" --set cluster.num_servers=2 --rank "$rank" --trainers 2 \
    --set cluster.request_timeout=2 --data train.txt --set data.batch_size=20 --set train.log_period=10000 "$@" \
    >"$name.out" 2>>"$name.err" &
  eval "$name=$!"
  all+=("$!")
}

# expect_end NAME STATUS
expect_end() {
  local status=0
  wait "${!1}" || status=$?
  [[ $status == "$2" ]] || fail "$1 ended with $status, expected $2: $(tail -n 5 "$1.err")"
}

value() { etcdctl --endpoints "127.0.0.1:$port" get --print-value-only "$@"; }

ps-datagen ctr --samples 40000 --output train.txt
start_etcd

echo "trainers wait for servers that register"
train first job 0 --passes 2 --save-dir calm
train second job 1 --passes 2 --save-dir calm
await first.err 'waiting: server 0, 1 of 2 is not registered in etcd://'
serve one job
await one.out '"server":0'
await first.err 'waiting: server 1 of 2 is not registered in etcd://'
serve two job
expect_end first 0
expect_end second 0
[[ $(value /job/servers/1) == *"127.0.0.1:$(jq '.ports[0]' two.out), process $two"* ]] || fail "$(value --prefix /job/)"
[[ $(value /job/saves/pass-00001) == *'"rank":0,'*'"saved":true'* ]] || fail "$(value --prefix /job/saves/)"
serve third job
expect_end third 8
expect_text third.err "every server of the job in etcd://127.0.0.1:$port/job lives (0: 127.0.0.1:"
kill -TERM "$one" "$two"
expect_end one 0
expect_end two 0
[[ -z $(value --prefix /job/servers/) ]] || fail "who has ended is still registered"

echo "a server that is stopped, replaced, and awake again"
serve head lost --checkpoint-dir lost.d --set checkpoint.steps=20
await head.out '"server":0'
serve stopped lost --checkpoint-dir lost.d --set checkpoint.steps=20
await stopped.out '"server":1'
train third_trainer lost 0 --passes 2 --save-dir lost
train fourth_trainer lost 1 --passes 2 --save-dir lost
until grep -q 'Checkpoint at step ' head.err; do kill -0 "$head" && sleep 0.02; done # at once: the run is short
kill -STOP "$stopped"
serve successor lost --checkpoint-dir lost.d --set checkpoint.steps=20 --resume
expect_end third_trainer 0
expect_end fourth_trainer 0
expect_text third_trainer.err 'going back to the last checkpoint'
cat third_trainer.err fourth_trainer.err >both.err
expect_text both.err 'a server of the job is at another place now'
expect_text successor.out '"server":1'
cmp calm/pass-00001/model.safetensors lost/pass-00001/model.safetensors
kill -CONT "$stopped"
expect_end stopped 8
expect_text stopped.err "is 127.0.0.1:$(jq '.ports[0]' successor.out), process $successor, of generation"
kill -TERM "$head" "$successor"
expect_end head 0
expect_end successor 0

echo "without etcd those who know each other go on"
serve left down
await left.out '"server":0'
serve right down
await right.out '"server":1'
train fifth_trainer down 0 --passes 100 --save-dir down
train sixth_trainer down 1 --passes 100 --save-dir down
await fifth_trainer.err 'Pass=0 '
kill -9 "$etcd"
await left.err 'going on with the trainers that are here, without etcd://'
: >fifth_trainer.err
await fifth_trainer.err 'Pass='
serve late down
await late.err 'waiting for etcd://.* refused'
start_etcd
await left.err 'is there again'
await right.err 'is there again'
kill -KILL "$fifth_trainer" "$sixth_trainer"
# It is told to end while it waits for a place, or has found meanwhile that there is none.
kill -TERM "$late" 2>/dev/null || true
status=0
wait "$late" || status=$?
[[ $status == 0 || $status == 8 ]] || fail "late ended with $status: $(tail -n 5 late.err)"
kill -0 "$left" "$right" || fail "a server has ended"
echo passed
