#!/bin/bash
# A job with 2 servers and 3 trainers, of which a server is killed in the middle and comes again: the trainers go back to
# the newest checkpoint by themselves, and the model has the bits of an undisturbed run.  Prints who went back to where,
# and the checksums of both models.
set -euo pipefail
cd "$(dirname "$0")/.."
source share/launch/common.sh

output=build/kill_and_resume
job=share/jobs/quickstart.json
rm -rf "$output"
mkdir -p "$output"

ps-datagen ctr --samples 100000 --output "$output/train.txt"
flags=(--data "$output/train.txt" --passes 2 --log-level info)
share/launch/local.sh -s 2 -n 3 "$job" "${flags[@]}" --save-dir "$output/undisturbed" 2>/dev/null

# With -r, the launcher starts again what a signal kills.
PS_SERVE_FLAGS="--checkpoint-dir $output/checkpoints --set checkpoint.steps=50" \
  share/launch/local.sh -s 2 -n 3 -r 3 "$job" "${flags[@]}" --save-dir "$output/killed" 2>"$output/log" &
launcher=$!
until grep -q 'Checkpoint at step' "$output/log"; do kill -0 $launcher && sleep 0.05; done
kill -KILL "$(pgrep -n -f "^ps-serve.*$output/checkpoints")"
wait $launcher
grep -hE 'going back|Going on from|Resuming' "$output/log" | sort | uniq -c
sha256sum "$output"/{undisturbed,killed}/pass-00001/model.safetensors
cmp "$output"/{undisturbed,killed}/pass-00001/model.safetensors
echo "the same model"
