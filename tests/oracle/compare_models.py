"""Compares a table of one model with the whole matrix of another.

usage: compare_models.py SPARSE_MODEL DENSE_MODEL PARAMETER

Reads two safetensors files with nothing but the standard library.  Prints the number of rows, the largest difference,
and the largest weight.
"""

import json
import struct
import sys


class Model:
    def __init__(self, path):
        self.file = open(path, "rb")
        (size,) = struct.unpack("<Q", self.file.read(8))
        self.header = json.loads(self.file.read(size))
        self.start = 8 + size

    def read(self, name, offset, size):
        begin, end = self.header[name]["data_offsets"]
        assert begin + offset + size <= end
        self.file.seek(self.start + begin + offset)
        return self.file.read(size)


sparse, dense, name = Model(sys.argv[1]), Model(sys.argv[2]), sys.argv[3]
count, width = sparse.header[name + ".rows"]["shape"]
keys = struct.unpack(f"<{count}Q", sparse.read(name + ".keys", 0, 8 * count))
largest = difference = 0.0
for i, key in enumerate(keys):
    ours = struct.unpack(f"<{width}f", sparse.read(name + ".rows", 4 * width * i, 4 * width))
    theirs = struct.unpack(f"<{width}f", dense.read(name, 4 * width * key, 4 * width))
    difference = max(difference, *(abs(a - b) for a, b in zip(ours, theirs)))
    largest = max(largest, *map(abs, theirs))
print(count, difference, largest)
