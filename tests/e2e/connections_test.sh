#!/bin/bash
# Trainers on two machines, which are network namespaces here, whose network holds each connection to a rate of its own:
# they measure that several pay, and use as many.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need ip tc nsenter
if [[ ${1:-} != inside ]]; then
  # The network is one that nobody else sees.
  unshare --map-root-user --net true 2>/dev/null || skip "this machine gives out no network namespaces"
  unshare --map-root-user --net bash "$0" inside
  exit
fi
cd "$scratch"
PATH=$PS_BIN:$PATH
processes=()
trap 'kill "${processes[@]}" 2>/dev/null || true; wait; remove_scratch' EXIT

# The other machine is the namespace of a process that waits until the test ends.
mkfifo there held
unshare --net sh -c 'echo there >there && read -r end <held' &
other=$!
processes+=("$other")
timeout 60 head -n 1 there >out || fail "there is no second namespace"

# at RANK COMMAND...
at() {
  if [[ $1 == 0 ]]; then "${@:2}"; else nsenter --net=/proc/$other/ns/net "${@:2}"; fi
}

# Trainer 1 connects to trainer 0, from one of few ports.  A class for each of them has 80 Mbit/s each way, by which 4 MiB
# take 420 ms over one connection, 210 ms over two and 105 ms over four; its first 1.5 MiB pass at once, so that the small
# exchanges before do not show a slow link.
first_port=40000 ports=32

# shape RANK SIDE: prints what tc(8) does at the trainer's end, where SIDE of a connection has the port.
shape() {
  local n
  echo "qdisc add dev link$1 root handle 1: htb"
  for ((n = 1; n <= ports; ++n)); do
    echo "class add dev link$1 parent 1: classid 1:$n htb rate 80mbit burst 1536k cburst 1536k quantum 65536"
    echo "filter add dev link$1 parent 1: protocol ip u32 match ip $2 $((first_port + n - 1)) 0xffff flowid 1:$n"
  done
}

# make_network: a link between the two, at whose ends are the addresses 10.78.0.1 and 10.78.0.2.
make_network() {
  local rank
  ip link add link0 type veth peer name link1 netns $other &&
    at 1 sh -c "echo $first_port $((first_port + ports - 1)) >/proc/sys/net/ipv4/ip_local_port_range" &&
    shape 0 dport >shape.0 && shape 1 sport >shape.1 || return 1
  for rank in 0 1; do
    at $rank ip link set lo up && at $rank ip address add 10.78.0.$((rank + 1))/24 dev link$rank &&
      at $rank ip link set link$rank up && at $rank tc -batch shape.$rank || return 1
  done
}
make_network 2>err || skip "this machine makes no such network: $(head -n 1 err)"

cat >job.json <<'JSON'
{
  "job": {"name": "far"},
  "data": {"format": "paddle_sparse_binary", "files": ["train.txt"], "dim": 1000, "batch_size": 20},
  "model": {
    "layers": [{"name": "output", "type": "fc", "input": "features", "size": 2, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "output"}
  },
  "optimizer": {"type": "sgd", "learning_rate": 0.05},
  "train": {"passes": 1, "log_period": 0, "strategy": {"type": "all_reduce"}},
  "cluster": {"trainers": 2, "peers": ["10.78.0.1"]}
}
JSON
ps-datagen sparse-binary --dim 1000 --samples 200 --output train.txt

echo "two trainers between which each connection has a rate of its own use several"
trainers=()
for rank in 0 1; do
  at $rank timeout 300 ps-train job.json --rank $rank --insecure --save-dir saved >$rank.out 2>$rank.err &
  trainers+=($!)
  processes+=($!)
done
for trainer in "${trainers[@]}"; do wait "$trainer" || fail "a trainer ended with $?: $(cat ./*.err)"; done
# They have four.  On a busy machine two may seem to be enough, but one takes twice as long as two, and four times as long
# as four, where four fifths decide.
for rank in 0 1; do
  grep -Eq "Trainers have (2|4) connections to each other" $rank.err || fail "not several: $(cat $rank.err)"
done
