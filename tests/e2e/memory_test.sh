#!/bin/bash
# A server whose memory is bounded: what does not fit is refused, what is there goes on being served.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH
server=
trap 'kill $server 2>/dev/null || true; remove_scratch' EXIT

cat >job.json <<'JSON'
{
  "job": {"name": "large", "seed": 1},
  "data": {"format": "paddle_sparse_binary", "dim": 20000000, "batch_size": 1000},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 4, "activation": "softmax", "sparse_update": true}],
    "cost": {"type": "cross_entropy", "input": "score"}
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.1}
}
JSON

# serve [flags...]: $address is its first port.
serve() {
  rm -f ready
  mkfifo ready
  ps-serve job.json --host 127.0.0.1 --port 0 --port-file ports "$@" >ready 2>serve.err &
  server=$!
  head -1 ready >ready.json
  address=127.0.0.1:$(head -1 ports)
}

peak_mebibytes() { awk '/VmHWM/ {print int($2 / 1024)}' "/proc/$server/status"; }

end_server() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?: $(cat serve.err)"
}

ps-datagen sparse-binary --dim 20000000 --zipf 0 --samples 20000 --nnz 150:150 --output large.txt
head -n 1000 large.txt >small.txt

echo "rows beyond the limit are refused with status 6 and a way out"
serve --max-memory 96M
expect_status 6 ps-train job.json --data large.txt --servers "$address" --save-dir ''
expect_text err 'give ps-serve more with --max-memory'

echo "the server has kept its limit, and serves and trains what it has"
peak=$(peak_mebibytes)
echo "peak: $peak MiB"
((peak > 40 && peak < 120)) || fail "the server has taken $peak MiB, expected 96 and its own code"
ps-train job.json --job predict --servers "$address" --data small.txt >predictions 2>/dev/null
[[ $(wc -l <predictions) == 1000 ]] || fail "$(wc -l <predictions) predictions"
# The first trainer takes the place of the one that was refused, whose batches are done; the second begins a run.
for run in 1 2; do
  ps-train job.json --data small.txt --servers "$address" --save-dir '' --json >small.json 2>small.err || fail "$(cat small.err)"
done
expect_text small.json '"samples":1000'

echo "connections that send garbage, or begin large frames, take no memory"
python3 - "${address##*:}" <<'PY'
import socket, sys
for i in range(300):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as stream:
        try:
            stream.sendall(b"\x00\xff" * 10000)
        except OSError:
            pass
PY
((peak_now = $(peak_mebibytes), peak_now < 120)) || fail "the server has taken $peak_now MiB"
end_server

echo "dense parameters beyond the limit are refused, with their bytes, before they are made"
dense=(--set model.layers.0.sparse_update=false)
serve --max-memory 96M "${dense[@]}"
expect_status 6 ps-train job.json --data small.txt --servers "$address" --save-dir '' "${dense[@]}"
expect_text err '(640000032 bytes)'
expect_text err '"sparse_update": true'
((peak_now = $(peak_mebibytes), peak_now < 40)) || fail "the server has taken $peak_now MiB"
end_server

echo "too little for the ports is refused"
expect_status 2 ps-serve job.json --port 0 --ports-num 4 --max-memory 100M
expect_text err 'expected at least 384 MiB'
