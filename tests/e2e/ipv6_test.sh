#!/bin/bash
# Servers, trainers, status pages, certificates, meeting trainers, compute trainers, etcd and a launch script at ::1: the bits
# of the model are those of IPv4, and what is no address is refused by what it says.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
umask 077
cp "$PS_SOURCE/share/jobs/quickstart.json" job.json
processes=()
trap 'kill -9 "${processes[@]}" 2>/dev/null || true; remove_scratch' EXIT

# refused STATUS TEXT COMMAND...
refused() {
  expect_status "$1" "${@:3}"
  expect_text err "$2"
}

echo "what is no address is refused by what it says"
for host in '[::1' '::1]' '::g' '1:2:3' '[127.0.0.1]' '[]'; do
  refused 2 "host '$host': not an IPv6 address" ps-serve job.json --host "$host" --port 0
  refused 2 "--advertise: host '$host'" ps-serve job.json --advertise "$host" --port 0
  refused 2 "host '$host': not an IPv6 address" ps-train job.json --servers a:1 --role compute --host "$host"
done
met=(--set train.strategy.type=all_reduce)
for flag in --servers --peers --compute; do
  cluster=()
  if [[ $flag == --peers ]]; then cluster=("${met[@]}" --trainers 2 --rank 0); fi
  if [[ $flag == --compute ]]; then cluster=(--servers a:1 --role reader); fi
  refused 2 "'::1:7001': more than one colon, and no brackets, expected host:port or [ipv6]:port" \
    ps-train job.json --data x "${cluster[@]}" $flag ::1:7001
  refused 2 "'[::g]:7001': no IPv6 address in the brackets" ps-train job.json --data x "${cluster[@]}" $flag '[::g]:7001'
  refused 2 "'[::1:7001': no closing bracket" ps-train job.json --data x "${cluster[@]}" $flag '[::1:7001'
done
refused 2 "'[::g]:2379': no IPv6 address in the brackets" ps-train job.json --data x --discovery 'etcd://[::g]:2379/job'

if ! grep -qs '^0\{31\}1 ' /proc/net/if_inet6; then skip "this machine has no ::1"; fi

# serve HOST [flags...]: a server, at `default` if that is the host; $port is its port, $pages that of its pages, $server its process.
serve() {
  local host=(--host "$1")
  if [[ $1 == default ]]; then host=(); fi
  rm -f port ready
  mkfifo ready
  ps-serve job.json "${host[@]}" --port 0 --port-file port --status-port 0 "${@:2}" >ready 2>serve.err &
  server=$!
  processes+=("$server")
  local line
  read -r line <ready || fail "the server did not start: $(cat serve.err)"
  port=$(<port) pages=${line##*\"status_port\":}
  pages=${pages%%[!0-9]*}
}
end() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?: $(cat serve.err)"
}
train() { ps-train job.json --data train.txt "$@" >out 2>err || fail "$(cat err)"; }
same_as_ipv4() { cmp ipv4/pass-00000/model.safetensors "$1/pass-00000/model.safetensors" || fail "$1 has another model"; }

ps-datagen ctr --samples 2000 --output train.txt
serve 127.0.0.1
train --servers "127.0.0.1:$port" --save-dir ipv4
end

# page_at HOST: the page that says if the server is ready, of HOST.
page_at() {
  (exec 3<>"/dev/tcp/$1/$pages" && printf 'GET /readyz HTTP/1.0\r\n\r\n' >&3 && cat <&3) >page || fail "no page at $1"
  expect_text page 'HTTP/1.1 200 OK'
}

echo "unless told otherwise a server, its pages and a compute trainer are at both addresses of this machine alone"
serve default --local-sockets
train --servers "[::1]:$port" --save-dir default6
same_as_ipv4 default6
page_at 127.0.0.1
page_at ::1
ps-train job.json --job test --test-data train.txt --servers "127.0.0.1:$port" >out 2>err || fail "$(cat err)"
refused 4 "cannot listen on '127.0.0.1:$port'" ps-serve job.json --port "$port"
end
serve default
ps-train job.json --servers "127.0.0.1:$port" --role compute --port 0 --port-file compute.port >compute.out 2>compute.err &
compute=$!
processes+=("$compute")
wait_for_file compute.port "$compute"
train --servers "127.0.0.1:$port" --role reader --compute "[::1]:$(<compute.port)" --save-dir heter-default
same_as_ipv4 heter-default
wait "$compute" || fail "the compute trainer ended with $?: $(cat compute.err)"
rm compute.port
end
if unshare -rn sh -c 'ip link set lo up && ip address del ::1/128 dev lo' 2>/dev/null; then
  unshare -rn sh -c 'ip link set lo up && ip address del ::1/128 dev lo && exec ps-serve job.json --port 0 --port-file port4' \
    >ready4 2>serve.err &
  server=$!
  processes+=("$server")
  wait_for_file ready4 "$server" || fail "without ::1 the server did not start: $(cat serve.err)"
  end
else
  echo "left out: a network without ::1 cannot be made here"
fi

echo "a server and its pages at ::1, with and without brackets"
for host in ::1 '[::1]'; do
  serve "$host" --local-sockets
  train --servers "[::1]:$port" --save-dir "ipv6$host"
  same_as_ipv4 "ipv6$host"
  page_at ::1
  if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then fail "a server at ::1 listens elsewhere"; fi
  end
done

echo "all addresses, of both families"
serve '' --insecure
train --servers "127.0.0.1:$port" --save-dir both
same_as_ipv4 both
ps-train job.json --job test --test-data train.txt --servers "[::1]:$port" >out 2>err || fail "$(cat err)"
end

echo "readers of a compute trainer"
serve ::1
ps-train job.json --servers "[::1]:$port" --role compute --host ::1 --port 0 --port-file compute.port >compute.out 2>compute.err &
compute=$!
processes+=("$compute")
wait_for_file compute.port "$compute"
train --servers "[::1]:$port" --role reader --compute "[::1]:$(<compute.port)" --save-dir heter
same_as_ipv4 heter
wait "$compute" || fail "the compute trainer ended with $?: $(cat compute.err)"
end

echo "trainers that meet without servers"
cat >dense.json <<'JSON'
{
  "data": {"format": "paddle_sparse_binary", "dim": 1000, "batch_size": 20},
  "model": {
    "layers": [{"name": "output", "type": "fc", "input": "features", "size": 2, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "output"}
  },
  "optimizer": {"type": "sgd", "learning_rate": 0.05}
}
JSON
ps-datagen sparse-binary --dim 1000 --samples 500 --output dense.txt
# meet NAME HOST: two of them.
meet() {
  local place rank
  place=$(address "$2" "$(free_ports 1)")
  for rank in 0 1; do
    ps-train dense.json --data dense.txt "${met[@]}" --peers "$place" --trainers 2 --rank $rank --save-dir "$1" >"$1.$rank" 2>&1 &
    ranks[rank]=$!
    processes+=($!)
  done
  for rank in 0 1; do wait "${ranks[rank]}" || fail "$(cat "$1".*)"; done
}
meet met4 127.0.0.1
meet met6 ::1
cmp met4/pass-00000/model.safetensors met6/pass-00000/model.safetensors || fail "they have another model"

if command -v openssl >/dev/null; then
  echo "a certificate for ::1, and none for another number"
  for number in ::1 ::2; do self_signed "$number" "IP:$number"; done
  serve ::1 --tls-cert ::1.crt --tls-key ::1.key
  train --servers "[::1]:$port" --tls-ca ::1.crt --save-dir tls
  same_as_ipv4 tls
  end
  serve ::1 --tls-cert ::2.crt --tls-key ::2.key
  refused 7 'IP address mismatch' ps-train job.json --data train.txt --servers "[::1]:$port" --tls-ca ::2.crt --save-dir ''
  end
else
  echo "left out: openssl is not installed"
fi

if command -v etcd >/dev/null; then
  echo "servers that are found in an etcd at ::1"
  ports=$(free_ports 2)
  etcd --data-dir etcd.d --listen-client-urls "http://[::1]:$ports" --advertise-client-urls "http://[::1]:$ports" \
    --listen-peer-urls "http://127.0.0.1:$((ports + 1))" --initial-advertise-peer-urls "http://127.0.0.1:$((ports + 1))" \
    --initial-cluster "default=http://127.0.0.1:$((ports + 1))" --unsafe-no-fsync >etcd.log 2>&1 &
  processes+=($!)
  serve ::1 --discovery "etcd://[::1]:$ports/job"
  train --discovery "etcd://[::1]:$ports/job" --save-dir found
  same_as_ipv4 found
  end
else
  echo "left out: etcd is not installed"
fi

echo "ssh.sh gives the numbers of its hosts brackets"
printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >fake_ssh
chmod +x fake_ssh
PS_SSH=$PWD/fake_ssh PS_PORT=$(free_ports 2) PS_COMPUTE_PORT=$(free_ports 1) "$PS_SOURCE/share/launch/ssh.sh" -H ::1 -n 1 -c 1 \
  "$PWD/job.json" --data train.txt --save-dir launched >/dev/null 2>err || fail "ssh.sh: $(cat err)"
same_as_ipv4 launched
