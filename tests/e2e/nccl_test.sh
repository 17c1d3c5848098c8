#!/bin/bash
# --collective nccl, with tests/support/nccl_test.cc in the place of NCCL, on emulated devices: the model is that of TCP, bit
# for bit, since that library adds in the order of ranks; gradients do not leave the device; and whatever goes wrong with a
# rank or with NCCL ends all ranks with a message and the status of its cause.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
library=${NCCL_TEST_LIBRARY:-$PS_BIN/../tests/libnccl_test.so}
[[ -e $library ]] || skip "libnccl_test.so is not built"
device=${TEST_DEVICE:-emulated}
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))
processes=()
trap 'kill -9 "${processes[@]}" 2>/dev/null || true; remove_scratch' EXIT

# A batch norm has running means, which are no matrices, and the last batches are not of all trainers.
cat >job.json <<'JSON'
{
  "job": {"name": "nccl"},
  "data": {"format": "paddle_sparse_binary", "dim": 400, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "hidden", "type": "fc", "input": "features", "size": 8, "activation": "tanh"},
      {"name": "normal", "type": "batch_norm", "input": "hidden"},
      {"name": "output", "type": "fc", "input": "normal", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "momentum", "momentum": 0.9, "learning_rate": 0.05, "l2": 0.0001},
  "train": {"passes": 2, "log_period": 0, "strategy": {"type": "all_reduce"}}
}
JSON
ps-datagen sparse-binary --dim 400 --samples 410 --output train.txt
nccl=(--collective nccl --nccl-library "$library")

# start NAME TRAINERS [flags...]: that many trainers, whose processes are $processes.  The environment of rank R gets
# what mishaps[R] says.
declare -A mishaps=()
start() {
  local name=$1 trainers=$2 rank
  shift 2
  rm -rf "$name"
  processes=()
  for ((rank = 0; rank < trainers; ++rank)); do
    env ${mishaps[$rank]:-} timeout 300 ps-train job.json --data train.txt --peers "$address" --trainers "$trainers" --rank $rank \
      --save-dir "$name" --json --device "$device" --set device.trains=model "$@" >"$name.$rank.json" 2>"$name.$rank.err" &
    processes+=($!)
  done
}

# end_all NAME STATUS...: waits for $processes, which end with these statuses; the last is that of all others.
end_all() {
  local name=$1 process status expected
  shift
  for process in "${processes[@]}"; do
    expected=$1 status=0
    [[ $# == 1 ]] || shift
    wait "$process" || status=$?
    [[ $status == "$expected" ]] || fail "a trainer ended with $status, expected $expected: $(tail -n 5 "$name".*.err)"
  done
  processes=()
}

train() {
  start "$@"
  end_all "$1" 0
}

same_models() { for pass in 0 1; do cmp {"$1","$2"}/pass-0000$pass/model.safetensors; done; }

for trainers in 2 3; do
  echo "$trainers trainers have the model of TCP, and add up on their devices"
  train tcp$trainers $trainers --set train.strategy.algorithm=direct
  train nccl$trainers $trainers "${nccl[@]}"
  same_models {tcp,nccl}$trainers
  # Both matrices, and what else of both fully connected layers and the norm is trained there.
  there=$(grep -o '"added_there":[0-9]*' nccl$trainers.0.json | tail -n 1)
  [[ ${there#*:} -ge 4 ]] || fail "gradients went through the host: $(cat nccl$trainers.0.json)"
  if grep -q added_there tcp$trainers.0.json; then fail "TCP cannot add up on a device"; fi
done

echo "so have they where gradients come to the host: clipped by their norm, compressed, or averaged"
train tcp.clip 3 --set train.strategy.algorithm=direct --set optimizer.clip_global_norm=1
train nccl.clip 3 "${nccl[@]}" --set optimizer.clip_global_norm=1
same_models {tcp,nccl}.clip
for strategy in '{"type": "power_sgd"}' '{"type": "dgc"}' '{"type": "compressed_all_reduce"}' '{"type": "post_local_sgd", "k_steps": 4}'; do
  train tcp.other 3 --set train.strategy="$strategy"
  train nccl.other 3 "${nccl[@]}" --set train.strategy="$strategy"
  same_models {tcp,nccl}.other
done

echo "a trainer that dies in a collective is named by all others, and the job goes on from its checkpoint with the same bits"
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=3)
mishaps=([1]="NCCL_TEST=ncclAllReduce:60:die")
start killed 3 "${nccl[@]}" "${checkpoints[@]}"
end_all killed 4 137 4
for rank in 0 2; do expect_text killed.$rank.err 'rank 1 at'; done
mishaps=()
start resumed 3 "${nccl[@]}" "${checkpoints[@]}" --resume
end_all resumed 0
expect_text resumed.0.err 'Going on from step'
cmp {nccl3,resumed}/pass-00001/model.safetensors

# goes_wrong MISHAP RANK STATUS TEXT [flags...]: a mishap of one rank of two, which ends with this status and text; the
# other one ends with 4.
goes_wrong() {
  local rank=$2
  echo "$1 of trainer $rank"
  mishaps=([$rank]="$1")
  start wrong 2 "${nccl[@]}" "${@:5}"
  if [[ $rank == 0 ]]; then end_all wrong "$3" 4; else end_all wrong 4 "$3"; fi
  expect_text wrong.$rank.err "$4"
  expect_text wrong.$((1 - rank)).err "rank $rank at"
  mishaps=()
}
goes_wrong NCCL_TEST=ncclCommInitRankConfig:1:fail 1 4 "NCCL's ncclCommInitRankConfig failed: unhandled cuda error"
goes_wrong NCCL_TEST=ncclCommInitRankConfig:1:error 0 4 "NCCL's ncclCommInitRankConfig failed: unhandled system error"
goes_wrong NCCL_TEST=ncclAllReduce:20:fail 1 1 "NCCL's ncclAllReduce failed: internal error"
goes_wrong NCCL_TEST=ncclAllReduce:20:fail 0 1 "NCCL's ncclAllReduce failed: internal error"
goes_wrong NCCL_TEST=ncclAllReduce:20:error 1 4 "NCCL's all-reduce failed: unhandled system error"

echo "a trainer in which NCCL hangs ends all at the deadline"
for call in ncclCommInitRankConfig:1 ncclAllReduce:20; do
  mishaps=([1]="NCCL_TEST=$call:hang")
  start hangs 2 "${nccl[@]}" --set cluster.trainer_timeout=2
  end_all hangs 4
  cat hangs.[01].err >all.err
  expect_text all.err "has not ended within 2 s, though all trainers have begun it"
done
mishaps=()

# refused TEXT STATUS [flags...]: both of two trainers end so.
refused() {
  start refused 2 "${@:3}"
  end_all refused "$2"
  for rank in 0 1; do expect_text refused.$rank.err "$1"; done
}
echo "what cannot be is refused, by all"
refused "trainer 0: cluster.nccl_library: cannot load 'none.so'" 2 --collective nccl --nccl-library none.so
refused "'libm.so.6' has no function ncclGetVersion, and so is not NCCL 2.14 or later" 2 --collective nccl --nccl-library libm.so.6
mishaps=([0]=NCCL_TEST_VERSION=21304 [1]=NCCL_TEST_VERSION=21304)
refused "is NCCL 2.13.4, expected 2.14.0 or later" 2 "${nccl[@]}"
mishaps=([1]=NCCL_TEST_VERSION=22910)
refused "trainer 1 has NCCL 2.29.10, and trainer 0 2.28.9: all need the same" 2 "${nccl[@]}"
mishaps=([0]=NCCL_TEST=ncclGetUniqueId:1:fail)
refused "trainer 0: NCCL's ncclGetUniqueId failed: unhandled system error" 4 "${nccl[@]}"
mishaps=()
device=cpu refused "nccl adds up in the memory of a device, and the model is computed on the processor" 2 "${nccl[@]}"
refused "the algorithm is NCCL's affair: leave it out" 2 "${nccl[@]}" --set train.strategy.algorithm=ring
