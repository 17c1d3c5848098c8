#!/bin/bash
# --cpu: every level that the processor has trains to the same figures, whatever the threads; what is not there is
# refused; and no level's instructions leak into code that all processors run.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

job=$PS_SOURCE/share/jobs/sparse_binary.json  # bags, products of matrices, momentum of rows that sit out steps
"$PS_BIN/ps-datagen" sparse-binary --samples 1000 --nnz 5:10 --output "$scratch/train.txt"

train() {
  local level=$1 threads=$2
  shift 2
  "$PS_BIN/ps-train" "$job" --data "$scratch/train.txt" --cpu "$level" --threads "$threads" --passes 1 --json \
    --save-dir "$scratch/$level-$threads" "$@"
}

check_unknown_levels_are_refused() {
  expect_status 2 train sse9 1
  expect_text "$scratch/err" "--cpu: unknown value 'sse9'"
  expect_status 2 env PS_CPU=sse9 "$PS_BIN/ps-train" "$job" --data "$scratch/train.txt"
  expect_text "$scratch/err" "PS_CPU: unknown value 'sse9'"
}

# has LEVEL: true when the processor has it; else the refusal says what is lacking.
has() {
  local status=0
  train "$1" 1 --dry-run >"$scratch/out" 2>"$scratch/err" || status=$?
  if [[ $status == 0 ]]; then
    expect_text "$scratch/err" "$1 kernels"
    return 0
  fi
  [[ $status == 2 ]] || fail "--cpu $1 ended with status $status"
  expect_text "$scratch/err" "--cpu: '$1' needs "
  return 1
}

# Sums of products round differently, by less than a millionth.
check_levels_train_to_the_same_figures() {
  need jq
  local level cost first=
  for level in baseline avx2 avx512; do
    has "$level" || continue
    train "$level" 1 >"$scratch/result" 2>"$scratch/err"
    jq -e --arg level "$level" '.cpu == $level' "$scratch/result" >"$scratch/out" || fail "the result does not name $level"
    expect_text "$scratch/err" "1 threads and $level kernels"
    cost=$(jq '.passes[0].avg_cost' "$scratch/result")
    first=${first:-$cost}
    jq -en "($cost - $first | fabs) <= 1e-6 * $first" >"$scratch/out" || fail "cost $cost with $level, $first with baseline"
    train "$level" 3 >"$scratch/result" 2>"$scratch/err"
    cmp "$scratch/$level-1/pass-00000/model.safetensors" "$scratch/$level-3/pass-00000/model.safetensors" ||
      fail "threads change the model of $level"
    checked="${checked:-} $level"
  done
}

check_the_environment_chooses_too() {
  PS_CPU=baseline "$PS_BIN/ps-train" "$job" --data "$scratch/train.txt" --dry-run 2>"$scratch/err"
  expect_text "$scratch/err" "baseline kernels"
}

# All that the objects of a level define for the linker is named after the level: were it not, the linker could take
# it in place of what the baseline compiled under the same name.  (DW.ref is a pointer, no code.)
check_no_symbol_leaks() {
  command -v nm >/dev/null || return 0
  local level object count=0
  for level in avx2 avx512; do
    for object in "$(dirname "$PS_BIN")"/CMakeFiles/ps_*_cpu_"$level".dir/{joined,lib/*/kernels}/*.o; do
      [[ -e $object ]] || continue
      count=$((count + 1))
      if nm -C --defined-only --extern-only "$object" | grep -vE "cpu_$level::|Eigen_$level::|DW\.ref\."; then
        fail "$object defines the above under names that other levels share"
      fi
    done
  done
  echo "$count objects define only what is their level's"
}

checked=
check_unknown_levels_are_refused
check_levels_train_to_the_same_figures
check_the_environment_chooses_too
check_no_symbol_leaks
echo "levels that trained alike:$checked"
