#!/bin/bash
# Functions and numbers of NCCL are those of NVIDIA's nccl.h, and its library has them: where they are installed, in
# $NCCL_FOLDER/include and $NCCL_FOLDER/lib.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need c++
folder=
for folder in "${NCCL_FOLDER:-/nowhere}" /usr/local/cuda /usr/local /usr; do [[ -e $folder/include/nccl.h ]] && break; done
[[ -e $folder/include/nccl.h ]] || skip "nccl.h is not installed"
cuda=${CUDA_FOLDER:-/usr/local/cuda}
[[ -e $cuda/include/cuda_runtime.h || -e /usr/include/cuda_runtime.h ]] || skip "cuda_runtime.h is not installed"

c++ -std=c++20 -fsyntax-only -I"$PS_SOURCE/lib" -I"$folder/include" -isystem "$cuda/include" \
  "$PS_SOURCE/tests/support/nccl_header.cc" 2>"$scratch/err" || fail "$(cat "$scratch/err")"
echo "the functions are those of $folder/include/nccl.h"

library=
for library in "$folder"/lib{,64}/libnccl.so.2; do [[ -e $library ]] && break; done
[[ -e $library ]] || skip "libnccl.so.2 is not beside it"
cd "$scratch"
write_job nccl '{"directory": ""}'
"$PS_BIN/ps-datagen" sparse-binary --dim 5000 --samples 40 --output train.txt
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1))
trainers=()
for rank in 0 1; do
  timeout 120 "$PS_BIN/ps-train" job.json --data train.txt --peers "$address" --trainers 2 --rank $rank --log-level warning \
    --set train.strategy.type=all_reduce --set model.layers.0.sparse_update=false --device emulated --set device.trains=model \
    --collective nccl --nccl-library "$library" >$rank.out 2>$rank.err &
  trainers+=($!)
done
for rank in 0 1; do
  status=0
  wait "${trainers[$rank]}" || status=$?
  # It has all functions and says its version; only then is it found to be for another kind of device.
  [[ $status == 2 ]] || fail "trainer $rank ended with $status: $(cat $rank.err)"
  expect_text $rank.err "reaches the memory of GPUs alone"
done
echo "$library has them"
