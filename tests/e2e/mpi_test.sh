#!/bin/bash
# Collectives over Open MPI, on three ranks that mpirun starts.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need mpirun
[[ -x $PS_BIN/unit_collective ]] || skip "unit_collective is not built"
run=(mpirun --allow-run-as-root --oversubscribe --mca btl "tcp,self" --mca btl_tcp_if_include lo -n 3
  "$PS_BIN/unit_collective" --gtest_also_run_disabled_tests "--gtest_filter=DISABLED_Mpi.*")
status=0
"${run[@]}" >"$scratch/out" 2>"$scratch/err" || status=$?
if grep -q "MPI was not installed when this was built" "$scratch/out"; then skip "built without Open MPI"; fi
[[ $status == 0 ]] || fail "$(cat "$scratch/out" "$scratch/err")"
expect_text "$scratch/out" "summed over 3 ranks"
echo "three ranks agree over Open MPI"
