#!/bin/bash
# Peers that take a reader's place at a compute trainer and mean no good: what it holds for them stays within --max-memory,
# it waits for none of them for ever, and an honest reader beside them has the bits of one that is alone.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/hostile/attacked_job.sh"
attack compute_attacks.py
