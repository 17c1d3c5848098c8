#!/bin/bash
# The status pages of a server: what they say of a job while it runs and after it.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
source "$(dirname "$0")/half_done_job.sh"

cat >pages.py <<'PY'
import json, re, socket, sys, urllib.error, urllib.request

def get(path, code=200):
    try:
        answer = urllib.request.urlopen(sys.argv[1] + path, timeout=10)
    except urllib.error.HTTPError as error:
        answer = error
    assert answer.status == code, (path, answer.status)
    return answer.read().decode()

# {(name, labels...): value}
def metrics():
    samples = {}
    for line in get("/metrics").splitlines():
        if line.startswith("#"): continue
        name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups()
        samples[(name, *re.findall(r'="([^"]*)"', labels or ""))] = float(value)
    return samples

# Over all shards.
def total(samples, name):
    return sum(value for key, value in samples.items() if key[0] == name)
PY

start_job
wait_for_lag

echo "a page tells shards, tables and trainers while the job runs"
cat pages.py - >check.py <<'PY'
assert get("/livez") == get("/readyz") == "ok\n"
status = json.loads(get("/status.json"))
assert status["job"] == "quickstart" and len(status["shards"]) == 2, status
assert 1e6 < status["memory_bytes"] < 1e9, status
for shard in status["shards"]:
    assert [t["rank"] for t in shard["trainers"]] == [0, 1], shard
    assert shard["trainers"][0]["clock"] == shard["clock"] + 1, shard
    assert shard["rows"] > 0 and shard["table_bytes"] > 0 and shard["connections"] == 2, shard
samples = metrics()
assert samples["pskit_trainer_lag_steps", "0", "1"] == 1, samples
assert total(samples, "pskit_shard_pushes_total") > 0
assert samples["pskit_shard_request_seconds_count", "0", "push"] > 0
page = get("/")
assert "<title>pskit" in page and "http:" not in page and "https:" not in page and " src=" not in page
assert "/metrics" in get("/elsewhere", 404)
PY
python3 check.py "$status"

echo "bytes that are no request, and connections that say nothing, keep nobody out"
cat pages.py - >hostile.py <<'PY'
address = ("127.0.0.1", int(sys.argv[1].rsplit(":", 1)[1]))
silent = [socket.create_connection(address) for _ in range(200)]
for bytes in b"\x00" * 9000, b"GET / HTTP/9.9\r\n\r\n", b"PSKT", b"GET /" + b"x" * 20000:
    with socket.create_connection(address) as hostile:
        try:
            hostile.sendall(bytes)
        except OSError:
            pass
        assert total(metrics(), "pskit_shard_connections") == 4
PY
python3 hostile.py "$status"

echo "after the job, what was counted adds up"
end_job
cat pages.py - >after.py <<'PY'
import time
deadline = time.time() + 30
while total(samples := metrics(), "pskit_shard_connections") > 0 and time.time() < deadline: time.sleep(0.02)
assert total(samples, "pskit_trainer_connections") == 0, samples
assert samples["pskit_shard_steps_total", "0"] == samples["pskit_shard_steps_total", "1"] == 20, samples
# Pieces of two trainers, for 20 steps and the end of the pass, on two shards.
assert total(samples, "pskit_shard_pushes_total") == 2 * 21 * 2, samples
assert total(samples, "pskit_trainer_lag_steps") == 0
assert total(samples, "pskit_shard_streams_broken_total") == 0
for request in "pull", "push":
    for shard in "0", "1":
        buckets = [v for k, v in samples.items() if k[0].endswith("_bucket") and k[1:3] == (shard, request)]
        count = samples["pskit_shard_request_seconds_count", shard, request]
        assert buckets == sorted(buckets) and buckets[-1] == count > 0, (buckets, count)
print("steps, rows:", samples["pskit_shard_steps_total", "0"], total(samples, "pskit_shard_rows"))
PY
python3 after.py "$status"

echo "a status port that is taken is told"
expect_status 4 ps-serve "$job" --host 127.0.0.1 --port 0 --status-port "${status##*:}"
expect_text err "cannot listen on '127.0.0.1:${status##*:}'"
