#!/bin/bash
# nvcc compiles every kernel that the emulator runs, for compute capability 9.0; no kernel spills registers, each fills half
# of a multiprocessor, none computes with a value that nvcc takes for undefined, and those that read rows of tables read
# them 16 bytes at a time.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$PS_SOURCE"

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[[ -x $nvcc ]] || skip "nvcc is not installed"

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

# loads_of NAME FILE: how many loads of 16 bytes the PTX of the first kernel has whose mangled name holds NAME; fails without
# such a kernel.  A load of 4 values of 32 bits is one instruction, which the device divides into as many sectors.
loads_of() {
  awk -v name="$1" '
    /\.entry / { inside = !found && index($0, name); found = found || inside }
    inside && /[[:space:]]ld(\.[a-z_0-9]+)*\.v(4\.[fsub]32|2\.[fsub]64)/ { ++loads }
    END { if (!found) exit 1; print loads + 0 }' "$2"
}

# expect_wide_loads FILE NAME...: these kernels are there, and have loads of 16 bytes.
expect_wide_loads() {
  local file=$1 name loads
  shift
  for name in "$@"; do
    loads=$(loads_of "$name" "$file") || fail "$file has no kernel $name"
    ((loads > 0)) || fail "$file: kernel $name loads no 16 bytes at a time"
  done
}

# The kernels by which tables give weights, one table at a time and several together; and that this test sees loads that are
# not as wide.
check_loads() {
  case $1 in
    lib/table/cuda/device_table.cu)
      expect_wide_loads "$scratch/kept/device_table.ptx" 12read_weights 12find_weights
      sed 's/\.v4\.[fsub]32/.v2.u32/' "$scratch/kept/device_table.ptx" >"$scratch/planted.ptx"
      [[ $(loads_of 12read_weights "$scratch/planted.ptx") == 0 ]] || fail "loads of 8 bytes pass for such of 16"
      ;;
    lib/table/cuda/table_group.cu)
      expect_wide_loads "$scratch/kept/table_group.ptx" 11ReadWeights 11FindWeights 18step_group_pointed
      ;;
  esac
}

# Name, registers and bytes of static shared memory of each kernel in $scratch/ptxas, a line each.
figures_of_kernels() {
  sed -nE "s/.*Compiling entry function '([^']*)'.*/\1/p; s/.*Used ([0-9]+) registers(.*[ ,]([0-9]+) bytes smem)?.*/\1 0\3/p" \
    "$scratch/ptxas" | paste -d '\t' - - | c++filt | sed -E 's/\(anonymous namespace\)/anonymous/g' |
    awk -F '\t' '{ sub(/[<(].*/, "", $1); sub(/.*::/, "", $1); print $1, $2 }'
}

check() {
  local source=$1 spilled
  if grep -nE "$kUndefined" "$scratch"/kept/*.ptx >"$scratch/undefined"; then
    fail "$source: nvcc computes with undefined values: $(head -3 "$scratch/undefined")"
  fi
  check_loads "$source"
  rm -f "$scratch"/kept/*
  spilled=$(grep -oE '[0-9]+ bytes spill (stores|loads)' "$scratch/ptxas" | grep -v '^0 ' || true)
  [[ -z $spilled ]] || fail "$source: $spilled"
  # Algorithms of CUB choose their own blocks; code of the host alone has no kernels.
  if [[ $source == lib/gpu/cuda/algorithms.cu ]] || ! grep -q 'Used [0-9]* registers' "$scratch/ptxas"; then return; fi
  figures_of_kernels >"$scratch/figures"
  [[ $(wc -l <"$scratch/figures") == $(grep -c 'Used [0-9]* registers' "$scratch/ptxas") ]] || fail "$source: $(cat "$scratch/figures")"
  "$scratch/occupancy" <"$scratch/figures" >"$scratch/filled" || fail "$source: $(cat "$scratch/filled")"
  echo "$source: $(cat "$scratch/filled")"
}

# Half of a multiprocessor is what blocks leave that have 64 registers a thread, and 28 KiB for 256 threads.
"${CXX:-g++}" -std=c++20 -w -Ilib/gpu/emulated -Ilib -isystem "$(dirname "$(dirname "$(realpath "$nvcc")")")/include" \
  -o "$scratch/occupancy" tests/gpu/cuda/occupancy.cc
for right in 'right 64 0' 'right 32 1000' 'step_long_runs 64 0'; do
  echo "$right" | "$scratch/occupancy" >"$scratch/filled" || fail "this fails: $(cat "$scratch/filled")"
done
for planted in 'wrong 65 0' 'wrong 32 30000' 'step_long_runs 255 40000' ''; do
  ! echo "$planted" | "$scratch/occupancy" >"$scratch/filled" || fail "this passes: $planted"
done

mapfile -t sources < <(find lib tests/gpu -name '*.cu' | sort)
mkdir "$scratch/kept"
for source in "${sources[@]}"; do
  compile "$source"
  check "$source"
done
