#!/bin/bash
# Links of network namespaces: they carry their bandwidth and no more, and nothing of them is left.  Skipped without root.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
cd "$scratch"

status=0
ps-bench scaling --link namespaces --bandwidth 100M --ranks 2,3 --model lenet --compute 1ms --algorithms direct,dgc,server \
  --runs 2 --json >rows.json 2>err || status=$?
if ((status == 4)); then skip "$(cat err)"; fi
((status == 0)) || fail "ended with status $status: $(cat err)"
devices=$(ls /sys/class/net)
ps-bench dgc --bandwidth 100M --model lenet --compute 1ms --runs 1 >table
expect_text table "network namespaces, veth and tc tbf"
[[ $(ls /sys/class/net) == "$devices" ]] || fail "devices are left: $(ls /sys/class/net)"
python3 - <<'PY' || fail "rows.json is not as it should be"
import json
rows = json.load(open("rows.json"))["rows"]
assert [row["ranks"] for row in rows] == [2, 2, 2, 3, 3, 3]
for row in rows:
    assert row["link"] == "namespaces" and row["wrong_values"] == 0, row
    assert row["measured_bandwidth"] <= 1.2e8, row
    if row["algorithm"] == "direct":
        # 1.7 MB of gradients over 100 Mbit/s: 138 ms, or 184 ms at 3 ranks, less what a burst may hold.
        assert row["step_seconds"] >= 0.1, row
PY
# Rank 0 is the server of the algorithm `server`: between two ranks each link carries the gradient once, as with direct.
python3 - <<'PY' || fail "the plan of a rank that is the server is not as it should be"
import json
steps = {row["algorithm"]: row["modelled_step_seconds"] for row in json.load(open("rows.json"))["rows"] if row["ranks"] == 2}
assert steps["direct"] < steps["server"] < 1.5 * steps["direct"], steps
PY

# Connections over the links use cubic, whatever the machine has.
ps-bench scaling --link namespaces --bandwidth 100M --ranks 2 --model lenet --algorithms direct --compute 3s >slow 2>&1 &
ranks=$!
connections() {
  for file in /proc/$ranks/fd/*; do
    [[ $(readlink "$file") != net:* ]] || nsenter "--net=$file" ss --tcp --info --no-header --numeric state established
  done 2>&1
}
timeout 60 bash -c "$(declare -f connections); ranks=$ranks; until connections | grep -q 10.77; do kill -0 $ranks; done" ||
  fail "there is no connection: $(cat slow)"
connections >found
expect_text found "cubic"
! grep -q bbr found || fail "not all use cubic: $(cat found)"
wait $ranks || fail "ended with status $?: $(cat slow)"
echo "links of namespaces carry no more than they should, and leave nothing behind"
