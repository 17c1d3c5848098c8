#!/bin/bash
# An etcd over TLS that asks for certificates: servers and trainers with them find each other there, and nobody else learns or
# changes anything.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need etcd openssl
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
umask 077
cp "$PS_SOURCE/share/jobs/quickstart.json" job.json
processes=()
trap 'kill -9 "${processes[@]}" 2>/dev/null || true; remove_scratch' EXIT

for authority in ca other; do self_signed "$authority"; done
certificate etcd ca IP:127.0.0.1
certificate own ca DNS:own
certificate stranger other DNS:own

port=$(free_ports 2)
place=etcd://127.0.0.1:$port/job
etcd --data-dir etcd.d --listen-client-urls "https://127.0.0.1:$port,https://127.0.0.2:$port" \
  --advertise-client-urls "https://127.0.0.1:$port" \
  --cert-file etcd.crt --key-file etcd.key --client-cert-auth --trusted-ca-file ca.crt \
  --listen-peer-urls "http://127.0.0.1:$((port + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((port + 1))" \
  --initial-cluster "default=http://127.0.0.1:$((port + 1))" --unsafe-no-fsync >etcd.log 2>&1 &
etcd=$!
processes+=("$etcd")
until grep -qi 'serving client\|ready to serve client requests' etcd.log; do
  kill -0 "$etcd" || fail "etcd has ended: $(cat etcd.log)"
  sleep 0.02
done
ps-datagen ctr --samples 1000 --output train.txt
own=(--etcd-ca ca.crt --etcd-cert own.crt --etcd-key own.key)

echo "a server registers, a trainer finds it"
ps-serve job.json --host 127.0.0.1 --port 0 --discovery "$place" "${own[@]}" >ready 2>serve.err &
server=$!
processes+=("$server")
wait_for_file ready "$server" || fail "the server did not start: $(cat serve.err)"
expect_text ready '"server":0'
train() { ps-train job.json --data train.txt --discovery "$place" --save-dir '' --set cluster.server_timeout=20 "$@"; }
train "${own[@]}" >out 2>err || fail "$(cat err)"

echo "either side refuses the other, at once and with status 7"
begin=$EPOCHSECONDS
expect_status 7 train --etcd-ca other.crt
expect_text err "the peer's certificate: "
expect_status 7 train --etcd-ca ca.crt
expect_text err 'asks for a certificate'
expect_status 7 train --etcd-ca ca.crt --etcd-cert stranger.crt --etcd-key stranger.key
expect_status 7 train "${own[@]}" --discovery "etcd://127.0.0.2:$port/job"
expect_text err 'IP address mismatch'
((EPOCHSECONDS - begin < 15)) || fail "it tried again and again"
if train >out 2>err; then fail "etcd is asked in the clear"; fi
expect_text err 'etcd: '

echo "files that do not belong together are refused"
expect_status 2 train --etcd-cert own.crt --etcd-key own.key
expect_text err '--etcd-ca, which is missing'
expect_status 2 train --etcd-ca ca.crt --etcd-cert own.crt
expect_text err '--etcd-cert and --etcd-key belong together'

echo "the server leaves etcd when it ends, with a certificate that was renewed meanwhile"
certificate renewed ca DNS:own
cp renewed.crt own.crt
cp renewed.key own.key
train "${own[@]}" >out 2>err || fail "$(cat err)"
kill -TERM "$server"
wait "$server" || fail "the server ended with $?: $(cat serve.err)"
if command -v etcdctl >/dev/null; then
  [[ -z $(etcdctl --endpoints "https://127.0.0.1:$port" --cacert ca.crt --cert own.crt --key own.key \
    get --prefix --keys-only /job/servers/) ]] || fail "it is still registered"
fi
