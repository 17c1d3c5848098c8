"""Reads model files as ps-model(5) says, with numpy, and holds them against each other."""
import json
import struct

import numpy as np

TYPES = {"F32": "<f4", "F16": "<f2", "U64": "<u8", "I8": "|i1", "BF16": "<u2"}


def read_safetensors(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        buffer = file.read()
    tensors = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        array = np.frombuffer(buffer[begin:end], TYPES[tensor["dtype"]]).reshape(tensor["shape"])
        if tensor["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        tensors[name] = array
    return tensors


model = read_safetensors("model.safetensors")
archive = np.load("model.npz")
assert sorted(archive.files) == sorted(model), (archive.files, list(model))
for name, array in model.items():
    assert np.array_equal(archive[name], array), name
    if name.endswith(".keys"):
        assert (np.diff(array.astype(np.int64)) > 0).all(), name

half, brain, small = (read_safetensors("model." + kind) for kind in ("f16", "bf16", "int8"))
with_state = np.load("model_int8.npz")
for name, array in model.items():
    if name.endswith(".keys"):
        continue
    assert np.array_equal(half[name], array.astype(np.float16)), name
    assert np.allclose(brain[name], array, rtol=2**-8, atol=0), name
    table = name.removesuffix(".rows")
    scales = small[table + ".scales"][:, None]
    assert np.allclose(small[name] * scales, array, rtol=0, atol=scales.max() * 0.51), name
    assert np.array_equal(small[name], with_state[name]), name
    assert with_state[table + ".state.0"].shape == array.shape, name
print(len(model), "tensors agree in all formats")
