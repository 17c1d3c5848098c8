# Network namespaces for a server, two readers and a compute trainer, whose links have a bandwidth, and programs in them.
# Sourced by heter_bars.sh and heter_plan.sh after launch/common.sh; needs root, ip(8) and tc(8).  The shell is in a folder of
# its own afterwards, which goes with the namespaces when it ends; processes that still run are killed.

scratch=$(mktemp -d)
prefix=psh$$
processes=()
end_all() {
  local id place
  for id in "${processes[@]}"; do kill -9 $(pgrep -P "$id") 2>/dev/null || true; done
  for place in switch server reader0 reader1 compute; do ip netns delete "$prefix$place" 2>/dev/null || true; done
  rm -rf "$scratch"
}
trap end_all EXIT
ip netns add "${prefix}switch" || exit 4
cd "$scratch"

# address PLACE
address() {
  case $1 in
    server) echo 10.78.0.1 ;;
    reader0) echo 10.78.0.2 ;;
    reader1) echo 10.78.0.3 ;;
    compute) echo 10.78.0.4 ;;
  esac
}

ip netns exec "${prefix}switch" ip link add br0 type bridge
ip netns exec "${prefix}switch" ip link set br0 up
for place in server reader0 reader1 compute; do
  ip netns add "$prefix$place"
  ip netns exec "${prefix}switch" ip link add "$place" type veth peer name eth0 netns "$prefix$place"
  ip netns exec "${prefix}switch" ip link set "$place" master br0 up
  ip netns exec "$prefix$place" ip link set lo up
  ip netns exec "$prefix$place" ip address add "$(address "$place")/24" dev eth0
  ip netns exec "$prefix$place" ip link set eth0 up
  # Linux's default, whatever the machine's congestion control is.
  ip netns exec "$prefix$place" ip route replace 10.78.0.0/24 dev eth0 scope link src "$(address "$place")" congctl cubic
done

# shape BANDWIDTH: of every link, each way, in bits a second, such as 100M.
shape() {
  local place
  for place in server reader0 reader1 compute; do
    ip netns exec "${prefix}switch" tc qdisc replace dev "$place" root tbf rate "$1bit" burst 256k limit 512k
    ip netns exec "$prefix$place" tc qdisc replace dev eth0 root tbf rate "$1bit" burst 256k limit 512k
  done
}

# counted COMMAND...: runs it; the last line of its errors has the processor time that it took, as 0m1.5s 0m0.1s.
counted() {
  local status=0
  "$@" || status=$?
  times >&2
  return "$status"
}

# start NAME PLACE COMMAND...: in the background, in the place's namespace; its process is $started.
start() {
  local name=$1 place=$2
  shift 2
  counted ip netns exec "$prefix$place" "$@" >"$name.out" 2>"$name.err" &
  started=$!
  processes+=("$started")
}

# end_well NAME ID
end_well() {
  local status=0
  wait "$2" || status=$?
  ((status == 0)) || { echo "${0##*/}: $1 ended with $status: $(tail -n 3 "$1.err")" >&2 && exit 1; }
}

# start_server [flags...]: a server of $job; its process is $server.
start_server() {
  rm -f server.port
  start server server ps-serve "$job" --host "$(address server)" --insecure --port 7164 --port-file server.port "$@"
  server=$started
  wait_for_file server.port "$server"
}

# end_server: the first child of the shell that counts is the server itself.
end_server() {
  kill -TERM "$(pgrep -P "$server")"
  end_well server "$server"
}

# train NAME plain|heter [flags...]: two trainers of $job, to the end: plain ones, or readers with a compute trainer.
train() {
  local name=$1 kind=$2 rank ids=() compute='' role=()
  shift 2
  rm -f compute.port
  start_server "$@"
  if [[ $kind == heter ]]; then
    start compute compute ps-train "$job" --role compute --servers "$(address server):7164" --host "$(address compute)" \
      --insecure --port 7264 --port-file compute.port --threads 1 "$@"
    compute=$started
    wait_for_file compute.port "$compute"
    role=(--role reader --compute "$(address compute):7264")
  fi
  for rank in 1 0; do
    start "trainer$rank" "reader$rank" ps-train "$job" --data train.txt --servers "$(address server):7164" --trainers 2 \
      --rank $rank --threads 1 --save-dir "$name" --json "${role[@]}" "$@"
    ids[rank]=$started
  done
  end_well trainer1 "${ids[1]}"
  end_well trainer0 "${ids[0]}"
  if [[ -n $compute ]]; then end_well compute "$compute"; fi
  end_server
}

# steps: a second, of all trainers, as trainer 0 tells.
steps() {
  python3 - <<'PY'
import json
last = json.load(open("trainer0.out"))["passes"][-1]
print(last["batches"] / last["seconds"])
PY
}

median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }
