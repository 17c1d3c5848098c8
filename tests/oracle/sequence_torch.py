"""Computes the model of sequence_torch_test.sh by torch: sequence_torch.py BEFORE AFTER RATE DATA PREDICTIONS

BEFORE and AFTER are the model before and after one step of gradient descent at this RATE on DATA, and PREDICTIONS are
those of BEFORE.  Fails unless predictions and gradients are torch's.
"""
import json
import struct
import sys

import torch


def read(path):
    """The tensors of a safetensors file, by name."""
    with open(path, "rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(header_bytes))
        buffer = bytearray(file.read())
    tensors = {}
    for name, tensor in header.items():
        if name != "__metadata__":
            begin, end = tensor["data_offsets"]
            assert tensor["dtype"] == "F32", name
            tensors[name] = torch.frombuffer(buffer[begin:end], dtype=torch.float32).reshape(tensor["shape"]).double()
    return tensors


def read_examples(path):
    """Lines of flag,label,id 1,id 1...: the label and the ids."""
    examples = []
    for line in open(path):
        _, label, *ids = line.split(",")
        examples.append((int(label), [int(id.split()[0]) for id in ids]))
    return examples


class Model:
    """Parameters of torch's modules, with those of ours that they stand for in `pairs`: ours, torch's, and how."""

    def __init__(self, weights):
        self.weights = weights
        self.pairs = []
        self.rows = torch.nn.Parameter(weights["rows.weight"].clone())
        self.pair("rows.weight", self.rows, lambda gradient: gradient)
        self.gru = self.recurrent("gru", torch.nn.GRU(6, 5, batch_first=True, bidirectional=True).double())
        self.attention = self.attentive("attention", 2)
        self.causal = self.attentive("causal", 5)
        self.lstm = self.recurrent("lstm", torch.nn.LSTM(10, 4, batch_first=True, bidirectional=True).double())
        self.output = torch.nn.Linear(8, 2).double()
        self.take("output.weight", self.output.weight)
        self.take("output.bias", self.output.bias)

    def pair(self, name, parameter, ours):
        self.pairs.append((name, parameter, ours))

    def take(self, name, parameter):
        """parameter <- ours: torch has a row for each output."""
        ours = (lambda gradient: gradient.reshape(1, -1)) if parameter.dim() == 1 else (lambda gradient: gradient.T)
        values = self.weights[name]
        parameter.data.copy_(values.reshape(-1) if parameter.dim() == 1 else values.T)
        self.pair(name, parameter, ours)

    def recurrent(self, name, module):
        size = module.hidden_size
        for end in ("", "_reverse"):
            self.take(f"{name}.weight{end}", getattr(module, f"weight_ih_l0{end}"))
            self.take(f"{name}.weight_recurrent{end}", getattr(module, f"weight_hh_l0{end}"))
            self.take(f"{name}.bias{end}", getattr(module, f"bias_ih_l0{end}"))
            second = getattr(module, f"bias_hh_l0{end}")
            second.data.zero_()
            if isinstance(module, torch.nn.GRU):
                bias = f"{name}.bias_recurrent{end}"
                second.data[2 * size:] = self.weights[bias].reshape(-1)
                self.pair(bias, second, lambda gradient: gradient[2 * size:].reshape(1, -1))
        return module

    def attentive(self, name, heads):
        module = torch.nn.MultiheadAttention(10, heads, batch_first=True).double()
        self.take(f"{name}.weight", module.in_proj_weight)
        self.take(f"{name}.bias", module.in_proj_bias)
        self.take(f"{name}.weight_out", module.out_proj.weight)
        self.take(f"{name}.bias_out", module.out_proj.bias)
        return module

    def logits(self, ids):
        if not ids:
            return self.output(torch.zeros(8, dtype=torch.float64))
        x, _ = self.gru(self.rows[ids].unsqueeze(0))
        x, _ = self.attention(x, x, x)
        unseen = torch.ones(len(ids), len(ids), dtype=torch.bool).triu(1)
        x, _ = self.causal(x, x, x, attn_mask=unseen)
        _, (last, _) = self.lstm(x)
        return self.output(last.reshape(-1))


def main(before_path, after_path, rate, data_path, predictions_path):
    before, after = read(before_path), read(after_path)
    model = Model(before)
    assert sorted(before) == sorted(name for name, _, _ in model.pairs), sorted(before)
    loss, examples = 0, read_examples(data_path)
    assert any(not ids for _, ids in examples) and any(len(ids) > 8 for _, ids in examples)
    worst = 0
    for (label, ids), line in zip(examples, open(predictions_path), strict=True):
        log_shares = torch.log_softmax(model.logits(ids), 0)
        loss = loss - log_shares[label]
        found = [float(share) for share in line.replace(",", " ").split()]
        expected = log_shares.exp().tolist()
        worst = max(worst, *(abs(a - b) for a, b in zip(found, expected[-len(found):], strict=True)))
    print(f"{len(examples)} predictions, at most {worst:.1e} from torch's")
    assert worst < 2e-6
    loss.backward()
    for name, parameter, ours in model.pairs:
        expected = ours(parameter.grad)
        found = (before[name] - after[name]) / float(rate)
        difference, largest = (found - expected).abs().max().item(), expected.abs().max().item()
        print(f"{name}: gradients up to {largest:.3g}, at most {difference:.1e} from torch's")
        # The step rounds weights of size 1 to 1e-7, four times that of the gradient.
        assert largest > 1e-3 and difference < 3e-6 * max(1, largest) + 1e-6, name


main(*sys.argv[1:])
