#!/bin/bash
# Trains clicks with the rows of the table in the memory of an emulated GPU that has room for a part of them, and without
# a device: prints how many rows came and went, and compares the models.  Then a server holds the rows, and the device trains
# them all the same.  The emulator is slow, so the data are few.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=build/release/bin
output=build/device
job=share/jobs/quickstart.json

examples/setup.sh
if [[ ! -e build/release/CMakeCache.txt ]]; then cmake --preset release -DPS_TESTS=OFF; fi
cmake --build build/release --target ps-datagen ps-serve ps-train
rm -rf "$output"
mkdir -p "$output"
"$bin/ps-datagen" ctr --samples 1000 --output "$output/clicks.txt"
train() { "$bin/ps-train" "$job" --data "$output/clicks.txt" --passes 2 --set data.batch_size=50 "$@"; }

train --save-dir "$output/processor" --log-level warning
train --save-dir "$output/emulated" --device emulated --set device.rows=128 --json >"$output/result.json"
number() { grep -o "\"rows_$1\":[0-9]*" "$output/result.json" | cut -d: -f2; }
echo "$(number asked) rows asked for, $(number fetched) rows fetched, $(number evicted) rows evicted," \
  "$(number written_back) rows written back"
cmp "$output"/{processor,emulated}/pass-00001/model.safetensors
echo "the same model"

mkfifo "$output/ready"
"$bin/ps-serve" "$job" --set data.batch_size=50 --port 0 --port-file "$output/port" >"$output/ready" 2>"$output/server.log" &
server=$!
trap 'kill "$server"' EXIT
head -n 1 "$output/ready"
train --save-dir "$output/served" --servers "127.0.0.1:$(head -n 1 "$output/port")" --device emulated --set device.rows=128 \
  --log-level warning
cmp "$output"/{processor,served}/pass-00001/model.safetensors
echo "the same model again"
