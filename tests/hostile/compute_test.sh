#!/bin/bash
# Peers that take a reader's place at a compute trainer and mean no good: what it holds for them stays within --max-memory,
# it waits for none of them for ever, and an honest reader beside them has the bits of one that is alone.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
source "$PS_SOURCE/tests/hostile/attacked_job.sh"
PYTHONDONTWRITEBYTECODE=1 python3 "$PS_SOURCE/tests/hostile/compute_attacks.py" "$scratch"
