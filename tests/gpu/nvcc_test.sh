#!/bin/bash
# nvcc compiles every kernel that the emulator runs, for compute capability 9.0; no kernel spills registers, each leaves
# room for half of the threads that a multiprocessor holds, and none computes with a value that nvcc takes for undefined.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$PS_SOURCE"

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[[ -x $nvcc ]] || skip "nvcc is not installed"

kMaxRegisters=64 # of 65536, which 1024 threads share

# compile SOURCE: its object, its PTX and what ptxas says of each kernel go to $scratch.  Multiply and add are not fused, as on
# the CPU.
compile() {
  "$nvcc" -std=c++20 -O3 -fmad=false -gencode 'arch=compute_90,code=[sm_90,compute_90]' --expt-relaxed-constexpr \
    -Xptxas -v --keep --keep-dir "$scratch/kept" -Ilib/gpu/cuda -Ilib -Itests -c -o "$scratch/kernel.o" "$1" >"$scratch/ptxas" 2>&1 || {
    cat "$scratch/ptxas" >&2
    fail "nvcc cannot compile $1"
  }
}

# An operand that is the NaN by which nvcc stands for any value: nvcc 13.0 has made such of the result of a function that it
# took out of a program by mistake.
kUndefined='(add|sub|mul|fma|div)[a-z0-9.]*[[:space:]].*(0f7FC00000|0d7FF8000000000000)'

check() {
  local source=$1 spilled registers
  if grep -nE "$kUndefined" "$scratch"/kept/*.ptx >"$scratch/undefined"; then
    fail "$source: nvcc computes with undefined values: $(head -3 "$scratch/undefined")"
  fi
  rm -f "$scratch"/kept/*
  spilled=$(grep -oE '[0-9]+ bytes spill (stores|loads)' "$scratch/ptxas" | grep -v '^0 ' || true)
  [[ -z $spilled ]] || fail "$source: $spilled"
  # Algorithms of CUB choose their own blocks; code of the host alone has no kernels.
  if [[ $source == lib/gpu/cuda/algorithms.cu ]] || ! grep -q 'Used [0-9]* registers' "$scratch/ptxas"; then return; fi
  registers=$(grep -oE 'Used [0-9]+ registers' "$scratch/ptxas" | grep -oE '[0-9]+' | sort -n | tail -1)
  ((registers <= kMaxRegisters)) || fail "$source: a kernel uses $registers registers, expected at most $kMaxRegisters"
  echo "$source: $(grep -c 'Used [0-9]* registers' "$scratch/ptxas") kernels, at most $registers registers"
}

mapfile -t sources < <(find lib tests/gpu -name '*.cu' | sort)
mkdir "$scratch/kept"
for source in "${sources[@]}"; do
  compile "$source"
  check "$source"
done
