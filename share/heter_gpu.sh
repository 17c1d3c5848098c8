#!/bin/bash
# Wide & deep training on a device: everything resident there, and the tables on a server of this machine with their rows cached
# there.  Prints, as medians of pairs of runs, examples a second of both and their ratio, and the AUC of both on held-out data;
# and, where python3 has torch, the rate of a torch program with the same layers on the device, by share/bench/gpu_peers.py of the
# sources.  Ends with 9 if the second is below half of the first, or slower than torch's, or if the AUCs differ by more than 0.002.
# Nothing of this is a measure with an emulated device, of which it checks that all of it runs.
#
# usage: heter_gpu.sh [-d DEVICE] [-n EXAMPLES] [-B BATCH] [-r RUNS] [JOB]
#   -d  cuda:0 unless told; or emulated
#   -n  of the training data: 400000 unless told
#   -B  examples of a batch: 4096 unless told
#   -r  pairs of runs: 5 unless told
#   JOB of data like Criteo's: criteo_wide_deep unless told
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/launch/common.sh"

device=cuda:0 examples=400000 batch=4096 runs=5
while getopts d:n:B:r: option; do
  case $option in
    d) device=$OPTARG ;;
    n) examples=$OPTARG ;;
    B) batch=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
(($# <= 1)) || usage
job=${1:-criteo_wide_deep}

scratch=$(mktemp -d)
server=
trap 'if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi; rm -rf "$scratch"' EXIT
job_file=$job
if [[ -e $job ]]; then job_file=$(realpath "$job"); fi
cd "$scratch"

# train NAME [flags...]: two passes, of which the second is measured, and a test on held-out data.
train() {
  local name=$1
  shift
  ps-train "$job_file" --data train.txt --test-data held_out.txt --passes 2 --save-dir '' --json --device "$device" \
    --set device.trains=all --set "data.batch_size=$batch" "$@" >"$name.json" 2>"$name.err" || {
    tail -n 3 "$name.err" >&2
    exit 1
  }
}

# behind_server: the same with the tables on a server of this machine.
behind_server() {
  rm -f port
  ps-serve "$job_file" --set "data.batch_size=$batch" --port 0 --port-file port >server.out 2>server.err &
  server=$!
  wait_for_file port "$server"
  train served --servers "127.0.0.1:$(head -n 1 port)"
  kill "$server"
  wait "$server" || true
  server=
}

# figure NAME rate|auc
figure() {
  python3 - "$1.json" "$2" <<'PY'
import json, sys
result = json.load(open(sys.argv[1]))
last = result["passes"][-1]
print(last["samples"] / last["seconds"] if sys.argv[2] == "rate" else result["test"]["evaluators"]["auc"])
PY
}

median() { sort -g | awk '{ v[NR] = $1 } END { print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'; }

ps-datagen criteo --samples "$examples" --output train.txt
ps-datagen criteo --first "$examples" --samples $((examples / 10)) --output held_out.txt
for ((run = 0; run < runs; ++run)); do
  train resident
  figure resident rate >>resident
  behind_server
  figure served rate >>served
done
torch=0
if [[ -e $here/bench/gpu_peers.py && $device == cuda:* ]]; then
  python3 "$here/bench/gpu_peers.py" --device "${device#cuda:}" --runs "$runs" --filter gpu/train/wide-deep --json >torch.json
  torch=$(python3 - <<'PY'
import json
rates = [0]
for line in open("torch.json"):
    if line.startswith("{"): rates.append(json.loads(line).get("median_rate", 0))
print(max(rates))
PY
  )
fi
paste served resident | awk '{ print $1 / $2 }' >ratios
awk -v served="$(median <served)" -v resident="$(median <resident)" -v ratio="$(median <ratios)" -v torch="$torch" \
  -v one="$(figure resident auc)" -v other="$(figure served auc)" '
  BEGIN {
    printf "everything on the device          %10.0f examples/s, AUC %.4f\n", resident, one
    printf "tables behind a local server      %10.0f examples/s, AUC %.4f\n", served, other
    printf "beside everything on the device   %10.3f x  bar >= 0.5\n", ratio
    if (torch > 0) printf "beside torch, %10.0f examples/s %8.3f x  bar >= 1\n", torch, served / torch
    else print "torch or a GPU is missing: not compared"
    off = one > other ? one - other : other - one
    exit ratio < 0.5 || (torch > 0 && served < torch) || off > 0.002 ? 9 : 0
  }'
