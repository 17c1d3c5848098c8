#!/bin/bash
# Servers listen on loopback unless told, and let in those with tokens and certificates alone; the bits of the model are
# the same with them.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need openssl curl
cd "$scratch"
PATH=$PS_BIN:$PATH
umask 077
cp "$PS_SOURCE/share/jobs/quickstart.json" job.json
ps-datagen ctr --samples 3000 --output train.txt

# start [flags...]: a server; $port is its first port, $status_port that of its pages.
start() {
  rm -f port ready
  mkfifo ready
  ps-serve job.json --port 0 --port-file port --status-port 0 "$@" >ready 2>serve.err &
  server=$!
  local line
  read -r line <ready || fail "the server did not start: $(cat serve.err)"
  port=$(head -n 1 port)
  status_port=${line##*\"status_port\":}
  status_port=${status_port%%[!0-9]*}
}

end() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?: $(cat serve.err)"
}

train() {
  ps-train job.json --data train.txt --set cluster.server_timeout=20 --servers "$@"
}

for authority in ca other; do self_signed "$authority"; done
certificate server ca IP:127.0.0.1
certificate renewed ca IP:127.0.0.1
certificate trainer ca DNS:trainer
certificate stranger other DNS:trainer
secret=$(openssl rand -hex 32)
echo "train $secret" >train.token
echo "read $(openssl rand -hex 16)" >read.token
echo "train $(openssl rand -hex 32)" >wrong.token
status_secret=$(openssl rand -hex 32)
cat train.token read.token <(echo "status $status_secret") >tokens

echo "a server listens on this machine alone, and others need a reason to be let in"
start
# listens_at PORT: the addresses that have it, in a line.
listens_at() { ss -Htln "sport = :$1" | awk '{print $4}' | LC_ALL=C sort | paste -sd ' '; }
for each in "$port" "$status_port"; do
  loopback=127.0.0.1:$each
  if grep -qs '^0\{31\}1 ' /proc/net/if_inet6; then loopback+=" [::1]:$each"; fi
  [[ $(listens_at "$each") == "$loopback" ]] || fail "it listens at $(listens_at "$each"), not at $loopback"
done
train "127.0.0.1:$port" --save-dir plain >out 2>err || fail "$(cat err)"
end
for host in 0.0.0.0 ::; do
  expect_status 2 ps-serve job.json --host "$host" --port 0
  expect_text err "give --token-file, or --tls-ca with certificates, or --insecure"
done
start --host 0.0.0.0 --insecure
expect_text serve.err 'insecure: whoever reaches the ports may read and change everything'
curl -s "http://127.0.0.1:$status_port/status.json" >status.json
expect_text status.json '"exposure":"insecure'
end

echo "a token file is its owner's alone, and no secret of it is ever shown"
chmod 644 train.token
expect_status 2 ps-serve job.json --port 0 --token-file train.token
expect_text err 'chmod 600'
chmod 600 train.token
echo "train ${secret}x" >bad.token
expect_status 2 ps-serve job.json --port 0 --token-file bad.token
if grep -q "$secret" err; then fail "the secret is in the message"; fi

echo "without a right token nobody is let in, at once and with status 7"
start --host 0.0.0.0 --token-file tokens
expect_text serve.err 'those with a token are let in, but what they send is not encrypted'
[[ $(listens_at "$status_port") == "0.0.0.0:$status_port" ]] || fail "its pages are elsewhere"
begin=$EPOCHSECONDS
expect_status 7 train "127.0.0.1:$port" --save-dir ''
expect_text err 'this server lets in who shows a token: --token-file'
expect_status 7 train "127.0.0.1:$port" --save-dir '' --token-file wrong.token
expect_text err "the server refuses the token for 'train'"
((EPOCHSECONDS - begin < 15)) || fail "it tried again and again"
expect_status 2 train "127.0.0.1:$port" --save-dir '' --token-file read.token
expect_text err "no token for 'train'"
expect_text serve.err 'refused 127.0.0.1:'
# The pages show what was a moment ago.
for ((tries = 0; tries < 300; ++tries)); do
  curl -s -H "Authorization: Bearer $status_secret" "http://127.0.0.1:$status_port/metrics" >metrics
  refused=$(awk '/^pskit_shard_peers_refused_total/ {sum += $2} END {print sum}' metrics)
  ((refused < 2)) || break
  sleep 0.1
done
[[ $refused == 2 ]] || fail "$(cat metrics)"

echo "with it the model is the same, and who may read may test"
train "127.0.0.1:$port" --save-dir token --token-file train.token >out 2>err || fail "$(cat err)"
cmp plain/pass-00000/model.safetensors token/pass-00000/model.safetensors
ps-train job.json --job test --test-data train.txt --servers "127.0.0.1:$port" --token-file read.token >out 2>err ||
  fail "$(cat err)"

echo "SIGHUP: the tokens are read again, and a file that does not fit changes nothing"
cp tokens tokens.kept
echo nonsense >tokens
kill -HUP "$server"
until grep -q 'the tokens and certificates stay as they were' serve.err; do sleep 0.02; done
train "127.0.0.1:$port" --save-dir '' --token-file train.token >out 2>err || fail "$(cat err)"
cat wrong.token <(echo "status $status_secret") >tokens
kill -HUP "$server"
until grep -q 'Read the tokens and certificates again' serve.err; do sleep 0.02; done
expect_status 7 train "127.0.0.1:$port" --save-dir '' --token-file train.token
train "127.0.0.1:$port" --save-dir '' --token-file wrong.token >out 2>err || fail "$(cat err)"
mv tokens.kept tokens
end

echo "certificates: of the right authority, for the right host, and both sides"
start --host 0.0.0.0 --tls-cert server.crt --tls-key server.key --tls-ca ca.crt
expect_status 7 train "127.0.0.1:$port" --save-dir ''
expect_text err 'this server speaks TLS: --tls-ca'
expect_status 7 train "127.0.0.1:$port" --save-dir '' --tls-ca other.crt
expect_text err "the peer's certificate: "
expect_status 7 train "127.0.0.1:$port" --save-dir '' --tls-ca ca.crt
expect_text err 'asks for a certificate'
expect_status 7 train "127.0.0.1:$port" --save-dir '' --tls-ca ca.crt --tls-cert stranger.crt --tls-key stranger.key
expect_status 7 train "127.0.0.2:$port" --save-dir '' --tls-ca ca.crt --tls-cert trainer.crt --tls-key trainer.key
expect_text err 'IP address mismatch'
train "127.0.0.1:$port" --save-dir tls --tls-ca ca.crt --tls-cert trainer.crt --tls-key trainer.key >out 2>err ||
  fail "$(cat err)"
cmp plain/pass-00000/model.safetensors tls/pass-00000/model.safetensors

echo "the pages are for those with a certificate"
tls=(--cacert ca.crt --cert trainer.crt --key trainer.key)
curl -s "${tls[@]}" "https://127.0.0.1:$status_port/readyz" >page || fail "no page"
expect_text page ok
if curl -s --cacert ca.crt "https://127.0.0.1:$status_port/readyz" >page; then fail "a stranger sees the pages"; fi
if curl -s "http://127.0.0.1:$status_port/readyz" >page; then fail "whoever speaks no TLS sees the pages"; fi
[[ ! -s page ]] || fail "it was told something: $(cat page)"

echo "SIGHUP: the certificates are read again, and those that do not fit change nothing"
# serial [PORT]: of the certificate that the server, or the process at this port, shows.
serial() {
  openssl s_client -connect "127.0.0.1:${1:-$port}" -CAfile ca.crt -cert trainer.crt -key trainer.key </dev/null >shown 2>log
  openssl x509 -noout -serial -in shown
}
first=$(serial)
cp server.key first.key
cp server.crt first.crt
echo nonsense >server.key
kill -HUP "$server"
until grep -q 'the tokens and certificates stay as they were' serve.err; do sleep 0.02; done
[[ $(serial) == "$first" ]] || fail "it shows another certificate"
cp renewed.key server.key
cp renewed.crt server.crt
kill -HUP "$server"
until grep -q 'Read the tokens and certificates again' serve.err; do sleep 0.02; done
[[ $(serial) == "$(openssl x509 -noout -serial -in renewed.crt)" ]] || fail "it does not show the new certificate"
end

echo "a reader and its compute trainer know each other by certificates, and the model is the same"
start --host 0.0.0.0 --tls-cert server.crt --tls-key server.key --tls-ca ca.crt
rm -f compute.port
ps-train job.json --role compute --host 0.0.0.0 --port 0 --port-file compute.port --servers "127.0.0.1:$port" \
  --tls-cert server.crt --tls-key server.key --tls-ca ca.crt >compute.out 2>compute.err &
compute=$!
until [[ -s compute.port ]]; do
  kill -0 "$compute" 2>/dev/null || fail "the compute trainer did not start: $(cat compute.err)"
  sleep 0.02
done
reads=("127.0.0.1:$port" --role reader --compute "127.0.0.1:$(<compute.port)" --tls-ca ca.crt)
openssl s_client -connect "127.0.0.1:$(<compute.port)" -CAfile ca.crt -cert stranger.crt -key stranger.key -ign_eof \
  </dev/null >log 2>&1 || true
expect_text log 'alert unknown ca'
echo "SIGHUP to the compute trainer: the same with its certificates"
second=$(serial "$(<compute.port)")
echo nonsense >server.key
kill -HUP "$compute"
timeout 60 bash -c "until grep -q 'the tokens and certificates stay as they were' compute.err; do sleep 0.02; done"
[[ $(serial "$(<compute.port)") == "$second" ]] || fail "it shows another certificate"
cp first.key server.key
cp first.crt server.crt
kill -HUP "$compute"
timeout 60 bash -c "until grep -q 'Read the tokens and certificates again' compute.err; do sleep 0.02; done"
[[ $(serial "$(<compute.port)") == "$first" ]] || fail "it does not show the certificate that the file has now"
train "${reads[@]}" --tls-cert trainer.crt --tls-key trainer.key --save-dir heter >out 2>err || fail "$(cat err)"
cmp plain/pass-00000/model.safetensors heter/pass-00000/model.safetensors
wait "$compute" || fail "the compute trainer ended with $?: $(cat compute.err)"
end
