#!/bin/bash
# A server whose checkpoints fail: trainers say why, go on, and end with an error when models of passes are missing.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
programs=()
trap 'kill "${programs[@]}" 2>/dev/null || true; remove_scratch' EXIT
ps-datagen ctr --samples 2000 --output train.txt

# Its files may have 4 KiB, which is less than the rows of a checkpoint.
mkfifo ready
(
  trap '' XFSZ
  ulimit -f 4
  exec ps-serve "$job" --host 127.0.0.1 --port 0 --port-file port --checkpoint-dir checkpoints --checkpoint-period 0
) >ready 2>serve.err &
programs+=($!)
head -n 1 ready >/dev/null
status=0
ps-train "$job" --data train.txt --passes 3 --save-dir saved --servers "127.0.0.1:$(head -1 port)" >out 2>train.err || status=$?
expect_text train.err "cannot save pass-00000, training goes on: the servers' files: cannot write 'checkpoints/writing-"
expect_text train.err '2 of 3 models could not be saved; the first: pass-00000: '
[[ $status == 4 ]] || fail "ended with $status: $(cat train.err)"
[[ ! -e saved/pass-00000/model.safetensors && -s saved/pass-00002/model.safetensors ]] || fail "$(find saved)"
echo passed
