#!/bin/bash
# Trainers that compress their gradients, as a user runs them: without compression the model is that of all_reduce, bit
# for bit; with it far fewer bytes travel, the model is as good, and after a kill it has the same bits.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
processes=() held= feeder=
trap 'kill -9 "${processes[@]}" $held $feeder 2>/dev/null || true; rm -rf "$scratch"' EXIT

job=$PS_SOURCE/share/jobs/dense_clicks_dgc.json
ps-datagen sparse-binary --dim 5000 --samples 30000 --output train.txt
short=(--set train.passes=2)  # two hundred steps, most of them compressed

# An address of this test alone: nobody else has this one of the loopback network's.
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))

# start NAME RANKS [flags...]: a trainer of three for each rank, whose processes are $processes.
start() {
  local name=$1 ranks=$2 rank
  shift 2
  processes=()
  for rank in $ranks; do
    ps-train "$job" --data train.txt --peers "$address" --trainers 3 --rank "$rank" --save-dir "$name" --json "$@" \
      >"$name.$rank.json" 2>"$name.$rank.err" &
    processes+=($!)
  done
}

# end_all NAME STATUS: waits for $processes, which end with this status.
end_all() {
  local process status
  for process in "${processes[@]}"; do
    status=0
    wait "$process" || status=$?
    [[ $status == "$2" ]] || fail "a trainer ended with $status: $(cat "$1".*.err)"
  done
  processes=()
}

# train NAME [flags...]: three trainers, to the end.
train() {
  start "$1" "0 1 2" "${@:2}"
  end_all "$1" 0
}

# number KEY FILE: the last number of this key.
number() { grep -o "\"$1\":[0-9.]*" "$2" | tail -n 1 | cut -d: -f2; }

echo "before it begins to compress, the model is that of all_reduce"
train whole "${short[@]}" --set 'train.strategy={"type": "all_reduce"}'
train late "${short[@]}" --set train.strategy.rampup_begin_step=1000000
cmp {whole,late}/pass-00001/model.safetensors

echo "compressed, trainers send a small part of the bytes, and the model is nearly as good"
train best --set 'train.strategy={"type": "all_reduce"}'
train good
[[ $(number whole_bytes best.0.json) == "$(number whole_bytes good.0.json)" ]] || fail "not as many steps"
awk -v sent="$(number bytes_sent good.0.json)" -v whole="$(number bytes_sent best.0.json)" \
  'BEGIN { exit !(sent * 5 < whole) }' || fail "$(cat {best,good}.0.json)"
awk -v dgc="$(number auc good.0.json)" -v whole="$(number auc best.0.json)" \
  'BEGIN { exit !(dgc > whole - 0.02 && whole > 0.8) }' || fail "$(cat {best,good}.0.json)"

echo "every exchange gives the same model"
train compressed "${short[@]}"
cmp -s {whole,compressed}/pass-00001/model.safetensors && fail "nothing was compressed"
for exchange in all_gather owner_split dense; do
  train $exchange "${short[@]}" --set train.strategy.exchange=$exchange
  cmp {compressed,$exchange}/pass-00001/model.safetensors
done

echo "when one is killed while it compresses, all go on from the checkpoint, with the same bits"
checkpoints=("${short[@]}" --checkpoint-dir checkpoints --set checkpoint.steps=7)
mkfifo rest
exec 9<>rest
start killed "0 2" "${checkpoints[@]}"
others=("${processes[@]}")
ps-train "$job" --data rest --peers "$address" --trainers 3 --rank 1 --save-dir killed "${checkpoints[@]}" \
  2>killed.1.err &
held=$!
# Trainer 1 waits for data after its 27th batch of 100, and so after the checkpoint at step 21; compression begins at
# step 20.
head -n $((3 * 100 * 27)) train.txt >&9 &
feeder=$!
for ((tries = 0; ; ++tries)); do
  grep -q step-000000021 checkpoints/LATEST 2>/dev/null && break
  kill -0 "${others[@]}" $held || fail "a trainer has ended: $(cat killed.*.err)"
  ((tries < 600)) || fail "no checkpoint has come: $(cat killed.*.err)"
  sleep 0.1
done
kill -9 $held
processes=("${others[@]}")
end_all killed 4
exec 9>&-
kill $feeder 2>/dev/null || true
for rank in 0 1 2; do [[ -s checkpoints/step-000000021/strategy-$rank.psc ]] || fail "no state of trainer $rank"; done
train resumed "${checkpoints[@]}" --resume
for rank in 0 1 2; do expect_text resumed.$rank.err 'Going on from step 2'; done
for pass in 0 1; do cmp {compressed,resumed}/pass-0000$pass/model.safetensors; done

echo "what cannot be is refused"
expect_status 2 ps-train "$job" --data train.txt --trainers 3 --rank 0
expect_text err 'give --peers HOST:PORT'
expect_status 2 ps-train "$job" --data train.txt --set optimizer.type=adam --set optimizer.momentum=null
expect_text err 'optimizer'
