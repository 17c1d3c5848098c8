#!/bin/bash
# Readers, compute trainers and servers are killed a few times at random moments; share/nightly.sh does it more often.
exec "$(dirname "$0")/kill_test.sh" --mode heter 3
