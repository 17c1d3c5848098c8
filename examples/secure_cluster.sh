#!/bin/bash
# Two servers and three trainers that let nobody else in: makes an authority, certificates and a token, trains over
# TLS, shows that a stranger is refused, and that the model is that of a run without TLS, bit for bit.  ps-security(7)
set -euo pipefail
cd "$(dirname "$0")/.."

job=share/jobs/quickstart.json
output=build/secure_cluster
bin=build/release/bin
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true' EXIT

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train ps-serve
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" ctr --samples 20000 --output "$output/clicks.txt"

# Keys and tokens are their owner's alone.
umask 077

# certificate NAME HOSTS: NAME.crt and NAME.key, by the authority, for these hosts.
certificate() {
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$output/$1.key" -subj "/CN=$1" \
    -out "$output/$1.csr" 2>/dev/null
  openssl x509 -req -in "$output/$1.csr" -CA "$output/ca.crt" -CAkey "$output/ca.key" -CAcreateserial -days 30 \
    -extfile <(echo "subjectAltName=$2") -out "$output/$1.crt" 2>/dev/null
}

echo "== an authority, a certificate for servers and one for trainers, and a token"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$output/ca.key" -subj "/CN=the job" \
  -days 30 -out "$output/ca.crt" 2>/dev/null
certificate server IP:127.0.0.1,DNS:localhost
certificate trainer DNS:trainer
echo "train $(openssl rand -hex 32)" >"$output/tokens"
tls=(--tls-ca "$output/ca.crt")
server=("${tls[@]}" --tls-cert "$output/server.crt" --tls-key "$output/server.key" --token-file "$output/tokens")
trainer=("${tls[@]}" --tls-cert "$output/trainer.crt" --tls-key "$output/trainer.key")

# start_servers [flags...]: two servers of 2 + 2 ports, any that are free; $addresses names them.
start_servers() {
  local name
  addresses=
  for name in one two; do
    rm -f "$output/$name.ready"
    mkfifo "$output/$name.ready"
    "$bin/ps-serve" "$job" --port 0 --ports-num 2 --ports-num-for-sparse 2 --port-file "$output/$name.ports" "$@" \
      >"$output/$name.ready" &
    servers+=($!)
    head -n 1 "$output/$name.ready"
    addresses+=127.0.0.1:$(head -n 1 "$output/$name.ports"),
  done
}

end_servers() {
  kill -TERM "${servers[@]}"
  wait "${servers[@]}"
  servers=()
}

# train FOLDER [flags...]: three trainers.
train() {
  local folder=$1 rank trainers=()
  shift
  for rank in 2 1 0; do
    "$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "$output/$folder" --servers "$addresses" --trainers 3 \
      --rank $rank "$@" &
    trainers+=($!)
  done
  for rank in "${trainers[@]}"; do wait "$rank"; done
}

echo
echo "== a stranger with a certificate and no token, then one with a token and no certificate"
start_servers --host 0.0.0.0 "${server[@]}"
status=0
"$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "" --servers "$addresses" "${trainer[@]}" || status=$?
echo "the first stranger ended with status $status"
((status == 7))
status=0
"$bin/ps-train" "$job" --data "$output/clicks.txt" --save-dir "" --servers "$addresses" "${tls[@]}" \
  --token-file "$output/tokens" || status=$?
echo "the second stranger ended with status $status"
((status == 7))

echo
echo "== three trainers that have both"
train secure "${trainer[@]}" --token-file "$output/tokens"
end_servers

echo
echo "== the same without TLS and tokens, on this machine alone"
start_servers
train plain
end_servers
cmp "$output/secure/pass-00000/model.safetensors" "$output/plain/pass-00000/model.safetensors"
echo "the weights are equal, bit for bit"
