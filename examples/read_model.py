"""Predicts clicks with a model of ps-train, read as ps-model(5) says: read_model.py MODEL CLICKS >PREDICTIONS"""
import json
import struct
import sys

import numpy

TYPES = {"F32": "<f4", "F16": "<f2", "I8": "|i1", "U64": "<u8"}


def read(path):
    """The tensors of a safetensors file, by name."""
    with open(path, "rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_bytes))
        buffer = file.read()
    tensors = {}
    for name, tensor in header.items():
        if name != "__metadata__":
            begin, end = tensor["data_offsets"]
            tensors[name] = numpy.frombuffer(buffer[begin:end], TYPES[tensor["dtype"]]).reshape(tensor["shape"])
    return tensors


def weights(model, table):
    """Those of a table, [rows, columns], whatever their type is."""
    rows = model[table + ".rows" if table + ".rows" in model else table].astype("f4")
    return rows * model[table + ".scales"][:, None] if table + ".scales" in model else rows


def find(keys, rows, ids):
    """The rows of some ids; zeros, with which this job begins, for those that were never trained."""
    places = numpy.minimum(numpy.searchsorted(keys, ids), len(keys) - 1)
    return numpy.where((keys[places] == ids)[:, None], rows[places], 0)


def main(model_path, clicks_path):
    model = read(model_path)
    tables = [f"score.weight{slot}" for slot in range(20)]
    tables = [(model[name + ".keys"], weights(model, name)) for name in tables]
    for line in open(clicks_path):
        numbers = numpy.array(line.split(), dtype=numpy.uint64)
        score, at = weights(model, "score.bias").item(), 0
        for keys, rows in tables:
            end = at + 1 + int(numbers[at])
            score += find(keys, rows, numbers[at + 1:end]).sum()
            at = end
        print(1 / (1 + numpy.exp(-score)))


main(*sys.argv[1:])
