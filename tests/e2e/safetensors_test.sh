#!/bin/bash
# The Python package safetensors, which is not ours, reads what ps-train and ps-ckpt2model write: every type of weights.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3
export PYTHONPATH=$scratch/packages
if ! python3 -c 'import safetensors' 2>/dev/null; then
  python3 -m pip --version >/dev/null 2>&1 || skip "neither the package safetensors nor pip is installed"
  timeout 60 python3 -m pip install --quiet --no-deps --target packages safetensors >/dev/null 2>&1 ||
    skip "pip cannot install safetensors here"
  python3 -c 'import safetensors' || skip "the package safetensors does not load here"
fi

ps-datagen ctr --samples 5000 --output train.txt
ps-train "$PS_SOURCE/share/jobs/quickstart.json" --data train.txt --save-dir saved --checkpoint-dir checkpoints \
  --log-level warning
for type in f32 f16 bf16 int8; do ps-ckpt2model checkpoints --type $type --output $type.safetensors; done
ps-ckpt2model checkpoints --format text --output expected.txt
python3 - <<'PY'
import math, struct
import safetensors

# {(parameter, key): weight}, as ps-ckpt2model writes them as text.
expected = {}
for line in open("expected.txt"):
    parameter, key, weight = line.split()
    expected[parameter, int(key)] = struct.unpack("<f", struct.pack("<f", float(weight)))[0]  # shortest decimals

def tensors(path):
    return dict(safetensors.deserialize(open(path, "rb").read()))

def floats(tensor):
    data, kind = bytes(tensor["data"]), tensor["dtype"]
    if kind == "F32": return struct.unpack(f"<{len(data) // 4}f", data)
    if kind == "F16": return struct.unpack(f"<{len(data) // 2}e", data)
    if kind == "BF16":
        words = struct.unpack(f"<{len(data) // 2}H", data)
        return struct.unpack(f"<{len(words)}f", b"".join(struct.pack("<I", word << 16) for word in words))
    return struct.unpack(f"<{len(data)}b", data)

for path, tolerance in (("saved/pass-00000/model.safetensors", 0), ("f32.safetensors", 0), ("f16.safetensors", 2**-10),
                        ("bf16.safetensors", 2**-7), ("int8.safetensors", 2**-6)):
    found = tensors(path)
    compared = 0
    for name in [name for name in found if name.endswith(".keys")]:
        parameter = name[:-len(".keys")]
        keys = struct.unpack(f"<{found[name]['shape'][0]}Q", bytes(found[name]["data"]))
        rows = floats(found[parameter + ".rows"])
        scales = floats(found[parameter + ".scales"]) if parameter + ".scales" in found else [1.0] * len(keys)
        assert found[parameter + ".rows"]["shape"] == [len(keys), 1]
        for key, row, scale in zip(keys, rows, scales):
            weight = expected[parameter, key]
            smallest = 2**-24 if tolerance else 0  # that f16 tells from nothing
            near = math.isclose(row * scale, weight, rel_tol=tolerance, abs_tol=smallest)
            assert near, (path, parameter, key, row * scale, weight)
            compared += 1
    assert compared > 1000, compared
    print(f"{path}: safetensors {safetensors.__version__} reads {len(found)} tensors, {compared} rows")
PY
