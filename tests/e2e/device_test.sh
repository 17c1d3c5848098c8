#!/bin/bash
# ps-train --device emulated: rows that are trained in a small cache on a device, and come and go there, give the model,
# the figures and the checkpoints of training without one, bit for bit.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
device=${TEST_DEVICE:-emulated} # cuda:0 on a machine that has a GPU
write_job devices '{"directory": "", "steps": 5}'
ps-datagen sparse-binary --dim 5000 --samples 240 --nnz 6:14 --output train.txt
ps-datagen sparse-binary --dim 5000 --samples 60 --first 240 --nnz 6:14 --output held_out.txt
# A batch has some 200 keys: some buckets of 256 rows are too full for one round.
cache=(--device "$device" --set device.rows=256)
train() { timeout 300 ps-train job.json --data train.txt --log-level warning "$@"; }
count() { grep -o "\"rows_$1\":[0-9]*" "$2" | cut -d: -f2; }
reports() { grep -o '"waiting":[0-9]*,"created":[0-9]*,"expired":[0-9]*,"evicted":[0-9]*,"refused":[0-9]*' "$1"; }
figures() { grep -oE '"(avg_cost|auc|batches|samples)":[0-9.e-]*' "$1"; }

# same_rows CHECKPOINT OTHER: both have the same rows and dense parameters, with all state.
same_rows() {
  local file
  for file in "$1"/part-*.psc; do cmp "$file" "$2/${file##*/}"; done
  ps-ckpt2model "$1" --diff "$2" >diff.txt || { cat diff.txt; fail "$1 and $2 differ"; }
}

number=0
for optimizer in '{"type": "sgd", "learning_rate": 0.05}' \
  '{"type": "sgd", "learning_rate": 0.05, "l1": 0.0001, "l2": 0.001, "clip_norm": 0.5}' \
  '{"type": "momentum", "learning_rate": 0.01, "l2": 0.0001}' \
  '{"type": "adagrad", "learning_rate": 0.1, "average": {}}' \
  '{"type": "adam", "learning_rate": 0.01, "l2": 0.01, "average": {"begin_step": 10}}'; do
  echo "the same bits with $optimizer"
  number=$((number + 1))
  common=(--passes 2 --set optimizer="$optimizer" --test-data held_out.txt --json)
  train "${common[@]}" --save-dir plain$number --checkpoint-dir plain_checkpoints$number >plain.json
  train "${common[@]}" --save-dir device$number --checkpoint-dir device_checkpoints$number "${cache[@]}" >device.json
  for pass in pass-00000 pass-00001; do
    cmp plain$number/$pass/model.safetensors device$number/$pass/model.safetensors
  done
  [[ $(figures plain.json) == "$(figures device.json)" ]] || fail "figures: $(cat device.json)"
  [[ $(count evicted device.json) -gt 1000 ]] || fail "evicted: $(cat device.json)"
  # Some are on the device when a batch asks for them.
  [[ $(count fetched device.json) -lt $((2 * $(count asked device.json))) ]] || fail "fetched: $(cat device.json)"
  same_rows plain_checkpoints$number/step-000000024 device_checkpoints$number/step-000000024
done

echo "several devices, each with the rows of its keys, are as good as one"
for devices in emulated:0,emulated:1 emulated:2,emulated:0,emulated:1; do
  train --passes 2 --set optimizer="$optimizer" --save-dir several --device $devices --set device.rows=256 --json >several.json
  cmp {plain5,several}/pass-00001/model.safetensors
  [[ $(count evicted several.json) -gt 1000 ]] || fail "evicted: $(cat several.json)"
  rm -r several
done

echo "the means of weights go on where a run is resumed"
resumed=(--set optimizer="$optimizer" --save-dir means --checkpoint-dir means_checkpoints)
train --passes 1 "${resumed[@]}" "${cache[@]}"
train --passes 2 "${resumed[@]}" "${cache[@]}" --set device.rows=512 --resume
cmp {plain5,means}/pass-00001/model.safetensors

echo "weights of 16 bits are the same whenever their rows were on a device, on which, and where a run is resumed"
rounded=(--passes 2 --set device.values=bf16)
train "${rounded[@]}" --save-dir bf16 --device "$device" --set device.bytes=8M --json >large.json
train "${rounded[@]}" --save-dir bf16_small "${cache[@]}" --json >small.json
[[ $(count evicted large.json) == 0 && $(count evicted small.json) -gt 1000 ]] || fail "evicted: $(cat small.json)"
cmp {bf16,bf16_small}/pass-00001/model.safetensors
train "${rounded[@]}" --passes 1 --save-dir bf16_resumed "${cache[@]}" --checkpoint-dir bf16_checkpoints
train "${rounded[@]}" --save-dir bf16_resumed --device emulated:1,emulated:0 --set device.rows=512 --resume \
  --checkpoint-dir bf16_checkpoints
cmp {bf16,bf16_resumed}/pass-00001/model.safetensors
train "${rounded[@]}" --set device.rounding=nearest --save-dir bf16_nearest "${cache[@]}"
for other in device3 bf16_nearest; do
  ! cmp -s {bf16,$other}/pass-00001/model.safetensors || fail "$other is the model of weights that are rounded stochastically"
done

echo "a cache that holds all rows fetches each once, and one of a bucket trains too"
common=(--passes 1 --json)
train "${common[@]}" --save-dir plain >plain.json
train "${common[@]}" --save-dir large --device "$device" --set device.bytes=8M >large.json
cmp {plain,large}/pass-00000/model.safetensors
[[ $(count evicted large.json) == 0 && $(count fetched large.json) == "$(count written_back large.json)" ]] ||
  fail "large: $(cat large.json)"
head -n 40 train.txt >few.txt
timeout 300 ps-train job.json --data few.txt --passes 1 --save-dir plain_few --log-level warning
timeout 300 ps-train job.json --data few.txt --passes 1 --save-dir small --log-level warning --device "$device" \
  --set device.rows=1
cmp {plain_few,small}/pass-00000/model.safetensors

echo "a first batch without keys is a step"
{ printf '0,1\n%.0s' {1..20}; cat few.txt; } >none_first.txt
for where in cpu rows all; do
  options=()
  if [[ $where != cpu ]]; then options=("${cache[@]}" --set device.trains=$where); fi
  timeout 300 ps-train job.json --data none_first.txt --passes 1 --save-dir none_first_$where --log-level warning \
    --set optimizer='{"type": "adam", "learning_rate": 0.01}' "${options[@]}"
done
cmp none_first_{cpu,rows}/pass-00000/model.safetensors
[[ -s none_first_all/pass-00000/model.safetensors ]] || fail "no model"

echo "killed again and again, and resumed on a device and without one, it ends with the same model"
seed=${PS_TEST_SEED:-$RANDOM}
RANDOM=$seed
kills=0
for target in 5 10 15 20; do
  devices=("${cache[@]}")
  if ((target == 10)); then devices=(--device cpu); fi
  if killed_after $target killed_checkpoints ps-train job.json --data train.txt --passes 2 --log-level warning \
    --save-dir killed --resume --checkpoint-dir killed_checkpoints "${devices[@]}"; then
    kills=$((kills + 1))
  fi
done
echo "killed $kills times (seed $seed)"
train --passes 2 --save-dir killed --resume --checkpoint-dir killed_checkpoints "${cache[@]}"
cmp plain3/pass-00001/model.safetensors killed/pass-00001/model.safetensors || fail "seed $seed"

# A pass is 12 steps.
number=0
for rows in '"limit": 512, "expire": {"unseen": 1}, "shrink_steps": 5' \
  '"admission": {"count": 2}, "decay": 0.5, "expire": {"unseen": 2}, "shrink_steps": 3, "limit": 512, "when_full": "evict"'; do
  echo "rows that come and go by a policy are those of a run without a device: $rows"
  number=$((number + 1))
  policy=(--passes 2 --set model.layers.0.weight="{\"rows\": {$rows}}")
  train "${policy[@]}" --save-dir policy$number --checkpoint-dir policy_checkpoints$number --json >plain.json
  train "${policy[@]}" --save-dir policy_there$number --checkpoint-dir policy_there_checkpoints$number "${cache[@]}" --json >device.json
  cmp {policy,policy_there}$number/pass-00001/model.safetensors
  same_rows {policy,policy_there}_checkpoints$number/step-000000024
  [[ $(reports plain.json) == "$(reports device.json)" ]] || fail "rows: $(cat plain.json device.json)"
  grep -qE '"(expired|evicted|refused)":[1-9]' device.json || fail "no row went: $(cat device.json)"
done

echo "a run with a policy that is killed and resumed, on a device and without one, ends with the same model"
for target in 5 10; do
  devices=("${cache[@]}")
  if ((target == 10)); then devices=(--device cpu); fi
  killed_after $target killed_policy ps-train job.json --data train.txt "${policy[@]}" --log-level warning --save-dir policy_killed \
    --resume --checkpoint-dir killed_policy "${devices[@]}" || true
done
train "${policy[@]}" --save-dir policy_killed --resume --checkpoint-dir killed_policy "${cache[@]}"
cmp {policy2,policy_killed}/pass-00001/model.safetensors || fail "seed $seed"

echo "a model of a device is tested, used and trained on without one, and the other way round"
for options in '' "--device $device"; do
  # shellcheck disable=SC2086
  ps-train job.json --job test --init-model device3/pass-00001 --data held_out.txt --log-level warning --json $options
done | grep -oE '"cost":[0-9.]*' | uniq | wc -l | grep -qx 1 || fail "tests differ"
ps-train job.json --job predict --init-model device3/pass-00001 --data held_out.txt --log-level warning >plain.txt
ps-train job.json --job predict --init-model plain3/pass-00001 --data held_out.txt --log-level warning "${cache[@]}" >device.txt
cmp plain.txt device.txt
[[ $(wc -l <plain.txt) == 60 ]] || fail "predictions: $(wc -l <plain.txt)"
train --passes 1 --init-model plain3/pass-00001 --save-dir plain_more
train --passes 1 --init-model device3/pass-00001 --save-dir device_more "${cache[@]}"
cmp {plain_more,device_more}/pass-00000/model.safetensors

echo "it says what it takes before it takes it"
expect_status 0 ps-train job.json --data train.txt --dry-run "${cache[@]}"
expect_text err 'hidden.weight: 256 rows of 8 weights and 8 of state'
expect_text err 'in all '
expect_status 0 timeout 300 ps-train job.json --data few.txt --passes 1 --save-dir '' --log-level info "${cache[@]}"
expect_text err "Rows are trained on device $device"
expect_text err 'hidden.weight: 256 rows of 8 weights and 8 of state'

expect_status 0 ps-train job.json --data train.txt --dry-run "${cache[@]}" --set device.values=f16
expect_text err 'hidden.weight: 256 rows of 8 weights as f16, rounded stochastically, and 8 of state'

echo "what devices cannot do is refused"
refused() {
  local text=$1
  shift
  expect_status 2 train --passes 1 --save-dir '' "$@"
  expect_text err "$text"
}
refused "device.type: 'cuda:99': " --device cuda:99 # without CUDA, and on any machine
refused 'names a device twice' --device emulated:1,emulated:1
refused 'names GPUs and emulated devices' --device emulated:1,cuda:1
refused "--device: found 'emulated:0,cpu'" --device emulated:0,cpu
refused "device.values: " "${cache[@]}" --set device.values=f64
refused "--device: found 'gpu', expected 'cpu', 'emulated', or a GPU" --device gpu
refused 'no parameter of the model has sparse update' "${cache[@]}" --set model.layers.0.sparse_update=false
refused '2 trainers exchange rows' "${cache[@]}" --trainers 2 --peers 127.0.0.1:1 \
  --set train.strategy='{"type": "all_reduce"}'
refused 'device.bytes: 1000 bytes for parameter' --device "$device" --set device.bytes=1000
expect_status 6 train --passes 1 --save-dir '' --device "$device" --set device.rows=4000000000
expect_text err 'caches of rows need '
echo passed
