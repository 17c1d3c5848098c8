#!/bin/bash
# Where a trainer's time goes: reading, waiting, communicating and computing, in --json and --metrics.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
server=
trap 'kill $server 2>/dev/null || true; remove_scratch' EXIT

# train NAME [flags...]: one pass over standard input.
train() {
  local name=$1
  shift
  ps-train "$job" --passes 1 --save-dir '' --json --set train.log_period=1 --metrics "$name.metrics" "$@" >"$name.json" 2>"$name.err"
}

# late NAME BATCH: clicks in two pieces; the second one comes two seconds after that trainer has reported the batch.
late() {
  head -n 500 train.txt
  timeout 60 grep -qm1 "Batch=$2 " <(tail -n +1 -F --pid=$$ "$1.err" 2>/dev/null) || fail "$1 does not report batch $2"
  sleep 2
  tail -n +501 train.txt
}

ps-datagen ctr --samples 1000 --output train.txt

echo "data that come late are read late"
late alone 1 | train alone

echo "who has its data waits for the trainer that has them late"
mkfifo ready
ps-serve "$job" --host 127.0.0.1 --port 0 --port-file port >ready 2>serve.err &
server=$!
head -1 ready >out
cluster=(--servers "127.0.0.1:$(head -1 port)" --trainers 2 --set data.batch_size=50)
late first 4 | train other --rank 1 "${cluster[@]}" &
train first --rank 0 "${cluster[@]}" <train.txt || fail "$(cat first.err)"
wait $! || fail "$(cat other.err)"

echo "emulated computing is a wait in which all else is as ever"
train emulated --set data.batch_size=100 --set train.emulated_compute=50ms --data train.txt
expect_text emulated.err 'the weights of this run mean nothing'
expect_status 2 ps-train "$job" --data train.txt --set train.emulated_compute=soon
expect_text err "train.emulated_compute: 'soon' is no duration"

python3 - <<'PY'
import json
PARTS = "reading_seconds", "waiting_seconds", "communicating_seconds", "computing_seconds"

def check(name):
    times = json.load(open(name + ".json"))["passes"][0]
    lines = [json.loads(line) for line in open(name + ".metrics")]
    assert lines[-1]["event"] == "pass" and all(lines[-1][part] == times[part] for part in PARTS), lines[-1]
    for line in [times] + lines:
        assert abs(sum(line[part] for part in PARTS) - line["seconds"]) < 1e-6 * max(1, line["seconds"]), line
        assert all(line[part] >= 0 for part in PARTS), line
    print(name, {part: round(times[part], 4) for part in PARTS})
    return times

alone = check("alone")
assert alone["reading_seconds"] > 1 and alone["waiting_seconds"] == alone["communicating_seconds"] == 0, alone
first = check("first")
assert first["waiting_seconds"] > 1 > first["reading_seconds"], first
assert first["communicating_seconds"] > 0 and first["computing_seconds"] > 0, first
emulated = check("emulated")
assert emulated["computing_seconds"] >= 10 * 0.05, emulated
assert emulated["batches"] == 10 and emulated["samples"] == 1000 and emulated["avg_cost"] == 0, emulated
PY
