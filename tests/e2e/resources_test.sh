#!/bin/bash
# Every resource fails: the n-th allocation, descriptor, write, sync, rename, connection or thread of ps-train,
# ps-ckpt2model and ps-serve, and all large allocations from the n-th on; descriptors and connections also of a trainer with
# a server.  FAIL_POINTS is the number of calls that are tried of each kind: 8 unless it is set, 500 for a night.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
library=$PS_BIN/../tests/libfail_nth.so
[[ -e $library ]] || skip "$library is not built: sanitizers have an allocator of their own"
cd "$scratch"
"$PS_BIN/ps-datagen" ctr --samples 300 --output train.txt
timeout 20000 python3 "$PS_SOURCE/tests/e2e/fail_each.py" "${FAIL_POINTS:-8}" "$(realpath "$library")" \
  "$PS_SOURCE/share/jobs/quickstart.json" train.txt
