#!/bin/bash
# Runs for hours what the tests run for seconds: ten thousand kills in every mode, simulated clusters and hostile
# peers of many seeds, every resource failing: the first 500 calls of each kind, and 500 spread over all; and every
# reader of bytes fuzzed.  Needs build/release; with build/asan a tenth of the killed processes are of that, and
# resources fail in it too; with build/fuzz each night adds two hours of fuzzing.
#
# usage: nightly.sh [KILLS]      10000 unless told, over all modes
set -euo pipefail
cd "$(dirname "$0")/.."
modes=(sync staleness async geo log spill rows device heter)
kills=${1:-10000}
asan=()
if [[ -x build/asan/bin/ps-serve ]]; then asan=(--asan); fi
seeds=$(((kills + 50 * ${#modes[@]} - 1) / (50 * ${#modes[@]}))) # of 50 kills each
for mode in "${modes[@]}"; do
  tests/e2e/kill_test.sh --mode "$mode" --seeds "$seeds" "${asan[@]}" 50
done
tests/e2e/kill_test.sh --mode peers --seeds "$(((seeds + 9) / 10))" 50 # with each of ten strategies
for test in faults recovery heter_recovery; do PS_SIM_SEEDS=5000 build/release/bin/sim_$test; done
PS_SIM_SEEDS=200000 build/release/bin/sim_any_order
for build in release asan; do
  if [[ -x build/$build/bin/ps-serve ]]; then
    PS_BIN=build/$build/bin FAIL_FIRST=500 FAIL_POINTS=500 tests/e2e/resources_test.sh
  fi
done
if [[ -x build/fuzz/bin/fuzz_ps_shard ]]; then share/fuzz_all.sh 2; fi
