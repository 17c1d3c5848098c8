#!/bin/bash
# Heterogeneous training, ps(7): a wide and deep model of data like Criteo's, of 26 slots with vectors of width 10 and 13
# numbers, in front of two servers, trained by one trainer that does all its work on a device, and then by two readers and
# one compute trainer on such a device.  Prints the AUC on held-out data of both.
#
# usage: wide_deep_heter.sh [DEVICE [EXAMPLES]]
#   DEVICE    cpu, unless told; cuda:0, for a GPU; or emulated, for one that is emulated, which is slow
#   EXAMPLES  to train with; 30000 unless told, and 2000 with emulated
set -euo pipefail
cd "$(dirname "$0")/.."

device=${1:-cpu}
examples=${2:-$([[ $device == emulated* ]] && echo 2000 || echo 30000)}
job=share/jobs/criteo_wide_deep.json
output=build/wide_deep_heter
bin=build/release/bin

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build --preset release --target ps-datagen ps-train ps-serve
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" criteo --samples "$examples" --output "$output/train.txt"
"$bin/ps-datagen" criteo --first "$examples" --samples 5000 --output "$output/held_out.txt"

# launch NAME [flags...]: servers and trainers, started by one command; trainer 0 tests and prints for all.
launch() {
  local name=$1
  shift
  echo
  echo "== share/launch/local.sh $*"
  share/launch/local.sh "$@" --data "$output/train.txt" --test-data "$output/held_out.txt" --save-dir "$output/$name" \
    --json >"$output/$name.json" 2>"$output/$name.log" || { tail "$output/$name.log" && exit 1; }
}

# auc NAME: on the held-out data.
auc() { grep -o '"auc":[0-9.]*' "$output/$1.json" | tail -n 1 | cut -d: -f2; }

# The rows, the layers and the dense parameters are on the device; the servers have the tables.
on_device=(--device "$device" --set device.trains=all)
launch trainer -s 2 -n 1 "$job" "${on_device[@]}"
[[ $device == cpu ]] || grep -h "on device $device" "$output/trainer.log"

# Readers have the rows of the tables, and the layers are computed on the device.
export PS_COMPUTE_FLAGS="--device $device --set device.trains=model"
launch readers -s 2 -n 2 -c 1 "$job"
grep -hE "Computing for readers|has come|run has ended" "$output/readers.log"

echo
printf 'AUC of one trainer on %s: %s\n' "$device" "$(auc trainer)"
printf 'AUC of two readers and a compute trainer on %s: %s\n' "$device" "$(auc readers)"
echo "Both ways $examples examples have trained the model on $device, with the tables on two servers: a trainer alone in" \
  "batches of 100, and two readers in batches of 100 each."
