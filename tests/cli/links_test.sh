#!/bin/bash
# ps-bench dgc --bandwidth, local-sgd and scaling: tables, JSON and streams agree, mistakes are refused.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
cd "$scratch"

ps-bench dgc --bandwidth 1G,100M --model lenet --compute 1ms --runs 2 --link bucket >table
for text in "a token bucket in the transport, over loopback" "compute is a wait of 1 ms" "over overlapped" 6.533 \
  "wrong values"; do
  expect_text table "$text"
done
ps-bench dgc --bandwidth 1G --model "$PS_SOURCE/share/jobs/nets/lenet.json" --compute 1ms --runs 2 --link bucket --markdown \
  --save saved.jsonl >page
expect_text page "| link | measured |"
ps-bench dgc --bandwidth 1G,100M --model lenet --compute 1ms --runs 2 --link bucket --json >dgc.json
ps-bench dgc --bandwidth=1G --model lenet --compute 1ms --runs 2 --link bucket --json-stream >dgc.jsonl
ps-bench local-sgd --bandwidth 1G --model lenet --compute 1ms --runs 2 --link bucket --periods 1,4 --json >local-sgd.json
ps-bench scaling --bandwidth 1G --model lenet --compute 1ms --runs 2 --link bucket --ranks 2,3 --algorithms direct,dgc \
  --json >scaling.json
python3 - <<'PY' || fail "the JSON is not as it should be"
import json
dgc = json.load(open("dgc.json"))
assert [row["bandwidth_text"] for row in dgc["rows"]] == ["1G", "100M"]
assert "cores" in dgc["machine"] and dgc["bars"] == []
for row in dgc["rows"]:
    assert row["dense_bytes"] == 4 * 431080, row
    assert row["momentum_seconds"] >= 0.001 and row["dgc_seconds"] >= 0.001
    assert abs(row["momentum_bytes_off"]) < 1 and row["wrong_values"] == 0
    assert abs(row["speed_up"] - row["momentum_seconds"] / row["dgc_seconds"]) < 1e-9
assert dgc["rows"][0]["published_momentum_seconds"] == 2.45
assert dgc["rows"][1]["published_momentum_seconds"] is None
saved = [json.loads(line) for line in open("saved.jsonl")]
assert list(saved[0]) == ["machine"] and saved[1].keys() == dgc["rows"][0].keys()
lines = [json.loads(line) for line in open("dgc.jsonl")]
assert list(lines[0]) == ["machine"] and len(lines) == 2 and lines[1].keys() == dgc["rows"][0].keys()
periods = json.load(open("local-sgd.json"))["rows"]
assert [row["period"] for row in periods] == [1, 4]
scaling = json.load(open("scaling.json"))["rows"]
assert [(row["ranks"], row["algorithm"]) for row in scaling] == [(n, a) for n in (2, 3) for a in ("direct", "dgc")]
PY

expect_status 2 ps-bench dgc --bandwidth fast
expect_text err "--bandwidth: 'fast' is not a rate"
expect_status 2 ps-bench dgc --bandwidth 1G --model no-such-net
expect_text err "no-such-net"
expect_status 2 ps-bench dgc --bandwidth 1G --ranks 1
expect_status 2 ps-bench local-sgd --periods 0
expect_text err "--periods: '0' is not a number from 1 to 1000"
expect_status 2 ps-bench scaling --algorithms rings
expect_text err "ring"
expect_status 2 ps-bench scaling --json --json-stream
expect_status 2 ps-bench scaling --markdown --json
ps-bench dgc --bandwidth= --help >help
expect_text help "--link"
echo "steps over links are told as tables and as JSON, and mistakes are refused"
