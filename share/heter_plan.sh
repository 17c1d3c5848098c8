#!/bin/bash
# ps-bench plan --hetero beside runs in network namespaces: batches a second of two readers and a compute trainer, and of a plain
# trainer, both with one emulated accelerator, for several bandwidths of all links and times of a batch.  Prints a line for each,
# then the median error of the plan, and how far from the faster cut the one is that the plan calls faster.  Needs root, ip(8),
# tc(8) and python3; ends with 9 if the median error is above 15 %, or such a cut is more than 5 % slower.
#
# usage: heter_plan.sh [-n EXAMPLES] [-r RUNS] [JOB [BANDWIDTH:MILLISECONDS...]]
#   -n  of the data: 4000 unless told
#   -r  runs of each, of which the median counts: 3 unless told
#   JOB of data like Criteo's: criteo_wide_deep unless told
#   BANDWIDTH  of every link in bits a second, each way, such as 100M
set -euo pipefail
source "$(dirname "$0")/launch/common.sh"

examples=4000 runs=3
while getopts n:r: option; do
  case $option in
    n) examples=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
  esac
done
shift $((OPTIND - 1))
job=${1:-criteo_wide_deep}
points=("${@:2}")
((${#points[@]} > 0)) || points=(1G:100 1G:30 300M:30 100M:100 100M:200 50M:50)
for point in "${points[@]}"; do [[ $point =~ ^[0-9.]+[KMG]?:[0-9]+$ ]] || usage; done

source "$(dirname "$0")/heter_places.sh"
ps-datagen criteo --samples "$examples" --output train.txt
ps-train "$job" --data train.txt --threads 1 --save-dir '' --json --set train.passes=1 >measured.json 2>measured.err

# measure CUT: batches a second of a run, with the flags in $emulated.
measure() {
  if [[ $1 == rows ]]; then
    train '' heter "${emulated[@]}" --set train.pull_ahead=10 >&2
  else
    start_server "${emulated[@]}"
    start trainer0 compute ps-train "$job" --data train.txt --servers "$(address server):7164" --threads 1 --save-dir '' --json \
      "${emulated[@]}"
    end_well trainer0 "$started"
    end_server
  fi
  steps
}

for point in "${points[@]}"; do
  bandwidth=${point%:*} milliseconds=${point#*:}
  shape "$bandwidth"
  ps-bench plan "$job" --hetero --measured measured.json --compute "${milliseconds}ms" --bandwidth "$bandwidth" --processors 2 \
    --accelerators 1 --json >plan.json
  # The rate does not depend on values: those of an emulated accelerator mean nothing.
  emulated=(--set train.strategy.consistency=async --set "train.emulated_compute=${milliseconds}ms" --set train.passes=1
    --set 'optimizer={"type": "sgd", "learning_rate": 0.01}')
  for cut in rows 'none, accelerators'; do
    for ((run = 0; run < runs; ++run)); do measure "$cut"; done >rates
    python3 - "$cut" "$(median <rates)" "$bandwidth" "$milliseconds" >>points <<'PY'
import json, sys
cut, rate, bandwidth, milliseconds = sys.argv[1], float(sys.argv[2]), sys.argv[3], sys.argv[4]
choice = [c for c in json.load(open("plan.json"))["choices"] if c["cut"] == cut][-1]
print(json.dumps([bandwidth, milliseconds, cut, choice["batches_per_second"], choice["limit"], rate]))
PY
  done
done

python3 - <<'PY'
import json, statistics, sys
errors, points, slower = [], {}, []
print(f"{'link':>6} {'batch':>8}  {'cut':<18} {'planned':>8} {'measured':>8} {'error':>7}  limit")
for line in open("points"):
    bandwidth, milliseconds, cut, planned, limit, rate = json.loads(line)
    errors.append(abs(planned / rate - 1))
    points.setdefault((bandwidth, milliseconds), []).append((planned, rate))
    print(f"{bandwidth:>6} {milliseconds:>5} ms  {cut:<18} {planned:8.2f} {rate:8.2f} {errors[-1]:7.1%}  {limit}")
for cuts in points.values():
    best = max(rate for _, rate in cuts)
    named = max(planned for planned, _ in cuts)
    slower.append(1 - max(rate for planned, rate in cuts if planned > 0.999 * named) / best)
print(f"median error {statistics.median(errors):.1%}, largest {max(errors):.1%}; the cut that the plan names is at most {max(slower):.1%} slower")
sys.exit(9 if statistics.median(errors) > 0.15 or max(slower) > 0.05 else 0)
PY
