#!/usr/bin/env python3
"""Measures torch on a GPU, on what `ps-bench gpu` measures of pskit.

Run it on the same machine, and compare lines whose names begin alike: gpu/push/adagrad/torch is beside
gpu/push/adagrad.  Times are between CUDA events, or for whole steps of models between synchronisations, and each line
has the median and the best of the runs.  Where torch or a GPU is missing it says so in one line, and ends with status 0.
"""

import argparse
import json
import statistics
import sys
import time

EXPONENT = 1.05  # of Zipf's law
BATCH = 1 << 20  # look-ups of a step, at full size


class Bench:
    """The settings of a run, and its lines."""

    def __init__(self, torch, device, runs, scale, as_json):
        self.torch, self.device, self.runs, self.scale, self.as_json = torch, device, runs, scale, as_json
        self.laws = {}  # by the number of rows: the sums of their weights, and the rows of ranks

    def scaled(self, full, least=64):
        return max(least, int(full * self.scale))

    def timed(self, work):
        """Seconds of work() on the device, by events."""
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3

    def clocked(self, work):
        """Seconds of work() by the clock of the host, until the device has done it."""
        self.torch.cuda.synchronize()
        begin = time.perf_counter()
        work()
        self.torch.cuda.synchronize()
        return time.perf_counter() - begin

    def measure(self, name, unit, amount, work, repeats=1, steps=None, by_clock=False):
        """Prints the rate of work(), which does `amount` of the unit, `repeats` times a run."""
        measured = self.clocked if by_clock else self.timed

        def run():
            for _ in range(repeats):
                work()

        run()  # fills caches, and makes the states of optimizers
        seconds = [measured(run) for _ in range(self.runs)]
        amount *= repeats
        median, best = amount / statistics.median(seconds), amount / min(seconds)
        figures = {"ms a step": statistics.median(seconds) / (steps or repeats) * 1e3}
        if self.as_json:
            print(json.dumps({"name": name, "unit": unit, "seconds": seconds, "median_rate": median,
                              "best_rate": best, "figures": figures}), flush=True)
        else:
            texts = ", ".join(f"{key} {value:.4g}" for key, value in figures.items())
            print(f"{name:34}  {rate_text(median, unit):>16}  {rate_text(best, unit):>16}  {texts}", flush=True)

    def zipf(self, rows, count):
        """`count` row numbers by Zipf's law, the frequent ones spread over all rows."""
        torch = self.torch
        if rows not in self.laws:
            weights = torch.arange(1, rows + 1, dtype=torch.float64, device=self.device).pow_(-EXPONENT)
            self.laws[rows] = weights.cumsum(0), torch.randperm(rows, device=self.device)
        sums, row_of_rank = self.laws[rows]
        draws = torch.rand(count, dtype=torch.float64, device=self.device) * sums[-1]
        return row_of_rank[torch.searchsorted(sums, draws).clamp_(max=rows - 1)]


def rate_text(rate, unit):
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")):
        if rate >= factor or factor == 1:
            gap = " " if prefix and unit != "B" else ""
            return f"{rate / factor:.3g} {prefix}{gap}{unit}/s"


def copy(bench):
    torch = bench.torch
    size = bench.scaled(1 << 29, 4096)
    source = torch.randint(0, 256, (size,), dtype=torch.uint8, device=bench.device)
    target = torch.zeros_like(source)
    bench.measure("gpu/copy/torch", "B", 2 * size, lambda: target.copy_(source), repeats=10)
    assert torch.equal(source, target)


def push_adagrad(bench, width):
    """Gradients of a batch of look-ups merged and applied: the sparse gradient that a backward pass leaves."""
    torch = bench.torch
    rows, count = bench.scaled(1 << 24, 4096), bench.scaled(BATCH)
    weight = torch.nn.Parameter(torch.zeros(rows, width, device=bench.device))
    keys = bench.zipf(rows, count)
    gradients = torch.rand(count, width, device=bench.device) / 2 + 0.25
    optimizer = torch.optim.Adagrad([weight], lr=0.01, eps=1e-6)

    def step():
        weight.grad = torch.sparse_coo_tensor(keys[None], gradients, weight.shape)
        optimizer.step()

    bench.measure(f"gpu/push/adagrad/torch-{width}", "rows", count, step)
    untouched = torch.ones(rows, dtype=torch.bool, device=bench.device)
    untouched[keys] = False
    assert bool((weight.detach()[keys] < 0).all()) and not bool(weight.detach()[untouched].any())


def embedding_step(bench, name, width, make_optimizer):
    """Rows looked up, one for each bag, and a whole step on their gradients."""
    torch = bench.torch
    rows, count = bench.scaled(1 << 23, 4096), bench.scaled(BATCH)
    bags = torch.nn.EmbeddingBag(rows, width, mode="sum", sparse=True, device=bench.device)
    keys, offsets = bench.zipf(rows, count), torch.arange(count, device=bench.device)
    gradients = torch.rand(count, width, device=bench.device) / 2 + 0.25
    optimizer = make_optimizer(bags.parameters())
    before = bags.weight.detach()[keys[:16]].clone()

    def step():
        optimizer.zero_grad()
        bags(keys, offsets).backward(gradients)
        optimizer.step()

    bench.measure(name, "rows", count, step)
    assert bool((bags.weight.detach()[keys[:16]] < before).all())


def top_k(bench):
    torch = bench.torch
    size = bench.scaled(64 << 20, 4096)
    values = torch.randn(size, device=bench.device)
    count = max(1, size // 1000)
    found = []

    def select():
        found[:] = [torch.topk(values.abs(), count, sorted=False).indices]

    bench.measure("gpu/top-k/torch", "B", 4 * size, select)
    left = values.abs().index_fill(0, found[0], 0)
    assert float(values[found[0]].abs().min()) >= float(left.max())


def train(bench, name, batches, loss_of, optimizers):
    """Passes over batches of tensors in page-locked memory of the host."""

    losses = []

    def run_pass():
        total = 0
        for batch in batches:
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss = loss_of(*(part.to(bench.device, non_blocking=True) for part in batch))
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
            total = total + loss.detach()
        losses.append(float(total))

    examples = sum(batch[-1].shape[0] for batch in batches)
    bench.measure(name, "examples", examples, run_pass, steps=len(batches), by_clock=True)
    assert losses[-1] < losses[0]


def pinned(tensors):
    return [part.cpu().pin_memory() for part in tensors]


def wide_deep(bench):
    """13 numbers and 26 categories, rows of 10, three layers of 400: share/jobs/criteo_wide_deep.json."""
    torch = bench.torch
    nn, device = torch.nn, bench.device
    sizes = [1460, 583, 1000000, 1000000, 305, 24, 12517, 633, 3, 93145, 5683, 1000000, 3194, 27, 14992, 1000000, 10,
             5652, 2173, 4, 1000000, 18, 15, 286181, 105, 142572]
    firsts = torch.tensor([sum(sizes[:i]) for i in range(26)])
    rows = nn.Embedding(sum(sizes), 10, sparse=True, device=device)
    norm, wide = nn.BatchNorm1d(13, device=device), nn.Linear(13, 1, device=device)
    deep = nn.Sequential(nn.Linear(273, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(), nn.Linear(400, 400), nn.ReLU(),
                         nn.Linear(400, 1)).to(device)
    loss_of_score = nn.BCEWithLogitsLoss(reduction="sum")
    dense = [*norm.parameters(), *wide.parameters(), *deep.parameters()]
    optimizers = [torch.optim.Adam(dense, lr=0.001), torch.optim.SparseAdam(rows.parameters(), lr=0.001)]

    def loss_of(numbers, keys, labels):
        normal = norm(numbers)
        features = torch.cat([normal, rows(keys).flatten(1)], 1)
        return loss_of_score((wide(normal) + deep(features)).view(-1), labels)

    batches = []
    for _ in range(bench.scaled(25, 2)):
        size = bench.scaled(4096)
        keys = torch.stack([bench.zipf(n, size).cpu() + first for n, first in zip(sizes, firsts)], 1)
        numbers = torch.randn(size, 13)
        batches.append(pinned([numbers, keys, (torch.rand(size) < torch.sigmoid(numbers.sum(1) / 3)).float()]))
    train(bench, "gpu/train/wide-deep/torch", batches, loss_of, optimizers)


def fc_demo(bench):
    """Sums of about 100 rows of 256 of 18 million, layers of 32 and 2.  The rows take plain steps: torch's momentum of
    sparse gradients grows from step to step."""
    torch = bench.torch
    nn, device = torch.nn, bench.device
    dim = bench.scaled(18182296, 4096)
    rows = nn.EmbeddingBag(dim, 256, mode="sum", sparse=True, device=device)
    nn.init.normal_(rows.weight, std=0.01)
    layers = nn.Sequential(nn.Tanh(), nn.Linear(256, 32), nn.Tanh(), nn.Linear(32, 2)).to(device)
    loss_of_output = nn.CrossEntropyLoss(reduction="sum")
    optimizers = [torch.optim.SGD(rows.parameters(), lr=0.001),
                  torch.optim.SGD(layers.parameters(), lr=0.001, momentum=0.9)]

    def loss_of(keys, offsets, labels):
        return loss_of_output(layers(rows(keys, offsets)), labels)

    batches = []
    for _ in range(bench.scaled(50, 2)):
        counts = torch.randint(11, 191, (200,))
        keys = bench.zipf(dim, int(counts.sum()))
        batches.append(pinned([keys, counts.cumsum(0) - counts, (torch.rand(200) < 0.1).long()]))
    train(bench, "gpu/train/fc-demo/torch", batches, loss_of, optimizers)


def benchmarks(torch):
    def adagrad(parameters):
        return torch.optim.Adagrad(parameters, lr=0.01, eps=1e-6)

    def adam(parameters):
        return torch.optim.SparseAdam(parameters, lr=0.001)

    return [("gpu/copy", copy),
            ("gpu/push/adagrad", lambda bench: push_adagrad(bench, 64)),
            ("gpu/push/adagrad", lambda bench: push_adagrad(bench, 128)),
            ("gpu/step/adagrad", lambda bench: embedding_step(bench, "gpu/step/adagrad/torch-64", 64, adagrad)),
            ("gpu/step/adagrad", lambda bench: embedding_step(bench, "gpu/step/adagrad/torch-128", 128, adagrad)),
            ("gpu/step/adam", lambda bench: embedding_step(bench, "gpu/step/adam/torch", 128, adam)),
            ("gpu/top-k", top_k),
            ("gpu/train/wide-deep", wide_deep),
            ("gpu/train/fc-demo", fc_demo)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", type=int, default=0, help="number of the GPU (default 0)")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each benchmark (default 5)")
    parser.add_argument("--size", type=float, default=1, help="factor for the sizes of data (default 1)")
    parser.add_argument("--filter", default="", help="only benchmarks with this in their names")
    parser.add_argument("--json", action="store_true", help="print each result as a line of JSON")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("skipped: python3 has no torch")
        return
    if not torch.cuda.is_available():
        print("skipped: torch finds no GPU")
        return
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.cuda.set_device(options.device)
    torch.manual_seed(1)
    properties = torch.cuda.get_device_properties(options.device)
    about = f"{properties.name}, {properties.total_memory / 2**30:.1f} GiB, torch {torch.__version__}, " \
            f"CUDA {torch.version.cuda}, float32 without TF32"
    print(json.dumps({"machine": {"device": about}}) if options.json else f"device      {about}", flush=True)
    bench = Bench(torch, torch.device("cuda", options.device), options.runs, options.size, options.json)
    for name, run in benchmarks(torch):
        if options.filter in name:
            run(bench)
            bench.laws.clear()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    sys.exit(main())
