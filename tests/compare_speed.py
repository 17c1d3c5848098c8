#!/usr/bin/env python3
"""Compares the speed of this build with another one's, benchmark by benchmark.

usage: tests/compare_speed.py OTHER_PS_BENCH [--ours PS_BENCH] [--pairs N] [--size S] [SUITE[=FILTER]...]

Both builds' ps-bench run each benchmark in turn: other, ours, ours, other, …, seconds apart, so that a machine whose speed
changes changes it for both.  The ratio of a pair is our rate over the other's; above 1 this build is faster.  For each
benchmark the median over the pairs is printed, and the middle half of the pairs.  The limits of the machine (limits/…) and the
peers are the same code in both builds: their ratios show how much is noise.

Sizes are factors as of ps-bench --size.  Without a suite: table, train, pull-push and checkpoint.  The exit status is 1
when a benchmark of ours is more than 5 % slower, and all its middle half is.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SUITES = ["table", "train", "pull-push", "checkpoint"]
NOISE = ("limits/", "/unordered_map", "/plain")


def benchmarks(program, suite):
    """The names of a suite, as --list gives them: a line a name, then indented lines."""
    text = subprocess.run([program, suite, "--list"], capture_output=True, text=True, check=True).stdout
    return [line for line in text.splitlines() if line.startswith(suite + "/")]


def rates(program, suite, name, size, scratch):
    words = [program, suite, "--filter", name, "--runs", "5", "--size", str(size), "--scratch", scratch, "--json"]
    run = subprocess.run(words, capture_output=True, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(words)}: status {run.returncode}: {run.stderr.strip()}")
    return {(r["name"], r["threads"]): r["median_rate"] for r in json.loads(run.stdout)["results"] if "median_rate" in r}


def compare(other, ours, suite, name, options):
    """The ratios of each pair, by name and number of threads."""
    ratios = {}
    with tempfile.TemporaryDirectory(prefix="compare-speed-") as scratch:
        for pair in range(options.pairs):
            order = [other, ours] if pair % 2 == 0 else [ours, other]
            got = {program: rates(program, suite, name, options.size, scratch) for program in order}
            for key in got[ours].keys() & got[other].keys():
                ratios.setdefault(key, []).append(got[ours][key] / got[other][key])
    return ratios


def middle_half(values):
    values = sorted(values)
    quarter = len(values) // 4
    return values[quarter], values[-1 - quarter]


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other")
    parser.add_argument("--ours", default=str(here / "build/release/bin/ps-bench"))
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--size", default="0.05")
    parser.add_argument("suites", nargs="*", default=SUITES)
    options = parser.parse_intermixed_args()
    slower = []
    seen = set()
    for item in options.suites:
        suite, _, only = item.partition("=")
        for name in benchmarks(options.ours, suite):
            if only not in name or any(mark in name for mark in NOISE):
                continue
            for key, values in sorted(compare(options.other, options.ours, suite, name, options).items()):
                if key in seen and not key[0].startswith("limits/"):
                    continue
                seen.add(key)
                low, high = middle_half(values)
                median = statistics.median(values)
                if median < 0.95 and high < 0.95 and not any(mark in key[0] for mark in NOISE):
                    slower.append(key[0])
                print(f"{key[0]:44} {key[1]} threads {median:6.3f} ({low:.2f} to {high:.2f})", flush=True)
    print(f"slower: {', '.join(slower) or 'none'}")
    sys.exit(1 if slower else 0)


main()
