#!/bin/bash
# Installs and builds what is missing, then runs the tests; the last lines are ctest's summary.
#
# usage: tests/run.sh [--quick | --clang | --sanitize]
#   (nothing)   all tests, on the release build
#   --quick     only those labelled quick: unit, property and fuzz replays
#   --clang     builds everything with clang 14, optimised; runs nothing
#   --sanitize  builds everything with clang 14 and the address and undefined-behaviour sanitizers, and runs the quick
#               tests; builds and runs those in which threads meet with the thread sanitizer
set -euo pipefail
cd "$(dirname "$0")/.."

# build PRESET [TARGET]
build() {
  cmake --preset "$1" -DPS_TESTS=ON
  cmake --build --preset "$1" ${2:+--target "$2"}
}

# run_tests PRESET [CTEST ARGUMENTS...]
run_tests() {
  local preset=$1
  shift
  ctest --test-dir "build/$preset" -j 2 --output-on-failure --timeout 900 "$@"
}

case ${1:-} in
  "" | --quick | --clang | --sanitize) ;;
  *)
    sed -n '/^# usage/,/^set/{s/^# \{0,1\}//p}' "$0" >&2
    exit 2
    ;;
esac
examples/setup.sh --tests
case ${1:-} in
  "")
    build release
    run_tests release
    ;;
  --quick)
    build release quick_tests
    run_tests release -L quick
    ;;
  --clang)
    build clang
    ;;
  --sanitize)
    # Ten times as slow: less of what is done hundreds of times.
    export PS_SIM_SEEDS=6 PS_TRY_EVERY=29
    build asan
    run_tests asan -L quick
    build tsan threaded_tests
    run_tests tsan -L threads
    ;;
esac
