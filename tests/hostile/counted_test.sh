#!/bin/bash
# Peers that announce the keys of a step that a device is to train, with counts that lie: they alone are told of an error,
# ps-serve holds no more for them than --max-memory, and an honest trainer with a device keeps its bits.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/hostile/attacked_job.sh"
attack counted_attacks.py ps-train job.json --data train.txt
