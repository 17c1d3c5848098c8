#!/bin/bash
# Heterogeneous training beside what its parts allow: servers, two readers and a compute trainer in network namespaces whose
# links have a given bandwidth.  Prints, as medians of pairs of runs:
#   steps a second, with an emulated accelerator and batches ahead, beside 1 / max(compute, reader / 2, bytes / bandwidth)
#   the part of a step in which the accelerator waits, where it is the slowest part
#   processor seconds of readers and compute trainer, beside those of plain trainers with the same examples
#   the part of fetching, building and writing back the rows of coming batches that is hidden behind batches, of a trainer
#     with rows on an emulated device whose cache is smaller than a pass needs
# and compares the models of these, bit for bit.  Needs root, ip(8), tc(8) and python3; ends with 9 below a bar.
#
# usage: heter_bars.sh [-b BANDWIDTH] [-t MILLISECONDS] [-n EXAMPLES] [-r RUNS] [JOB]
#   -b  of every link in bits a second, each way, such as 100M: 1G unless told
#   -t  of the emulated accelerator for a batch: 100 unless told
#   -n  of the data, for both readers: 20000 unless told
#   -r  pairs of runs: 5 unless told
#   JOB of data like Criteo's: criteo_wide_deep unless told
set -euo pipefail
source "$(dirname "$0")/launch/common.sh"

bandwidth=1G milliseconds=100 examples=20000 runs=5
while getopts b:t:n:r: option; do
  case $option in
    b) bandwidth=$OPTARG ;;
    t) milliseconds=$OPTARG ;;
    n) examples=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
(($# <= 1)) || usage
job=${1:-criteo_wide_deep}

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

# shape NAMESPACE DEVICE: it sends no more than the bandwidth.
shape() { ip netns exec "$1" tc qdisc add dev "$2" root tbf rate "${bandwidth}bit" burst 256k limit 8m; }

ip netns exec "${prefix}switch" ip link add br0 type bridge
ip netns exec "${prefix}switch" ip link set br0 up
for place in server reader0 reader1 compute; do
  ip netns add "$prefix$place"
  ip netns exec "${prefix}switch" ip link add "$place" type veth peer name eth0 netns "$prefix$place"
  ip netns exec "${prefix}switch" ip link set "$place" master br0 up
  shape "${prefix}switch" "$place"
  ip netns exec "$prefix$place" ip link set lo up
  ip netns exec "$prefix$place" ip address add "$(address "$place")/24" dev eth0
  ip netns exec "$prefix$place" ip link set eth0 up
  shape "$prefix$place" eth0
done

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
  ((status == 0)) || { echo "heter_bars.sh: $1 ended with $status: $(tail -n 3 "$1.err")" >&2 && exit 1; }
}

# train NAME plain|heter [flags...]: two trainers, to the end.
train() {
  local name=$1 kind=$2 rank ids=() server compute='' role=()
  shift 2
  rm -f server.port compute.port
  start server server ps-serve "$job" --host "$(address server)" --insecure --port 7164 --port-file server.port "$@"
  server=$started
  wait_for_file server.port "$server"
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
  # The first child of the shell that counts is the server itself.
  kill -TERM "$(pgrep -P "$server")"
  end_well server "$server"
}

# train_on_device: one trainer on a fifth of the examples, with room on its device for 8192 rows.
train_on_device() {
  rm -f server.port
  start server server ps-serve "$job" --host "$(address server)" --insecure --port 7164 --port-file server.port
  local server=$started
  wait_for_file server.port "$server"
  start trainer0 reader0 ps-train "$job" --data few.txt --servers "$(address server):7164" --threads 1 --save-dir '' --json \
    --passes 1 --device emulated --set device.rows=8192 --set device.window=4 --set "train.emulated_compute=${milliseconds}ms"
  end_well trainer0 "$started"
  kill -TERM "$(pgrep -P "$server")"
  end_well server "$server"
}

# hidden: the part of the work for rows that was hidden, as trainer 0 tells.
hidden() {
  python3 - <<'PY'
import json
device = json.load(open("trainer0.out"))["device"]
print(1 - device["exposed_seconds"] / sum(device[part + "_seconds"] for part in ("fetch", "build", "write_back")))
PY
}

# processor NAME...: seconds of all of them.
processor() {
  for name in "$@"; do tail -n 1 "$name.err"; done |
    awk -F '[ms ]+' '{ sum += 60 * ($1 + $3) + $2 + $4 } END { print sum }'
}

# steps: a second, of both trainers, as trainer 0 tells.
steps() {
  python3 - <<'PY'
import json
last = json.load(open("trainer0.out"))["passes"][-1]
print(last["batches"] / last["seconds"])
PY
}

median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

ps-datagen criteo --samples "$examples" --output train.txt
head -n $((examples / 5)) train.txt >few.txt
ps-train "$job" --data train.txt --threads 1 --save-dir '' --json --set train.passes=1 >measured.json 2>measured.err
ps-bench plan "$job" --hetero --measured measured.json --compute "${milliseconds}ms" --bandwidth "$bandwidth" --processors 2 \
  --accelerators 1 --json >plan.json
read -r planned limit <<<"$(python3 - <<'PY'
import json
choice = [c for c in json.load(open("plan.json"))["choices"] if c["cut"] == "rows"][-1]
print(choice["batches_per_second"], choice["limit"])
PY
)"

# The rate does not depend on values: those of an emulated accelerator mean nothing.
emulated=(--set train.strategy.consistency=async --set train.pull_ahead=10 --set "train.emulated_compute=${milliseconds}ms"
  --set 'optimizer={"type": "sgd", "learning_rate": 0.01}')
same=yes
for ((run = 0; run < runs; ++run)); do
  train plain plain
  processor trainer0 trainer1 >>plain.seconds
  train heter heter
  processor trainer0 trainer1 compute >>heter.seconds
  cmp plain/pass-00000/model.safetensors heter/pass-00000/model.safetensors || same=no
  train emulated heter "${emulated[@]}"
  steps >>rates
  train_on_device
  hidden >>hidden
  rm -rf plain heter emulated
done
rate=$(median <rates)
paste heter.seconds plain.seconds | awk '{ print $1 / $2 }' >ratios
awk -v rate="$rate" -v planned="$planned" -v limit="$limit" -v ms="$milliseconds" -v ratio="$(median <ratios)" -v same="$same" \
  -v hidden="$(median <hidden)" '
  function line(name, value, bar, good) {
    printf "%-44s %8.3f  bar %s  %s\n", name, value, bar, good ? "ok" : "BELOW"
    if (!good) below = 1
  }
  BEGIN {
    printf "%.2f steps/s, planned %.2f, limited by %s\n", rate, planned, limit
    line("steps a second beside the slowest part", rate / planned, ">= 0.90", rate / planned >= 0.9)
    if (limit == "accelerators") line("exposed wait of a step", 1 - rate * ms / 1000, "<= 0.10", 1 - rate * ms / 1000 <= 0.1)
    line("processor seconds beside plain trainers", ratio, "<= 1.25", ratio <= 1.25)
    line("work for rows of coming batches, hidden", hidden, ">= 0.90", hidden >= 0.9)
    line("models of plain trainers, bit for bit", same == "yes", "   = 1", same == "yes")
    exit below ? 9 : 0
  }'
