#!/bin/bash
# The proof of recovery, shorter, in the modes that tests/e2e/kill_test.sh has beside sync: a job ends, and each batch counts
# once; where models are the same from run to run they are also after kills.
set -euo pipefail
for mode in log spill rows staleness async geo; do
  "$PS_SOURCE/tests/e2e/kill_test.sh" --mode "$mode" --counts "${KILLS:-4}"
done
