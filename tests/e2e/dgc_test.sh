#!/bin/bash
# Trainers that compress their gradients, as a user runs them: without compression the model is that of all_reduce, bit
# for bit; with it far fewer bytes travel, the model is as good, and after a kill it has the same bits.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
source "$PS_SOURCE/tests/e2e/peers_job.sh"

job=$PS_SOURCE/share/jobs/dense_clicks_dgc.json
ps-datagen sparse-binary --dim 5000 --samples 30000 --output train.txt
short=(--set train.passes=2)  # two hundred steps, most of them compressed

echo "before it begins to compress, the model is that of all_reduce"
train whole "${short[@]}" --set 'train.strategy={"type": "all_reduce"}'
train late "${short[@]}" --set train.strategy.rampup_begin_step=1000000
cmp {whole,late}/pass-00001/model.safetensors

echo "compressed, trainers send a small part of the bytes, and the model is nearly as good"
train best --set 'train.strategy={"type": "all_reduce"}'
train good
[[ $(number whole_bytes best.0.json) == "$(number whole_bytes good.0.json)" ]] || fail "not as many steps"
awk -v sent="$(number bytes_sent good.0.json)" -v whole="$(number bytes_sent best.0.json)" \
  'BEGIN { exit !(sent * 5 < whole) }' || fail "$(cat {best,good}.0.json)"
awk -v dgc="$(number auc good.0.json)" -v whole="$(number auc best.0.json)" \
  'BEGIN { exit !(dgc > whole - 0.02 && whole > 0.8) }' || fail "$(cat {best,good}.0.json)"

echo "every exchange gives the same model"
train compressed "${short[@]}"
cmp -s {whole,compressed}/pass-00001/model.safetensors && fail "nothing was compressed"
for exchange in all_gather owner_split dense; do
  train $exchange "${short[@]}" --set train.strategy.exchange=$exchange
  cmp {compressed,$exchange}/pass-00001/model.safetensors
done

echo "when one is killed while it compresses, all go on from the checkpoint, with the same bits"
checkpoints=("${short[@]}" --checkpoint-dir checkpoints --set checkpoint.steps=7)
# Trainer 1 waits for data after its 27th batch of 100, and so after the checkpoint at step 21; compression begins at
# step 20.
hold_trainer_1 killed $((3 * 100 * 27)) "${checkpoints[@]}"
kill_trainer_1 killed
for rank in 0 1 2; do [[ -s checkpoints/step-000000021/strategy-$rank.psc ]] || fail "no state of trainer $rank"; done
train resumed "${checkpoints[@]}" --resume
for rank in 0 1 2; do expect_text resumed.$rank.err 'Going on from step 2'; done
for pass in 0 1; do cmp {compressed,resumed}/pass-0000$pass/model.safetensors; done

# A model without products of dense matrices, whose only matrix, the bias, is compressed too.
echo "where a device computes the model, it selects what the processor selects"
head -n 1500 train.txt >few.txt
mv few.txt train.txt
there=(--device emulated --set device.trains=model)
common=(--set train.passes=2 --set 'model.layers=[{"name": "output", "type": "fc", "input": "features", "size": 16,
  "activation": "softmax"}]' --set 'model.cost={"type": "cross_entropy", "input": "output"}' --set 'model.evaluators=[]'
  --set 'train.strategy={"type": "dgc", "sparsity": [0.75], "rampup_begin_step": 2, "min_elements": 8,
    "algorithm": "direct"}')
train here
train there "${there[@]}"
cmp {here,there}/pass-00001/model.safetensors
[[ $(number bytes_sent here.0.json) == "$(number bytes_sent there.0.json)" ]] || fail "other bytes were sent"
[[ $(number compressed_there here.0.json) == 0 && $(number compressed_there there.0.json) == 1 ]] ||
  fail "$(cat {here,there}.0.json)"
for encoding in varint_int8 varint_int2; do
  train ${encoding}_here --set train.strategy.encoding=$encoding
  train ${encoding}_there "${there[@]}" --set train.strategy.encoding=$encoding
  cmp ${encoding}_{here,there}/pass-00001/model.safetensors
  cmp -s {here,${encoding}_here}/pass-00001/model.safetensors && fail "$encoding rounds nothing"
  [[ $(number bytes_sent ${encoding}_here.0.json) == "$(number bytes_sent ${encoding}_there.0.json)" ]] ||
    fail "other bytes were sent"
  [[ $(number compressed_there ${encoding}_there.0.json) == 1 ]] || fail "$(cat ${encoding}_there.0.json)"
done
train back "${there[@]}" --set train.passes=1 --checkpoint-dir there_checkpoints
train back --checkpoint-dir there_checkpoints --resume
cmp {here,back}/pass-00001/model.safetensors
train whole_here --set 'train.strategy={"type": "all_reduce"}'
cmp -s {here,whole_here}/pass-00001/model.safetensors && fail "nothing was compressed"

# Two matrices of more than a megabyte, which the processor exchanges in groups of their own.
echo "trainers of which one computes on a device make the same exchanges"
two=(--set train.passes=1 --set 'model.layers=[{"name": "one", "type": "fc", "input": "features", "size": 64},
  {"name": "two", "type": "fc", "input": "features", "size": 64},
  {"name": "output", "type": "add", "input": ["one", "two"], "activation": "softmax"}]')
train two "${two[@]}"
start mixed "1 2" "${two[@]}"
others=("${processes[@]}")
start mixed 0 "${two[@]}" "${there[@]}"
processes+=("${others[@]}")
end_all mixed 0
cmp {two,mixed}/pass-00000/model.safetensors
[[ $(number compressed_there mixed.0.json) == 2 ]] || fail "$(cat mixed.0.json)"
# One exchange instead of two is framed in fewer bytes.
at_least "$(number bytes_sent two.0.json)" "$(number bytes_sent mixed.0.json) + 1"
# The order of these sums would be another one in one exchange.
ring=("${two[@]}" --set 'train.strategy={"type": "power_sgd", "algorithm": "ring"}')
train ring "${ring[@]}"
train ring_there "${ring[@]}" "${there[@]}"
cmp {ring,ring_there}/pass-00000/model.safetensors

# Its second matrix is a factor of products, whose sums run in another order on a device.
echo "the device encodes as many bytes as the processor, and goes on from a checkpoint with the same bits"
common=(--set train.passes=2 --set 'model.layers=[{"name": "hidden", "type": "fc", "input": "features", "size": 4},
  {"name": "output", "type": "fc", "input": "hidden", "size": 8, "activation": "softmax"}]'
  --set 'model.cost={"type": "cross_entropy", "input": "output"}' --set 'model.evaluators=[]'
  --set 'train.strategy={"type": "compressed_all_reduce", "codec": "int8", "begin_step": 2, "algorithm": "direct"}')
train coded_here
train coded_there "${there[@]}"
[[ $(number bytes_sent coded_here.0.json) == "$(number bytes_sent coded_there.0.json)" ]] || fail "other bytes were sent"
[[ $(number compressed_there coded_here.0.json) == 0 && $(number compressed_there coded_there.0.json) == 1 ]] ||
  fail "$(cat coded_{here,there}.0.json)"
train halves "${there[@]}" --set train.passes=1 --checkpoint-dir coded_checkpoints
train halves "${there[@]}" --checkpoint-dir coded_checkpoints --resume
cmp {coded_there,halves}/pass-00001/model.safetensors

# Narrow matrices of one pair of vectors are as smooth as the gradients that they stand for, which differ by rounding.
echo "narrow matrices are made on the device too: as many bytes, and the models of the processor within rounding"
cat >close.py <<'PYTHON'
import array, json, struct, sys

def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {name: array.array("f", data[t["data_offsets"][0]:t["data_offsets"][1]]) for name, t in header.items()}

here, there = read(sys.argv[1]), read(sys.argv[2])
assert here.keys() == there.keys()
for name, values in here.items():
    largest, apart = max(map(abs, values)), max(abs(x - y) for x, y in zip(values, there[name]))
    assert apart <= float(sys.argv[3]) * largest, (name, apart, largest)
PYTHON
for strategy in '{"type": "power_sgd", "rank": 1' \
  '{"type": "compressed_all_reduce", "codec": {"type": "low_rank", "rank": 1}'; do
  narrow=(--set "train.strategy=$strategy, \"begin_step\": 2, \"algorithm\": \"direct\"}")
  train narrow_here "${narrow[@]}"
  train narrow_there "${narrow[@]}" "${there[@]}"
  [[ $(number bytes_sent narrow_here.0.json) == "$(number bytes_sent narrow_there.0.json)" ]] || fail "other bytes were sent"
  [[ $(number compressed_there narrow_here.0.json) == 0 && $(number compressed_there narrow_there.0.json) == 1 ]] ||
    fail "$(cat narrow_{here,there}.0.json)"
  if command -v python3 >/dev/null; then python3 close.py narrow_{here,there}/pass-00001/model.safetensors 1e-3; fi
  train narrow_halves "${narrow[@]}" "${there[@]}" --set train.passes=1 --checkpoint-dir narrow_checkpoints
  train narrow_halves "${narrow[@]}" "${there[@]}" --checkpoint-dir narrow_checkpoints --resume
  cmp {narrow_there,narrow_halves}/pass-00001/model.safetensors
  rm -r narrow_*
done
common=()

echo "what cannot be is refused"
expect_status 2 ps-train "$job" --data train.txt --trainers 3 --rank 0
expect_text err 'give --peers HOST:PORT'
expect_status 2 ps-train "$job" --data train.txt --set optimizer.type=adam --set optimizer.momentum=null
expect_text err 'optimizer'
