#!/bin/bash
# The pages of a server with tokens are for those who send a token for 'status', on every path, also over TLS and on
# loopback; that token opens nothing else, and Prometheus gets it from a file.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
need curl openssl
cd "$scratch"
PATH=$PS_BIN:$PATH
umask 077
cp "$PS_SOURCE/share/jobs/quickstart.json" job.json
trap 'kill $(jobs -p) 2>/dev/null || true; wait; remove_scratch' EXIT

declare -A secret
for role in status read train admin wrong old; do secret[$role]=$(openssl rand -hex 32); done
# write_tokens ROLE...
write_tokens() {
  local role
  for role in "$@"; do echo "${role/old/status} ${secret[$role]}"; done >tokens
}

# start [flags...]: a server; $pages is the address of its pages.
start() {
  rm -f port ready
  mkfifo ready
  ps-serve job.json --port 0 --port-file port --status-port 0 --token-file tokens "$@" >ready 2>serve.err &
  server=$!
  local line
  read -r line <ready || fail "the server did not start: $(cat serve.err)"
  pages=${line##*\"status_port\":}
  pages=127.0.0.1:${pages%%[!0-9]*}
}
end() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?: $(cat serve.err)"
}

# ask STATUS URL [flags...]: curl gets that status of it; the answer is in page, its header in head.
ask() {
  local expected=$1 url=$2 status
  shift 2
  status=$(curl -s -o page -D head -w '%{http_code}' --max-time 30 "$@" "$url") || fail "no answer of $url"
  [[ $status == "$expected" ]] || fail "$url: status $status, expected $expected: $(cat page)"
}
bearer() { echo "Authorization: Bearer ${secret[$1]}"; }
# Until the server has read its tokens, or has not, as often as told.
reload() {
  local before=$(grep -c "$1" serve.err || true)
  kill -HUP "$server"
  until (($(grep -c "$1" serve.err) > before)); do sleep 0.02; done
}

echo "pages need a token for 'status', and it alone is not enough for a server"
write_tokens train
expect_status 2 ps-serve job.json --port 0 --status-port 0 --token-file tokens
expect_text err "no token for 'status'"
write_tokens status
expect_status 2 ps-serve job.json --port 0 --status-port 0 --token-file tokens
expect_text err "no token for 'read', 'train' or 'admin'"

echo "who sends it is answered, and nobody else, on any path; a wrong one is counted, and waits"
write_tokens old status train read admin
start --host 0.0.0.0
for path in / /metrics /livez /readyz /status.json /elsewhere; do
  found=200
  if [[ $path == /elsewhere ]]; then found=404; fi
  ask 401 "$pages$path"
  grep -qi '^www-authenticate: Bearer' head || fail "$(cat head)"
  grep -qi '^www-authenticate: Basic' head || fail "$(cat head)"
  if grep -qE 'quickstart|/metrics|shard' page; then fail "a stranger is told: $(cat page)"; fi
  ask "$found" "$pages$path" -H "$(bearer status)"
  ask "$found" "$pages$path" -u "anybody:${secret[old]}"
done
asking=()
for role in wrong train read admin; do
  mkdir $role
  (cd $role && ask 401 "$pages/metrics" -H "$(bearer $role)") &
  asking+=($!)
done
ask 401 "$pages/" -u "status:${secret[train]}"
for id in "${asking[@]}"; do wait "$id" || fail "a token of another role was not refused"; done
ask 200 "$pages/metrics" -H "$(bearer status)"
expect_text page 'pskit_status_requests_refused_total 5'
expect_text serve.err 'it showed a wrong token'
if grep -qF -e "${secret[wrong]}" -e "${secret[status]}" serve.err; then fail "a secret is in the log"; fi

echo "what was heard on the way to a page opens no other port"
sed "s/.*/train ${secret[status]}/;q" tokens >heard
ps-datagen ctr --samples 300 --output train.txt
expect_status 7 ps-train job.json --data train.txt --servers "127.0.0.1:$(<port)" --token-file heard --save-dir ''
expect_text err "the server refuses the token for 'train'"

echo "SIGHUP: a token that is gone is wrong; a file without any changes nothing"
write_tokens status train
reload 'Read the tokens and certificates again'
ask 401 "$pages/readyz" -H "$(bearer old)"
write_tokens train
reload 'the tokens and certificates stay as they were'
ask 200 "$pages/readyz" -H "$(bearer status)"

echo "Prometheus sends it from a file"
if command -v prometheus >/dev/null; then
  echo "${secret[status]}" >status.token
  port=$(free_ports 1)
  cat >prometheus.yml <<YAML
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: pskit
    authorization: {credentials_file: status.token}
    static_configs: [{targets: ["$pages"]}]
  - job_name: without
    static_configs: [{targets: ["$pages"]}]
YAML
  prometheus --config.file prometheus.yml --storage.tsdb.path data --web.listen-address "127.0.0.1:$port" >prometheus.out 2>&1 &
  prometheus=$!
  # health JOB: of its target, once it was scraped.
  health() {
    local health=unknown
    for ((tries = 0; tries < 1500; ++tries)); do
      health=$(curl -sG "127.0.0.1:$port/api/v1/targets" | tr '{' '\n' | grep -o "\"scrapePool\":\"$1\".*" |
        sed -n 's/.*"health":"\([a-z]*\)".*/\1/p') || true
      if [[ $health == up || $health == down ]]; then break; fi
      kill -0 "$prometheus" || fail "Prometheus has ended: $(cat prometheus.out)"
      sleep 0.02
    done
    echo "$health"
  }
  [[ $(health pskit) == up ]] || fail "Prometheus sees nothing: $(curl -s "127.0.0.1:$port/api/v1/targets")"
  [[ $(health without) == down ]] || fail "Prometheus is shown pages without a token"
  kill "$prometheus"
  wait "$prometheus" || true
else
  echo "left out: prometheus is not installed"
fi
end

echo "with TLS, the token goes over it"
self_signed server IP:127.0.0.1
write_tokens status train
start --tls-cert server.crt --tls-key server.key
ask 401 "https://$pages/readyz" --cacert server.crt
ask 200 "https://$pages/readyz" --cacert server.crt -H "$(bearer status)"
if curl -s "http://$pages/readyz" -H "$(bearer status)" >page; then fail "whoever speaks no TLS sees the pages"; fi
end

echo "without tokens the pages of this machine are for whoever reaches them"
rm -f port
mkfifo open
ps-serve job.json --port 0 --status-port 0 >open 2>serve.err &
server=$!
read -r line <open
pages=${line##*\"status_port\":}
ask 200 "127.0.0.1:${pages%%[!0-9]*}/readyz"
end
