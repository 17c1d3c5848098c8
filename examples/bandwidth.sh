#!/bin/bash
# Shows what bandwidth costs: steps of dense momentum and of Deep Gradient Compression over links of 10 Gbit/s, 1 Gbit/s and
# 100 Mbit/s between two trainers, whose compute is a wait and whose bytes are real; as a table beside the published one,
# and as a picture.  As root the links are the system's own, else a limit in the transport.
#
# usage: examples/bandwidth.sh [OUTPUT [flags of ps-bench dgc, which replace those below]]
# Takes under two minutes once ps-bench is built; OUTPUT is a folder, output/bandwidth by default.
set -euo pipefail
cd "$(dirname "$0")/.."

output=${1:-output/bandwidth}
if (($# > 0)); then shift; fi
examples/setup.sh
export PATH=$PWD/build/release/bin:$PATH
if [[ ! -x build/release/bin/ps-bench ]]; then
  cmake --preset release >/dev/null
  cmake --build --preset release --target ps-bench
fi
mkdir -p "$output"

ps-bench dgc --bandwidth 10G,1G,100M --model resnet50 --runs 3 --save "$output/bandwidth.jsonl" "$@"
if command -v gnuplot >/dev/null; then
  share/plots/plot "$output/bandwidth" <"$output/bandwidth.jsonl"
else
  echo "no picture: gnuplot is not installed; Debian has it in gnuplot-nox"
fi
