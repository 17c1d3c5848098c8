#!/bin/bash
# Peers that speak ps-wire(5) and mean no good: what ps-serve holds for them stays within --max-memory, nobody waits for
# them for ever, and an honest job beside them has the bits of one that is alone.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/hostile/attacked_job.sh"
attack attacks.py ps-train job.json --data train.txt
