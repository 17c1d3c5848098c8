#!/bin/bash
# A trainer's status page names a server that is missing, before the run and in it, and no longer than it is missing.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need curl python3
cd "$scratch"
PATH=$PS_BIN:$PATH
exec 9>/dev/null
trap 'exec 9>&-; kill -KILL $(jobs -p) 2>/dev/null || true; wait; remove_scratch' EXIT
ps-datagen ctr --samples 2000 --output train.txt
mkfifo data

# The second server has an address that no other program listens on, so that its port is free when it comes again.
second=127.$((RANDOM % 200 + 20)).$((RANDOM % 200 + 20)).2

# serve HOST PORT: a server, $server, that is ready, with its port in port.HOST.
serve() {
  rm -f "port.$1"
  ps-serve quickstart --host "$1" --port "$2" --port-file "port.$1" >ready 2>"serve.$1.err" &
  server=$!
  await test -s "port.$1"
  await grep -q . ready
}

# await COMMAND...: until it succeeds.
await() {
  timeout 60 bash -c 'until "$@" 2>/dev/null; do sleep 0.05; done' await "$@" || fail "not so in a minute: $*: $(cat ./*.err)"
}

# missing TEXT: status.json of the page names one missing server in a message with the text; without a text, none.
missing() {
  curl -sf --max-time 30 "$page/status.json" >status.json && python3 - "$@" <<'PY'
import json, sys
missing = json.load(open("status.json"))["missing_servers"]
texts = sys.argv[1:]
sys.exit(len(missing) != len(texts) or not all(t in m["message"] and m["seconds"] >= 0 for t, m in zip(texts, missing)))
PY
}
export -f missing

serve 127.0.0.1 0
serve "$second" 0
port=$(cat "port.$second")
kill -KILL "$server"
wait "$server" || true

echo "a run that waits for a server names it"
ps-train quickstart --data data --passes 1 --save-dir '' --set data.batch_size=50 --set train.log_period=1 --metrics metrics \
  --servers "127.0.0.1:$(cat port.127.0.0.1),$second:$port" --host 127.0.0.1 --status-port 0 >out 2>train.err &
trainer=$!
exec 9<>data
head -n 1000 train.txt >&9 &
await grep -q 'The status page is at' train.err
page=$(sed -n 's/^.*The status page is at \(.*\)\/$/\1/p' train.err)
export page
await missing "waiting for '$second:$port': "
if command -v chromium >/dev/null; then
  timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scratch/browser" \
    --virtual-time-budget=3500 --dump-dom "$page/" >dom 2>browser.log || fail "$(cat browser.log)"
  grep -q "id=\"missing\"[^>]*>waiting for '$second:$port': .*, for [0-9]* s<" dom || fail "the page does not: $(grep missing dom)"
fi

echo "when it has come, the page names none"
serve "$second" "$port"
await grep -q '"samples":1000' metrics
missing || fail "it does: $(cat status.json)"

echo "a server that goes in the run is named too"
kill -KILL "$server"
wait "$server" || true
cat train.txt >&9 &
await missing "waiting for '$second:$port': "
