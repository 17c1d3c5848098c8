#!/bin/bash
# Servers whose disk, a real one, becomes full: that checkpoint fails, the one before stays, training goes on; with room
# there is a checkpoint again, and the model is that of an undisturbed run.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
if [[ ${1:-} != inside ]]; then
  # The disk is one that nobody else sees.
  unshare --mount --map-root-user true 2>/dev/null || skip "this machine gives out no mount namespaces"
  unshare --mount --map-root-user bash "$0" inside
  exit
fi
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
programs=()
trap 'kill "${programs[@]}" 2>/dev/null || true; wait; umount "$scratch/disk" 2>/dev/null || true; remove_scratch' EXIT
mkdir disk
mount -t tmpfs -o size=32m none disk
mkfifo data.pipe ready.pipe

# feed: a batch or two more of data, none of which comes twice; fed.txt has what came.
samples=0
feed() {
  ps-datagen ctr --first $samples --samples 400 | tee -a fed.txt >&3
  samples=$((samples + 400))
}

# ask TEXT: asks for a checkpoint, and feeds until the servers have said TEXT once more.
ask() {
  local before
  before=$(grep -c "$1" serve.err || true)
  kill -USR2 "$server"
  while (($(grep -c "$1" serve.err || true) == before)); do
    kill -0 "$server" && kill -0 "$trainer" || fail "$(cat ./*.err)"
    feed
  done
}

# metric NAME: the sum over the shards.
metric() {
  python3 - "$1" <<'PY'
import json
import sys
import urllib.request
port = json.load(open("ready.json"))["status_port"]
text = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics").read().decode()
print(sum(int(line.split()[-1]) for line in text.splitlines() if line.startswith(sys.argv[1] + "{")))
PY
}

ps-serve "$job" --host 127.0.0.1 --port 0 --port-file port --status-port 0 --ports-num 2 --checkpoint-dir disk/checkpoints \
  --checkpoint-period 0 >ready.pipe 2>serve.err &
server=$!
programs+=("$server")
head -n 1 ready.pipe >ready.json
ps-train "$job" --passes 1 --data data.pipe --save-dir served --servers "127.0.0.1:$(head -n 1 port)" 2>train.err &
trainer=$!
programs+=("$trainer")
exec 3>data.pipe

echo "with room"
ask 'Checkpoint at step'
before=$(readlink disk/checkpoints/LATEST || cat disk/checkpoints/LATEST)
(($(metric pskit_shard_checkpoints_failed_total) == 0)) || fail "$(cat serve.err)"

echo "with none the checkpoint before stays"
head -c 64M /dev/zero >disk/filler 2>/dev/null && fail "the disk has more room than it was given"
ask 'failed, the one before it stays'
expect_text serve.err 'no space left on device'
[[ $(readlink disk/checkpoints/LATEST || cat disk/checkpoints/LATEST) == "$before" ]] || fail "$(ls -l disk/checkpoints)"
ps-ckpt2model disk/checkpoints --verify
while (($(metric pskit_shard_checkpoints_failed_total) == 0)); do sleep 0.1; done

echo "and with room again there is another one, of a job that has gone on"
rm disk/filler
ask 'Checkpoint at step'
exec 3>&-
wait "$trainer" || fail "$(cat train.err)"
kill -TERM "$server"
wait "$server"
ps-ckpt2model disk/checkpoints --verify
ps-train "$job" --passes 1 --data fed.txt --save-dir alone 2>alone.err
cmp alone/pass-00000/model.safetensors served/pass-00000/model.safetensors
echo passed
