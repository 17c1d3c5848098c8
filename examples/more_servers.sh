#!/bin/bash
# The checkpoint of a job with 2 servers is restored on 3, of other ports: the job goes on, and its model has the bits of
# an undisturbed run.
set -euo pipefail
cd "$(dirname "$0")/.."
source share/launch/common.sh

output=build/more_servers
job=share/jobs/quickstart.json
rm -rf "$output"
mkdir -p "$output"

ps-datagen ctr --samples 100000 --output "$output/train.txt"
flags=(--data "$output/train.txt" --log-level info)
share/launch/local.sh -s 1 -n 2 "$job" "${flags[@]}" --passes 2 --save-dir "$output/undisturbed" 2>/dev/null

export PS_SERVE_FLAGS="--checkpoint-dir $output/checkpoints --resume"
share/launch/local.sh -s 2 -n 2 "$job" "${flags[@]}" --passes 1 --save-dir "$output/moved" 2>"$output/log.2"
echo "2 servers: $(cat "$output/checkpoints/LATEST")"
share/launch/local.sh -s 3 -p 2 -n 2 "$job" "${flags[@]}" --passes 2 --save-dir "$output/moved" 2>"$output/log.3"
echo "3 servers of 4 ports: $(grep -h 'Going on from' "$output/log.3" | sort | uniq -c)"
sha256sum "$output"/{undisturbed,moved}/pass-00001/model.safetensors
cmp "$output"/{undisturbed,moved}/pass-00001/model.safetensors
echo "the same model"
