#!/bin/bash
# promtool, of Prometheus, finds nothing to say against /metrics.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need promtool python3
source "$(dirname "$0")/half_done_job.sh"

start_job
wait_for_lag
python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1]).read())' \
  "$status/metrics" >metrics
promtool check metrics <metrics >said 2>&1 || fail "$(cat said)"
[[ ! -s said ]] || fail "$(cat said)"
end_job

echo 'pskit_shard_rows{table="cut' >>metrics
if promtool check metrics <metrics >said 2>&1; then fail "promtool says nothing against a line that is cut"; fi
