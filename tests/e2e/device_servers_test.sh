#!/bin/bash
# Two servers and a trainer that trains their sparse rows in a small cache on a device: its models and its checkpoints are
# those of a trainer without a device, bit for bit, whatever is killed and started again.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
tested=${TEST_DEVICE:-emulated} # cuda:0 on a machine that has a GPU
# A batch has some 200 keys of each table: some buckets of 256 rows are too full for one round.
cache=(--device "$tested" --set device.rows=256)
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=4)
source "$PS_SOURCE/tests/e2e/lone_trainer_job.sh"
trainer_flags=("${cache[@]}")

# same_checkpoints FOLDER OTHER: the files of all shards are the same in the newest, but for the first shard's, which has the
# trainer's times.
same_checkpoints() {
  local newest file
  newest=$(cut -d' ' -f1 "$1/LATEST")
  [[ $newest == "$(cut -d' ' -f1 "$2/LATEST")" ]] || fail "checkpoints: $(cat "$1/LATEST" "$2/LATEST")"
  for file in "$1/$newest"/{rows,dense,shard-d-1}-*.psc; do
    cmp "$file" "$2/$newest/${file##*/}" || fail "another checkpoint: $2/$newest"
  done
  ps-ckpt2model "$1" --diff "$2" >diff.txt || { cat diff.txt; fail "$1 and $2 differ"; }
}

reports() { grep -o '"waiting":[0-9]*,"created":[0-9]*,"expired":[0-9]*,"evicted":[0-9]*,"refused":[0-9]*' "$1"; }
count() { grep -o "\"rows_$1\":[0-9]*" "$2" | cut -d: -f2; }

ps-datagen sparse-binary --dim 3000 --samples 250 --nnz 6:14 --output train.txt
ps-datagen sparse-binary --dim 3000 --first 250 --samples 100 --nnz 6:14 --output test.txt
tests=(--test-data test.txt)

# The optimizer of the trainers that are killed: rows that sit out steps move, and the means of weights begin in the first pass.
averaging='{"type": "momentum", "momentum": 0.9, "learning_rate": 0.01, "l2": 0.0001, "average": {"begin_step": 6}, '"$poly"'}'

# same_as_plain: a job with these $flags, in the next plain.N and device.N.
number=0
same_as_plain() {
  local device
  ((++number))
  for device in plain device; do
    serve "${flags[@]}" --checkpoint-dir $device.checkpoints.$number --set checkpoint.steps=5
    if [[ $device == plain ]]; then
      train plain.$number "${flags[@]}" "${tests[@]}"
    else
      train device.$number "${flags[@]}" "${tests[@]}" "${cache[@]}"
    fi
    end_all_servers
  done
  same_models plain.$number device.$number
  same_figures plain.$number device.$number
  same_checkpoints {plain,device}.checkpoints.$number
  [[ $(count evicted device.$number.json) -gt 1000 ]] || fail "evicted: $(cat device.$number.json)"
}

echo "the bits of a trainer without a device, for every kind of optimizer"
for optimizer in \
  '{"type": "sgd", "learning_rate": 0.05, "l1": 0.0001, '"$poly"'}' \
  "$averaging" \
  '{"type": "adagrad", "learning_rate": 0.05}' \
  '{"type": "adam", "learning_rate": 0.01, "l2": 0.0001, "clip_norm": 0.1, '"$poly"'}' \
  '{"type": "momentum", "momentum": 0.9, "learning_rate": 0.05, "clip_global_norm": 0.3}'; do
  flags=(--set "optimizer=$optimizer")
  same_as_plain
done

echo "rows of coming batches are fetched while others are trained, and the bits are those of a device that waits for them"
flags=(--set "optimizer={\"type\": \"adagrad\", \"learning_rate\": 0.05}")
for window in 0 1 4; do
  serve "${flags[@]}"
  train window.$window "${flags[@]}" --device "$tested" --set device.rows=512 --set device.window=$window
  end_all_servers
  same_models plain.3 window.$window
  fetched=$(count fetched window.$window.json) ahead=$(count ahead window.$window.json) early=$(count early window.$window.json)
  echo "window $window: $fetched rows fetched, $ahead of them ahead, $early of them to the device too"
  case $window in
    0) [[ $ahead == 0 && $early == 0 ]] ;;
    # Only the first batch of a pass asks for its rows itself, and one whose rows have just gone back.
    *) ((ahead > fetched / 2 && ahead < fetched)) ;;
  esac || fail "window $window: $(cat window.$window.json)"
done

cmp -s {plain.1,plain.2}/pass-00001/model.safetensors && fail "the optimizer changes nothing"

flags=(--set "optimizer=$averaging")
plain=plain.2
rm -f serve.?.err

# early_rows MODEL [flags...]: trains from the model, if there is one, without servers and with them, and is true if more than
# 100 rows of next batches came to the device while a batch was computed.
early_rows() {
  local window rounded=(--init-model "$1" "${@:2}" --set device.values=f16 --device "$tested")
  rm -rf f16 f16.?
  timeout 300 ps-train job.json --data train.txt --save-dir f16 "${rounded[@]}" --set device.rows=256 --log-level warning
  for window in 0 4; do
    serve "${@:2}"
    train f16.$window "${rounded[@]}" --set device.rows=2048 --set device.window=$window
    end_all_servers
    same_models f16 f16.$window
  done
  echo "$(count early f16.4.json) rows came early"
  [[ $(count early f16.4.json) -gt 100 ]]
}

# A model of weights of 32 bits is rounded as its rows are used.  Batches have some 850 keys here, and rows of the next one come
# to the device while one is computed, if that takes longer than bringing them: where it does not, a larger layer is computed.
mv train.txt short.txt
ps-datagen sparse-binary --dim 3000 --samples 120 --output train.txt
echo "weights of 16 bits are rounded alike with servers and without, however far ahead rows come"
for size in 4 100 400 1600; do
  large=("${flags[@]}" --set "model.layers.2.size=$size")
  timeout 300 ps-train job.json --data short.txt --save-dir f32.$size "${large[@]}" --log-level warning
  early_rows '' "${large[@]}" && early_rows f32.$size/pass-00001 "${large[@]}" && break
done || fail "early: $(cat f16.4.json)"
mv short.txt train.txt

# kill_trainer BATCHES [flags...]: its rows are lost, and the servers go back with the process that takes its place.
kill_trainer() {
  local status=0
  begin killed.err ' Batch=' "$1" "${checkpoints[@]}" || status=1
  murder "$trainer"
  rm -f slow
  start killed "${flags[@]}" "${@:2}"
  finish killed
  end_all_servers
  same_models "$plain" killed
  ((status == 0)) && grep -q 'going back to the last checkpoint: rows on a device were lost' killed.err
}

echo "several devices are as good as one, with servers too"
serve "${flags[@]}"
train several "${flags[@]}" --device emulated:0,emulated:1 --set device.rows=512
end_all_servers
same_models "$plain" several

# The device has room for two batches.
echo "while an accelerator computes, rows of the next batch go to the device, and the work for it is timed"
serve "${flags[@]}"
train hidden "${flags[@]}" --device "$tested" --set device.rows=512 --set train.emulated_compute=100ms
end_all_servers
seconds() { grep -o "\"$1_seconds\":[0-9.e-]*" hidden.json | tail -n 1 | cut -d: -f2; }
awk -v fetch="$(seconds fetch)" -v build="$(seconds build)" -v back="$(seconds write_back)" -v exposed="$(seconds exposed)" 'BEGIN {
  printf "fetched %.3f s, built %.3f s, wrote back %.3f s; exposed %.3f s\n", fetch, build, back, exposed
  exit !(fetch > 0 && build > 0 && back > 0 && exposed > 0)
}' || fail "seconds: $(cat hidden.json)"
[[ $(count early hidden.json) -gt 0 ]] || fail "early: $(cat hidden.json)"

echo "a trainer that is killed, in the first pass or in the second, is replaced by one with or without a device: the same models"
until_true kill_trainer 3 "${cache[@]}"
until_true kill_trainer 19

echo "a server that is killed goes back to its checkpoint, and the trainer with it"
until_true kill_server 0

# kill_logging S: a server that keeps a log, of rows that came back too, has lost nothing.
kill_logging() {
  local status=0
  begin killed.err ' Batch=' 10 "${checkpoints[@]}" --durability log || status=1
  murder "${servers[$1]}"
  serve_one "$1" "${flags[@]}" "${checkpoints[@]}" --durability log --resume
  rm -f slow
  finish killed
  end_all_servers
  same_models "$plain" killed
  ! grep -q 'going back' killed.err || fail "the trainer went back, and the servers have logs"
  ((status == 0)) && grep -q 'Taking the run up' "serve.$1.err"
}

echo "a server that is killed and has a log goes on where it was"
until_true kill_logging 1

# A pass is 13 steps.
for rows in '"limit": 512, "expire": {"unseen": 1}, "shrink_steps": 5' \
  '"admission": {"count": 2}, "decay": 0.5, "expire": {"unseen": 1}, "shrink_steps": 3, "limit": 512, "when_full": "evict"'; do
  echo "rows that come and go by a policy of the servers are those of a trainer without a device: $rows"
  flags=(--set "model.layers.0.weight={\"rows\": {$rows}}" --set "model.layers.1.weight={\"rows\": {$rows}}")
  same_as_plain
  [[ $(reports plain.$number.json) == "$(reports device.$number.json)" ]] || fail "rows: $(cat device.$number.json)"
  grep -q '"expired":[1-9]' device.$number.json || fail "no row expired: $(cat device.$number.json)"
  grep -qE '"(evicted|refused)":[1-9]' device.$number.json || fail "no table was full: $(cat device.$number.json)"
done

echo "so are they when the trainer is killed, and when a server is that has a log"
plain=plain.$number
until_true kill_trainer 7
until_true kill_logging 1
plain=plain.2
flags=(--set "optimizer=$averaging")

echo "all of it is killed, and goes on with --resume, on a device or on none"
until_true kill_all "${cache[@]}"
until_true kill_all

# lose_rows: there is no checkpoint to go back to.
lose_rows() {
  local status=0
  begin killed.err ' Batch=' 5 || status=1
  murder "$trainer"
  rm -f slow
  if ((status == 0)); then
    expect_status 4 timeout 60 ps-train job.json --data train.txt --servers "$addresses" --save-dir '' "${flags[@]}" "${cache[@]}"
    expect_text err 'rows on a device were lost with the process before this one'
    expect_text err 'give them --checkpoint-dir'
  fi
  end_all_servers
  return $status
}

echo "without checkpoints, rows that were lost with a trainer are named"
until_true lose_rows

echo "what cannot be is refused, with the way out"
refused() {
  local text=$1
  shift
  expect_status 2 timeout 60 ps-train job.json --data train.txt --servers 127.0.0.1:1 "${cache[@]}" "$@"
  expect_text err "$text"
}
refused "parameter_server or hybrid alone" --set 'train.strategy={"type": "local_sgd", "period": 5}'
refused "is 'async', and rows on a device are in step" --set 'train.strategy={"type": "parameter_server", "consistency": "async"}'
refused "is 'staleness', and rows on a device are in step" \
  --set 'train.strategy={"type": "parameter_server", "consistency": "staleness", "staleness": 2}'
refused "train.strategy.codec rounds rows" --set train.strategy.codec=int8
refused "2 trainers exchange rows" --trainers 2 --rank 0
refused "train.pull_ahead is 4" --set train.pull_ahead=4
refused "--role reader computes nothing" --role reader --compute 127.0.0.1:2
echo passed
