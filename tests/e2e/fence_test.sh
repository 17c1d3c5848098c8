#!/bin/bash
# A server whose place another one has: it ends with status 8, and touches nothing, whether it was too many from the
# beginning, or was replaced while it was stopped.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
servers=() trainer=()
trap 'kill -9 "${servers[@]}" "${trainer[@]}" 2>/dev/null || true; remove_scratch' EXIT

# serve NAME [flags...]: a server on ports of its own, which writes to the one folder of all.
serve() {
  local name=$1
  shift
  rm -f "ready.$name"
  mkfifo "ready.$name"
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file "ports.$name" --checkpoint-dir checkpoints \
    --set checkpoint.steps=5 --set cluster.request_timeout=4 "$@" >"ready.$name" 2>>"$name.err" &
  servers+=($!)
  eval "$name=$!"
  head -1 "ready.$name" >"$name.out"
  [[ -s $name.out ]] || fail "server $name: $(cat "$name.err")"
}

# train SERVER PASSES [flags...]: starts a trainer of it.
train() {
  local server=$1 passes=$2
  shift 2
  ps-train "$job" --servers "127.0.0.1:$(head -1 "ports.$server")" --data train.txt --passes "$passes" \
    --set cluster.request_timeout=4 --set cluster.server_timeout=10 --set data.batch_size=20 --set train.log_period=10000 "$@" >"train.$server.out" \
    2>"train.$server.err" &
  trainer=($!)
}

# await FILE TEXT: until the file, which grows, has it.
await() {
  timeout 60 grep -qm1 -- "$2" <(tail -n +1 -F --pid=$$ "$1" 2>/dev/null) || fail "'$2' does not come in $1"
}

# expect_end ID STATUS
expect_end() {
  local status=0
  wait "$1" || status=$?
  [[ $status == "$2" ]] || fail "process $1 ended with $status, expected $2: $(tail -n 3 ./*.err 2>&1)"
}

# Names, sizes and times of the files that must not change.
folder() { find checkpoints -mindepth 1 ! -path 'checkpoints/servers*' -printf '%p %s %T@\n' | sort; }

ps-datagen ctr --samples 40000 --output train.txt

echo "the second server on one folder"
serve first --set checkpoint.bandwidth=1M
train first 100
await first.err 'Checkpoint at step '
serve second --resume
victim=${trainer[0]}
train second 1
expect_end "$second" 8
expect_text second.err "server 0 of this job is 127.0.0.1:$(head -1 ports.first), process $first, and lives"
expect_end "${trainer[0]}" 4
kill -0 "$first" || fail "the first server has ended"
trainer=("$victim")

echo "a server that is stopped in the midst of a checkpoint, replaced, and awake again"
await first.err 'Checkpoint at step '
# At this rate nearly all of the time goes by before a write: it is not stopped between its last look at its place and
# what it then does.
until compgen -G 'checkpoints/writing-*/rows-*' >/dev/null; do kill -0 "$first"; done
kill -STOP "$first"
kill -9 "${trainer[0]}"
expect_end "${trainer[0]}" 137
serve third --resume
train third 1 --resume
expect_end "${trainer[0]}" 0
trainer=()
expect_text third.err "server 0 of this job, 127.0.0.1:$(head -1 ports.first), process $first, shows no sign of life"
kill -TERM "$third"
expect_end "$third" 0
folder >before
kill -CONT "$first"
expect_end "$first" 8
folder >after
cmp before after
expect_text first.err "server 0 of the job is 127.0.0.1:$(head -1 ports.third), process $third, of generation 2 after 1"
ps-ckpt2model checkpoints --verify

echo "a server that was killed does not make its successor wait"
for server in fourth fifth; do
  serve $server --resume
  train $server 2 --resume
  expect_end "${trainer[0]}" 0
  kill -9 "${!server}"
  expect_end "${!server}" 137
  if grep 'no sign of life' $server.err; then fail "$server has waited"; fi
done
[[ -e checkpoints/servers/server-0.generation-4 ]] || fail "$(ls checkpoints/servers)"
echo passed
