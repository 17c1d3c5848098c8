#!/bin/bash
# A job larger than its trainers: two of them touch so many rows, each once, on one server of two ports.  Checks the
# rows' memory, the trainers' memory, and what a batch costs when the table is large.
#
# usage: tests/oracle/large_job_test.sh [MILLIONS]     of rows; 2 by default, 100 takes minutes and 5 GiB
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
millions=${1:-2}
per_batch=250 ids=100
samples=$((millions * 1000000 / ids))
probe=10000 # examples, of a million rows
server= trainers=()
trap 'kill $server "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# Ids are drawn from so many that hardly any comes twice.
cat >job.json <<JSON
{
  "job": {"name": "large", "seed": 1},
  "data": {"format": "paddle_sparse_binary", "dim": 400000000000, "batch_size": $per_batch},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true}],
    "cost": {"type": "binary_cross_entropy", "input": "score"}
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.1},
  "train": {"log_period": 1}
}
JSON

# examples FIRST COUNT: ids without end, of the same examples each time.
examples() { ps-datagen sparse-binary --dim 400000000000 --zipf 0 --nnz $ids:$ids --first "$1" --samples "$2"; }

serve() {
  rm -f ready
  mkfifo ready
  ps-serve job.json --host 127.0.0.1 --port 0 --ports-num 2 --port-file ports --status-port 0 \
    --max-memory $((millions * 60 + 600))M >ready 2>serve.err &
  server=$!
  head -1 ready >ready.json || fail "$(cat serve.err)"
  status=http://127.0.0.1:$(sed 's/.*"status_port":\([0-9]*\).*/\1/' ready.json)
  address=127.0.0.1:$(head -1 ports)
}

end_server() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?: $(cat serve.err)"
  server=
}

# train NAME FIRST COUNT: two trainers, each on half of COUNT examples, in a file of its own.  $name has what the server
# and the trainers took.
train() {
  local name=$1 first=$2 half=$(($3 / 2)) rank trainer
  trainers=()
  for rank in 0 1; do examples $((first + rank * half)) "$half" >part$rank; done
  server_cpu >"$name.before"
  for rank in 0 1; do
    python3 - "$name.usage.$rank" ps-train job.json --data part0 --data part1 --save-dir '' --servers "$address" \
      --trainers 2 --rank $rank --json --metrics "$name.metrics.$rank" >"$name.$rank" 2>"$name.err.$rank" <<'PY' &
import resource, subprocess, sys
status = subprocess.call(sys.argv[2:], stdin=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, file=open(sys.argv[1], "w"))
sys.exit(status)
PY
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer" || fail "a trainer ended with $?: $(tail -n 3 "$name".err.*)"; done
  server_cpu >"$name.after"
}

server_cpu() {
  python3 -c 'import sys, urllib.request
print(*[line.split()[1] for line in urllib.request.urlopen(sys.argv[1] + "/metrics").read().decode().splitlines()
        if line.startswith("process_cpu_seconds_total")])' "$status"
}

# The same examples on a table that has them alone, and the last and the first ones on one that has all: first their
# rows are new, then not.
serve
train small_new 0 $probe
train small_known 0 $probe
end_server
serve
train fill 0 $((samples - probe))
train large_new $((samples - probe)) $probe
train large_known 0 $probe

python3 - "$status" "$samples" "$ids" <<'PY'
import json, statistics, sys, urllib.request
status = json.load(urllib.request.urlopen(sys.argv[1] + "/status.json"))
samples, ids = map(int, sys.argv[2:])

def number(path): return float(open(path).read().split()[0])

# The cost of a batch in milliseconds: the median elapsed time, and the mean processor time of server and
# trainers.
def cost(name):
    times = [json.loads(line)["seconds"] for line in open(name + ".metrics.0") if '"batch"' in line]
    cpu = number(name + ".after") - number(name + ".before") + sum(number(f"{name}.usage.{rank}") for rank in (0, 1))
    return (1e3 * statistics.median(after - before for before, after in zip(times, times[1:])),
            1e3 * cpu / (2 * len(times)))

rows = sum(shard["rows"] for shard in status["shards"])
table = sum(shard["table_bytes"] for shard in status["shards"])
peak = max(int(open(f"fill.usage.{rank}").read().split()[1]) for rank in (0, 1))
seconds = json.load(open("fill.0"))["seconds"]
print(f"{rows} rows in {seconds:.1f} s: {table / rows:.1f} bytes a row, server {status['memory_bytes'] / 2**20:.0f} MiB, "
      f"trainers {peak / 2**20:.0f} MiB at most")
grown = []
for rows_are in "new", "known":
    small, large = cost("small_" + rows_are), cost("large_" + rows_are)
    grown.append(large[1] / small[1])
    print(f"a batch of {rows_are} rows: {small[0]:.1f} ms and {small[1]:.1f} ms of processor on a table of a million rows, "
          f"{large[0]:.1f} and {large[1]:.1f} on the large one: {large[0] / small[0]:.2f} and {grown[-1]:.2f} times")
assert rows > 0.98 * samples * ids, rows
assert table < rows * (8 + 24) + (16 << 20), (table, rows)
assert status["memory_bytes"] < table + (192 << 20), status["memory_bytes"]
assert peak < 300e6, peak
# Rows that are new touch fresh memory, which the system has to give: these are told, not judged.  A short run tells
# nothing of time.
if samples * ids >= 50e6: assert grown[1] < 1.5, "a batch costs more"
PY
end_server
