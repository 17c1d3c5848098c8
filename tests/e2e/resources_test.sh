#!/bin/bash
# Every resource fails: the n-th allocation, descriptor, write, sync, rename, connection or thread of ps-train,
# ps-ckpt2model and ps-serve, and all large allocations from the n-th on; descriptors and connections also of a trainer with
# a server.  With PS_BIN=build/asan/bin the programs have the address sanitizer, which must find nothing, not even memory
# that is not freed; there operator new also throws though the programs have a reserve.
#
#   FAIL_POINTS   calls that are tried of each kind, spread over all: 5 unless it is set
#   FAIL_FIRST    so many of the first calls are tried besides
#   FAIL_KINDS, FAIL_CASES   only these, such as "memory writes" or "Train Serve": all unless they are set
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
PS_BIN=$(realpath "$PS_BIN")
library=$PS_BIN/../tests/libfail_nth.so
failing=$PS_BIN
if [[ -e $library ]]; then
  library=$(realpath "$library")
elif [[ -x $PS_BIN/../failing/ps-serve ]]; then
  failing=$PS_BIN/../failing
  library=
else
  skip "neither $library nor $PS_BIN/../failing is built"
fi
# The same options of sanitizers whatever the caller has: an error ends the program, and so does a leak.
export ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS= UBSAN_OPTIONS=print_stacktrace=1
cd "$scratch"
"$PS_BIN/ps-datagen" ctr --samples 300 --output train.txt
PS_BIN=$(realpath "$failing") timeout 100000 python3 "$PS_SOURCE/tests/e2e/fail_each.py" "${FAIL_POINTS:-5}" "$library" \
  "$PS_SOURCE/share/jobs/quickstart.json" train.txt
