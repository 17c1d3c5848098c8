#!/bin/bash
# A trainer with rows on a device, and servers, are killed a few times at random moments; share/nightly.sh does it more often.
exec "$(dirname "$0")/kill_test.sh" --mode device 3
