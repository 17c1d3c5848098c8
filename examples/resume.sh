#!/bin/bash
# Kill and resume: a run that is killed in the middle and goes on from its checkpoint ends with the same model, bit for
# bit, as one that nobody disturbed.  Prints the steps it went on from, and the checksums of both models.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=build/release/bin
output=build/resume
job=share/jobs/quickstart.json
rm -rf "$output"
mkdir -p "$output"

"$bin/ps-datagen" ctr --samples 200000 --output "$output/train.txt"
train=("$bin/ps-train" "$job" --data "$output/train.txt" --passes 2)

"${train[@]}" --save-dir "$output/undisturbed" --log-level warning
checkpoints=(--save-dir "$output/killed" --checkpoint-dir "$output/checkpoints" --set checkpoint.steps=100)
"${train[@]}" "${checkpoints[@]}" --log-level info 2>"$output/log" &
trainer=$!
until grep -q 'Checkpoint at step 500' "$output/log"; do kill -0 $trainer && sleep 0.05; done
kill -KILL $trainer
wait $trainer || true
"${train[@]}" "${checkpoints[@]}" --resume 2>&1 | grep 'Going on from'
sha256sum "$output"/{undisturbed,killed}/pass-00001/model.safetensors
cmp "$output"/{undisturbed,killed}/pass-00001/model.safetensors
echo "the same model"
