# A server with status pages and two trainers, of which the second has half of its data: the first waits for it.
# Sourced by the tests of status pages after tests/lib.sh.
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true; remove_scratch' EXIT

# start_job [flags...]: $status is the address of the pages.
start_job() {
  ps-datagen ctr --samples 2000 --output train.txt
  mkfifo ready data
  ps-serve "$job" --host 127.0.0.1 --port 0 --ports-num 2 --port-file ports --status-port 0 "$@" >ready 2>serve.err &
  processes+=($!)
  head -1 ready >ready.json || fail "$(cat serve.err)"
  status=http://127.0.0.1:$(sed 's/.*"status_port":\([0-9]*\).*/\1/' ready.json)
  local rank
  for rank in 0 1; do
    ps-train "$job" --passes 1 --save-dir '' --data $([[ $rank == 0 ]] && echo train.txt || echo data) \
      --set data.batch_size=50 --servers "127.0.0.1:$(head -1 ports)" --trainers 2 --rank $rank 2>"$rank.err" &
    processes+=($!)
  done
  exec 9>data
  head -n 1000 train.txt >&9
}

# end_job: the second trainer gets the rest, and both end.
end_job() {
  local trainer
  tail -n +1001 train.txt >&9
  exec 9>&-
  for trainer in "${processes[@]:1}"; do wait "$trainer" || fail "a trainer ended with $?: $(cat ./*.err)"; done
}

# wait_for_lag: until the server says that the second trainer is behind, and the first one waits.
wait_for_lag() {
  python3 - "$status" <<'PY'
import json, sys, time, urllib.request
deadline = time.time() + 30
while True:
    shards = json.load(urllib.request.urlopen(sys.argv[1] + "/status.json", timeout=10))["shards"]
    if all([t["lag"] for t in s["trainers"]] == [0, 1] for s in shards): break
    assert time.time() < deadline, shards
    time.sleep(0.02)
PY
}
