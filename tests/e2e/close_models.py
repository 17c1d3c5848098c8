# Compares two models in safetensors, of the processor and of a device.
#
# Models differ by the rounding of products, whose sums run in another order: 2^-24 of a sum at a time.  24 steps of a small
# rate carry some of it on; 1e-4 of the largest weight, or of 0.001 where the gradients of all are rounding alone, as before
# a batch norm, has room for that, and for no mistake.
import json, struct, sys
import array

def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {name: data[t["data_offsets"][0]:t["data_offsets"][1]] for name, t in header.items()}

here, there = read(sys.argv[1]), read(sys.argv[2])
assert here.keys() == there.keys()
for name in here:
    if name.endswith(".keys"):
        assert here[name] == there[name], name
        continue
    x, y = array.array("f", here[name]), array.array("f", there[name])
    largest = max(abs(v) for v in x)
    apart = max(abs(v - w) for v, w in zip(x, y))
    assert len(x) == len(y) and apart <= 1e-4 * max(largest, 1e-3), (name, apart, largest)
