#!/bin/bash
# Heterogeneous training beside what its parts allow: servers, two readers and a compute trainer in network namespaces whose
# links have a given bandwidth.  Prints, as medians of pairs of runs:
#   steps a second, with an emulated accelerator and batches ahead, beside 1 / max(compute, reader / 2, bytes / bandwidth)
#   the part of a step in which the accelerator waits, where it is the slowest part
#   processor seconds of readers and compute trainer, beside those of plain trainers with the same examples
#   the part of fetching, building and writing back the rows of coming batches that is hidden behind batches, of a trainer
#     with rows on an emulated device whose cache is smaller than a pass needs: over one pass, and over three with as many
#     examples together
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

source "$(dirname "$0")/heter_places.sh"
shape "$bandwidth"

# train_on_device FILE PASSES: one trainer with room on its device for 8192 rows.
train_on_device() {
  start_server
  start trainer0 reader0 ps-train "$job" --data "$1" --servers "$(address server):7164" --threads 1 --save-dir '' --json \
    --passes "$2" --device emulated --set device.rows=8192 --set device.window=4 --set "train.emulated_compute=${milliseconds}ms"
  end_well trainer0 "$started"
  end_server
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

ps-datagen criteo --samples "$examples" --output train.txt
head -n $((examples / 5)) train.txt >few.txt
head -n $((examples / 15)) train.txt >third.txt
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
  train_on_device few.txt 1
  hidden >>hidden
  train_on_device third.txt 3
  hidden >>hidden_passes
  rm -rf plain heter emulated
done
rate=$(median <rates)
paste heter.seconds plain.seconds | awk '{ print $1 / $2 }' >ratios
awk -v rate="$rate" -v planned="$planned" -v limit="$limit" -v ms="$milliseconds" -v ratio="$(median <ratios)" -v same="$same" \
  -v hidden="$(median <hidden)" -v passes="$(median <hidden_passes)" '
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
    line("the same over three passes", passes, ">= 0.90", passes >= 0.9)
    line("models of plain trainers, bit for bit", same == "yes", "   = 1", same == "yes")
    exit below ? 9 : 0
  }'
