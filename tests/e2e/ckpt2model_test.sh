#!/bin/bash
# ps-ckpt2model: every format says what the job would, and is read by tools that are not ours.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json

ps-datagen ctr --samples 8000 --output train.txt
ps-train "$job" --data train.txt --test-data train.txt --passes 2 --log-level warning --json --checkpoint-dir checkpoints --set checkpoint.steps=30 \
  --set checkpoint.full_every=2 --set checkpoint.keep=3 --set optimizer.l2=0.001 --set optimizer.average='{"begin_step": 5}' >running.json

echo "the model of the last checkpoint is the model that was saved, also of an increment and through a pipe"
ps-ckpt2model checkpoints --output model.safetensors
cat >same_tensors.py <<'PY'
import json, struct, sys

def tensors(path):
    data = open(path, "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__")
    return {n: (t["dtype"], t["shape"], data[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]])
            for n, t in header.items()}

sys.exit(tensors(sys.argv[1]) != tensors(sys.argv[2]))
PY
need python3
python3 same_tensors.py model.safetensors output/pass-00001/model.safetensors || fail "another model than ps-train saved"
ps-ckpt2model checkpoints --output - | cmp - model.safetensors
mkfifo pipe
cat pipe >piped.safetensors &
ps-ckpt2model checkpoints --output pipe
wait $!
cmp piped.safetensors model.safetensors
[[ -p pipe ]] || fail "the pipe was replaced"
mkdir elsewhere
: >elsewhere/linked
ln -s elsewhere/linked link
ps-ckpt2model checkpoints --output link
cmp elsewhere/linked model.safetensors
[[ -L link ]] || fail "the link was replaced"
rm elsewhere/linked
ps-ckpt2model checkpoints --output link
cmp elsewhere/linked model.safetensors || fail "what the link points to was not made"
[[ -L link ]] || fail "the link was replaced"
ps-ckpt2model checkpoints --inspect >inspected
expect_text inspected 'step 80'
expect_text inspected 'sparse, '
ps-ckpt2model checkpoints --verify >verified
expect_text verified ': whole'

echo "the running job, its checkpoint, its model, and the model that was saved test and predict the same"
figures() { python3 -c 'import json, sys; t = json.load(sys.stdin)["test"]; print(t["cost"], t["evaluators"])'; }
figures <running.json >tested
for model in checkpoints model.safetensors output/pass-00001; do
  ps-train "$job" --job test --data train.txt --init-model "$model" --log-level warning --json | figures >>tested
  ps-train "$job" --job predict --data train.txt --init-model "$model" --log-level warning | sha256sum >>predicted
done
[[ $(wc -l <tested) == 4 && $(sort -u tested | wc -l) == 1 ]] || fail "different figures: $(cat tested)"
[[ $(sort -u predicted | wc -l) == 1 ]] || fail "different predictions"

echo "so do servers that a job still runs on"
mkfifo ready
ps-serve "$job" --host 127.0.0.1 --port 0 --port-file port >ready 2>serve.err &
server=$!
trap 'kill $server 2>/dev/null || true; remove_scratch' EXIT
head -1 ready >/dev/null
servers=127.0.0.1:$(head -1 port)
ps-train "$job" --data train.txt --test-data train.txt --log-level warning --json --servers "$servers" --save-dir served | figures >served.tested
ps-train "$job" --job test --data train.txt --servers "$servers" --log-level warning --json | figures >>served.tested
ps-train "$job" --job test --data train.txt --init-model served/pass-00000 --log-level warning --json | figures >>served.tested
[[ $(sort -u served.tested | wc -l) == 1 ]] || fail "different figures: $(cat served.tested)"
kill -TERM $server
wait $server

echo "two checkpoints are compared"
first=$(ls checkpoints | grep step- | head -1)
ps-ckpt2model "checkpoints/$first" --diff checkpoints >difference
expect_text difference ' only in the second'
ps-ckpt2model checkpoints --diff checkpoints --json >difference
python3 -c 'import json; t = json.load(open("difference")); assert t and all(x["different"] == 0 and x["only_a"] == 0 for x in t)'

echo "rows are chosen by table and by key; text tells the same weights"
table=$(ps-ckpt2model checkpoints --inspect --json | python3 -c 'import json, sys
print(next(t["name"] for t in json.load(sys.stdin)["tables"] if t["kind"] == "sparse"))')
ps-ckpt2model checkpoints --tables "$table" --format text --output all.txt
awk '$2 >= 100 && $2 <= 300' all.txt >expected.txt
ps-ckpt2model checkpoints --tables "$table" --keys 100:300 --format text --output chosen.txt
cmp expected.txt chosen.txt
awk '{print $2}' expected.txt | tac >keys.txt
ps-ckpt2model checkpoints --tables "$table" --keys keys.txt --format text --output listed.txt
cmp expected.txt listed.txt
{ ps-ckpt2model checkpoints --format text --output - || (($? == 141)); } | head -1 >first.txt
expect_status 2 ps-ckpt2model checkpoints --tables nothing --output x
expect_text err "no table 'nothing'"
expect_status 2 ps-ckpt2model checkpoints --min-shows 1 --output x
expect_text err 'does not count shows'
expect_status 2 ps-ckpt2model checkpoints --format npz --type bf16 --output x
expect_status 2 ps-ckpt2model checkpoints --format text --type f16 --output x
expect_status 2 ps-ckpt2model checkpoints --format paddle --with-state --output x
expect_text err 'holds no state of the optimizer'
expect_status 2 ps-ckpt2model checkpoints

echo "PaddlePaddle's files hold whole matrices, and need a bound of the ids"
expect_status 2 ps-ckpt2model checkpoints --format paddle --tables "$table" --output one.paddle
expect_text err 'have no bound: set data.dim'
expect_status 2 ps-ckpt2model checkpoints --format paddle --output -
expect_text err 'choose one with --tables'
ps-datagen sparse-binary --samples 300 --dim 120 --nnz 3:20 --format libsvm --output small.libsvm
ps-train "$PS_SOURCE/share/jobs/a9a.json" --data small.libsvm --passes 1 --log-level warning --save-dir '' --checkpoint-dir small
ps-ckpt2model small --format paddle --output paddle
ps-ckpt2model small --format text --output small.txt
python3 - <<'PY'
import os, struct
rows = [line.split() for line in open("small.txt")]
for name in {row[0] for row in rows}:
    data = open("paddle/" + name, "rb").read()
    bound = 1 if name.endswith("bias") else 124
    assert struct.unpack("<iIQ", data[:16]) == (0, 4, bound), name
    assert len(data) == 16 + 4 * bound
    values = struct.unpack(f"<{bound}f", data[16:])
    mine = {int(row[1]): struct.unpack("<f", struct.pack("<f", float(row[2])))[0] for row in rows if row[0] == name}
    assert all(values[key] == mine.get(key, 0) for key in range(bound)), name
assert len(os.listdir("paddle")) == 2
PY

echo "weights of id 0 are not lost in liblinear, which has no feature 0"
cat >linear.json <<'JSON'
{
  "data": {"format": "libsvm", "dim": 4},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1, "sparse_update": true}],
    "cost": {"type": "binary_cross_entropy", "input": "score"}
  }
}
JSON
printf '1 0:1 1:1\n0 2:1\n' >from_0.libsvm
printf '1 1:1\n0 2:1\n' >from_1.libsvm
for first in 0 1; do ps-train linear.json --data from_$first.libsvm --save-dir linear_$first --log-level warning; done
expect_status 2 ps-ckpt2model linear_0/pass-00000 --format liblinear --output lost.model
expect_text err "'score.weight' has weights of id 0, which would be lost"
[[ ! -e lost.model ]] || fail "a model without id 0"
ps-ckpt2model linear_1/pass-00000 --format liblinear --output linear.model
expect_text linear.model 'nr_feature 3'
ps-train linear.json --data from_1.libsvm --set data.index_base=1 --save-dir linear_2 --log-level warning
ps-ckpt2model linear_2/pass-00000 --format liblinear --output linear.model
expect_text linear.model 'nr_feature 4'

echo "a table's name does not lead out of the folder of a model"
mkdir -p outer/inner
for name in ../lost "$PWD/lost" in/lost; do
  sed "s|\"score\"|\"$name\"|g" linear.json >named.json
  ps-train named.json --data from_1.libsvm --save-dir "named_${name//\//_}" --log-level warning
  for format in npy paddle; do
    expect_status 2 ps-ckpt2model "named_${name//\//_}/pass-00000" --format $format --output outer/inner
    expect_text err "table '$name.weight' gives its name to a file, and is none"
  done
done
[[ $(find . -name 'lost*') == '' ]] || fail "a file outside of the folder: $(find . -name 'lost*')"

echo "a folder is no file for a model"
mkdir folder
expect_status 2 ps-ckpt2model checkpoints --output folder
expect_text err "cannot write 'folder': it is a folder, and the model is a file"

echo "damage ends it with 5, and leaves no model"
cp -r checkpoints damaged
part=$(ls damaged/"$(cut -d' ' -f1 damaged/LATEST)"/part-*.psc | tail -1)
printf 'damage' | dd of="$part" bs=1 seek=100 conv=notrunc status=none
expect_status 5 ps-ckpt2model damaged --output broken.safetensors
expect_text err "$part: "
expect_text err "offset "
[[ ! -e broken.safetensors ]] || fail "a model of a damaged checkpoint"
expect_status 5 ps-ckpt2model damaged --verify

/usr/bin/python3 -c 'import numpy' 2>/dev/null || skip "numpy is not installed"
echo "numpy reads npz, and safetensors by a script written from ps-model(5)"
ps-ckpt2model checkpoints --format npz --output model.npz
for type in f16 bf16 int8; do ps-ckpt2model checkpoints --type $type --output model.$type; done
ps-ckpt2model checkpoints --format npz --type int8 --with-state --output model_int8.npz
/usr/bin/python3 "$PS_SOURCE/tests/e2e/read_models.py"
if /usr/bin/python3 -c 'import safetensors.numpy' 2>/dev/null; then
  /usr/bin/python3 -c 'import safetensors.numpy, sys; sys.exit(not safetensors.numpy.load_file("model.safetensors"))'
else
  echo "(the safetensors package is not installed: its part is left out)"
fi
echo passed
