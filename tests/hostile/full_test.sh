#!/bin/bash
# A server whose memory peers fill with all that they can make it hold, at once, keeps to its limit and serves a reader.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/hostile/attacked_job.sh"

attack full_attacks.py ps-train job.json --data train.txt
