#!/bin/bash
# Nothing is silently wrong: tests and predictions without a model, data that a saved job names, folders of two runs,
# damaged models and models that are no numbers, runs that could not write what they should.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
quiet=(--log-level warning)

ps-datagen ctr --samples 2k --output train.txt
ps-datagen ctr --first 2000 --samples 300 --output test.txt
ps-train quickstart --data train.txt --passes 2 --save-dir saved --checkpoint-dir checkpoints "${quiet[@]}"
model=saved/pass-00001

echo "tests and predictions take a model"
for task in test predict; do
  expect_status 2 ps-train quickstart --job $task --data test.txt
  expect_text err "no model to $task with: give --init-model PATH"
done

echo "a saved job names no data: predictions are of standard input"
expect_text $model/job.json '"files": []'
ps-train quickstart --job predict --init-model $model --data test.txt "${quiet[@]}" >expected
ps-train $model/job.json --job predict --init-model $model "${quiet[@]}" <test.txt >predictions
cmp expected predictions

echo "a folder with the models of another run is refused, and --resume goes on with its own"
expect_status 2 ps-train quickstart --data train.txt --passes 1 --save-dir saved
expect_text err "train.save_dir: 'saved' holds models of an earlier run, as 'pass-00000': name another folder with --save-dir"
[[ ! -e saved/pass-00002 ]]
mv saved/pass-00001 kept
expect_status 0 ps-train quickstart --data train.txt --passes 2 --save-dir saved --checkpoint-dir checkpoints --resume
expect_text err 'All 2 passes are done: there is nothing left to train'
cmp kept/model.safetensors saved/pass-00001/model.safetensors

echo "two runs at a time do not save to one folder"
mkfifo first.data first.err
ps-train quickstart --data first.data --save-dir shared --set job.name=first 2>first.err &
first=$!
exec 4<first.err
timeout 60 grep -m 1 -q 'Training with' <&4 || fail "the first run does not begin"
exec 3>first.data
cat train.txt >&3 &
expect_status 8 ps-train quickstart --data train.txt --save-dir shared
expect_text err "train.save_dir: another process that runs saves its models in 'shared': name another folder with --save-dir"
exec 3>&-
cat <&4 >/dev/null
wait $first || fail "the first run ended with $?"
exec 4<&-
expect_text shared/pass-00000/job.json '"name": "first"'
expect_status 2 ps-train quickstart --data train.txt --save-dir shared
expect_text err "holds models of an earlier run"

echo "every part of a model has its checksum"
damage() { # damage FILE OFFSET: flips a bit there
  local byte
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "\\x$(printf %x $((byte ^ 4)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
header=$(od -An -tu8 -N 8 $model/model.safetensors)
size=$(stat -c %s $model/model.safetensors)
for offset in 20 $((header - 20)) $((8 + header + 7)) $((8 + header + 9)) $((size - 2)) $((size - 1)); do
  cp $model/model.safetensors damaged
  damage damaged $offset
  expect_status 5 ps-train quickstart --job predict --init-model damaged --data test.txt
  expect_status 5 ps-ckpt2model damaged --verify
done
ps-ckpt2model $model --verify >out
expect_text out "$model/model.safetensors: whole"

echo "what is no model is called what it is"
ps-ckpt2model checkpoints --format npz --output model.npz
expect_status 5 ps-train quickstart --job test --init-model model.npz --data test.txt
expect_text err "'model.npz' is not a safetensors file, as models are"
expect_text err 'npz'
expect_status 5 ps-train quickstart --job test --init-model train.txt --data test.txt
expect_text err 'as a text does'
expect_status 2 ps-train quickstart --job test --init-model nowhere --data test.txt
expect_text err "cannot open 'nowhere'"

echo "saved models are converted as checkpoints are"
for format in safetensors npz text; do
  ps-ckpt2model checkpoints --format $format --output of_checkpoint
  ps-ckpt2model $model --format $format --output of_model
  [[ $format == safetensors ]] || cmp of_checkpoint of_model
done
ps-ckpt2model of_model --type bf16 --output - 2>err && fail "a text was read as a model"
ps-ckpt2model $model --type int8 --output small
ps-ckpt2model small --format text --output small.txt
[[ $(wc -l <small.txt) == "$(wc -l <of_model)" ]]
ps-ckpt2model checkpoints --output - | cmp - <(ps-ckpt2model checkpoints --output here && cat here)
expect_status 2 ps-ckpt2model $model --inspect
expect_text err 'is a saved model'

echo "ps-ckpt2model does one thing at a time, and finds damage while it inspects nothing"
cp -r checkpoints torn
damage "$(ls torn/step-*/*.psc | tail -1)" 100
expect_status 2 ps-ckpt2model torn --inspect --verify
expect_text err '--inspect and --verify exclude each other'
expect_status 5 ps-ckpt2model torn --verify
expect_status 2 ps-ckpt2model checkpoints --verify --format npz

echo "a run that diverges in its last batch saves no model, and one that is no number is refused"
cat >linear.json <<'JSON'
{
  "data": {"format": "libsvm", "dim": 4, "batch_size": 1},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true}],
    "cost": {"type": "squared_error", "input": "score"}
  },
  "optimizer": {"type": "sgd", "learning_rate": 1e38}
}
JSON
echo '1000 1:1000' >large.txt
expect_status 3 ps-train linear.json --data large.txt --save-dir diverged
expect_text err 'the model is not finite'
[[ ! -e diverged/pass-00000/model.safetensors ]]
expect_status 2 ps-train linear.json --data large.txt --set optimizer.learning_rate=1e39
expect_text err 'learning_rate: 1e+39 is too large'
ps-train linear.json --data large.txt --save-dir finite --set optimizer.learning_rate=0 "${quiet[@]}"
echo '1 1:3e38 2:3e38 3:3e38' >beyond.txt
for task in test predict; do
  expect_status 3 ps-train linear.json --job $task --init-model finite/pass-00000 --data beyond.txt --set data.labels=true
  expect_text err 'is not finite'
done

echo "a model of others that is not finite is told of by test and predict"
python3 - finite/pass-00000/model.safetensors nan.safetensors <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
(size,) = struct.unpack("<Q", data[:8])
header = json.loads(data[8 : 8 + size])
del header["__metadata__"]  # its checksums, too
begin, end = next(tensor["data_offsets"] for tensor in header.values() if tensor["dtype"] == "F32")
values = bytearray(data[8 + size :])
values[begin:end] = struct.pack("<f", float("nan")) * ((end - begin) // 4)
text = json.dumps(header).encode()
open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + values)
PY
echo '1 1:1 2:2' >plain.txt
for task in test predict; do
  expect_status 3 ps-train linear.json --job $task --init-model nan.safetensors --data plain.txt --set data.labels=true
  expect_text err 'is not finite'
done

echo "a last checkpoint that fails ends the run with an error"
mkfifo feed
ps-train quickstart --data feed --passes 1 --save-dir '' --checkpoint-dir full --set data.cache=none --set train.log_period=1 \
  2>failed.err &
trainer=$!
exec 3>feed
head -1000 train.txt >&3
# The folder, and what the run keeps in it from the beginning, are there by then.
while ! grep -q 'Batch=2 ' failed.err; do kill -0 $trainer || fail "$(cat failed.err)"; done
rm -r full
touch full
exec 3>&-
status=0
wait $trainer || status=$?
[[ $status != 0 ]] || fail "a run whose only checkpoint failed ended with 0"
expect_text failed.err 'the last checkpoint, at step 5, failed'

echo "a run that is interrupted before its first step saves nothing"
mkfifo nothing
ps-train quickstart --data nothing --passes 1 --save-dir untrained 2>untrained.err &
trainer=$!
exec 3>nothing
while ! grep -q 'Training with' untrained.err; do kill -0 $trainer || fail "$(cat untrained.err)"; done
kill -INT $trainer
status=0
wait $trainer || status=$?
exec 3>&-
[[ $status == 130 ]] || fail "ended with $status"
expect_text untrained.err 'no model is saved'
[[ -z $(ls untrained) ]] || fail "$(find untrained)"
echo passed
