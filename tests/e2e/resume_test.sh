#!/bin/bash
# ps-train --resume: killed at any moment, a run ends with the model that it would have ended with.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
checkpoints=(--set checkpoint.directory=checkpoints --set checkpoint.steps=20 --set checkpoint.full_every=3)
ps-datagen ctr --samples 12000 --output train.txt
train() { ps-train "$job" --data train.txt --passes 2 --log-level warning "$@"; }

echo "checkpoints change nothing"
train --save-dir undisturbed --json >undisturbed.json
train --save-dir written "${checkpoints[@]}"
cmp undisturbed/pass-00001/model.safetensors written/pass-00001/model.safetensors
expect_text checkpoints/LATEST step-000000120
[[ $(find checkpoints -name 'step-*' | wc -l) -le 3 ]] || fail "kept: $(ls checkpoints)"
rm -r checkpoints

echo "killed again and again, it ends with the same model and figures"
seed=${PS_TEST_SEED:-$RANDOM}
RANDOM=$seed
kills=0
for round in {1..200}; do
  status=0
  # Later rounds get more time, so that a slow machine gets there too.
  ms=$((RANDOM % 600 + 100 + 40 * round))
  (timeout -s KILL "$((ms / 1000)).$(printf %03d $((ms % 1000)))" ps-train "$job" --data train.txt --passes 2 \
    --log-level warning --save-dir killed --resume "${checkpoints[@]}" --json >killed.json) 2>err || status=$?
  [[ $status == 0 ]] && break
  [[ $status == 137 ]] || { cat err; fail "seed $seed, round $round: status $status"; }
  kills=$((kills + 1))
done
[[ $status == 0 ]] || fail "seed $seed: not done after $round rounds"
echo "killed $kills times (seed $seed)"
cmp undisturbed/pass-00001/model.safetensors killed/pass-00001/model.safetensors || fail "seed $seed"
need python3
figures() { python3 -c 'import json, sys
print([(p["samples"], p["batches"], p["avg_cost"], p["evaluators"]) for p in json.load(open(sys.argv[1]))["passes"]])' "$1"; }
[[ $(figures undisturbed.json) == "$(figures killed.json)" ]] || fail "figures: $(figures killed.json)"

echo "an interrupt writes a checkpoint; nobody else writes there; what is damaged is found, and the one before is used"
rm -r checkpoints
mkfifo pipe
head -6000 train.txt >half.txt
(cat half.txt; sleep 1000) >pipe &
feeder=$!
ps-train "$job" --data pipe --log-level info --save-dir '' "${checkpoints[@]}" --set train.log_period=1 2>trainer.err &
trainer=$!
# That is all of the data, and a checkpoint before.
until grep -q 'Checkpoint .*at step 20' trainer.err && grep -q ' Batch=30 ' trainer.err; do
  kill -0 $trainer || fail "it has ended: $(cat trainer.err)"
  sleep 0.05
done
expect_status 8 train --passes 1 --save-dir '' --resume "${checkpoints[@]}"
expect_text err "another process that runs writes its checkpoints to 'checkpoints'"
kill -INT $trainer
status=0
wait $trainer || status=$?
kill $feeder 2>/dev/null || true
[[ $status == 130 ]] || { cat trainer.err; fail "status $status"; }
newest=checkpoints/$(cut -d' ' -f1 checkpoints/LATEST)
part=$(ls "$newest"/part-*.psc | head -1)
printf 'damage' | dd of="$part" bs=1 seek=60 conv=notrunc status=none
expect_status 0 train --passes 1 --save-dir '' --resume "${checkpoints[@]}" --set checkpoint.keep=9
expect_text err "damaged, so an earlier checkpoint is looked for: $part: chunk 0 at offset 32: "

echo "when nothing is whole it ends with 5; an earlier run's checkpoints are not mixed with another's"
expect_status 2 train --passes 1 --save-dir '' "${checkpoints[@]}"
expect_text err 'holds checkpoints of an earlier run: --resume goes on from them'
expect_status 2 train --passes 1 --save-dir '' --resume "${checkpoints[@]}" --set optimizer.learning_rate=0.5
expect_text err 'is of another job: optimizer.learning_rate is'
for key in unit_length log_counts; do
  expect_status 2 train --passes 1 --save-dir '' --resume "${checkpoints[@]}" --set data.$key=true
  expect_text err "is of another job: data.$key is false there and true here"
done
expect_status 2 train --passes 1 --save-dir '' --resume "${checkpoints[@]}" --set data.hash_bits=20
expect_text err 'is of another job: data.hash_bits is 0 there and 20 here'
for manifest in checkpoints/*/MANIFEST.json; do echo damage >"$manifest"; done
expect_status 5 train --passes 1 --save-dir '' --resume "${checkpoints[@]}"
expect_text err 'MANIFEST.json: offset '
rm -r checkpoints
expect_status 0 train --passes 1 --save-dir '' --log-level info --resume "${checkpoints[@]}"
expect_text err 'No checkpoint in checkpoints: training begins anew'
expect_status 2 train --resume
expect_text err 'give --checkpoint-dir'
echo passed
