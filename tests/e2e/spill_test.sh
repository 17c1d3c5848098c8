#!/bin/bash
# A server most of whose rows are on disk: the same model, bit for bit; nothing is left in the folder.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job= server=
trap 'kill $server 2>/dev/null || true; rm -rf "$scratch"' EXIT

# serve [flags...]: starts a server; its process is $server, its address $address.
serve() {
  mkfifo ready
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file port "$@" >ready 2>server.err &
  server=$!
  head -1 ready >ready.json
  address=127.0.0.1:$(head -1 port)
}

# Bytes of the server's files in `spill`, which have no names.
spilled_bytes() {
  local file total=0
  for file in /proc/$server/fd/*; do
    [[ $(readlink "$file") == "$scratch"/spill/* ]] || continue
    total=$((total + $(stat -L -c %s "$file")))
  done
  echo $total
}

# same_with_spill JOB [flags...]: it trains the same model as a process alone, with most of its rows on disk.
same_with_spill() {
  local bytes flags=("${@:2}")
  job=$1
  rm -rf alone served ready
  ps-train "$job" --data train.txt --passes 2 --save-dir alone "${flags[@]}" 2>/dev/null
  serve --ports-num 2 --spill-dir "$scratch/spill" --spill-memory 64K "${flags[@]}"
  ps-train "$job" --data train.txt --passes 2 --save-dir served --servers "$address" "${flags[@]}" 2>served.err
  cmp alone/pass-00001/model.safetensors served/pass-00001/model.safetensors
  bytes=$(spilled_bytes)
  ((bytes > 256 * 1024)) || fail "only $bytes bytes were on disk"
  [[ -z $(ls spill) ]] || fail "there are names in the folder: $(ls spill)"
  kill "$server"
  wait "$server"
}

ps-datagen ctr --samples 4000 --output train.txt
mkdir spill

echo "rows that come back from disk train the model of one process"
same_with_spill "$PS_SOURCE/share/jobs/quickstart.json"

echo "so do rows that come and go by a policy"
same_with_spill "$PS_SOURCE/share/jobs/ctr_rows.json" --set model.layers.0.weight.rows.shrink_steps=7
grep -q 'expired=[1-9]' served.err || fail "no row went: $(tail -n 3 served.err)"

job=$PS_SOURCE/share/jobs/quickstart.json
echo "a folder that is not there is refused, and more memory than there is"
expect_status 2 ps-serve "$job" --port 0 --spill-dir "$scratch/nowhere"
expect_text err "cannot make a file in '$scratch/nowhere'"
expect_status 2 ps-serve "$job" --port 0 --spill-dir "$scratch/spill" --max-memory 512M
expect_text err '--spill-memory is 1.0 GiB, but tables have '
