#!/bin/bash
# Installs the Debian 12 packages that pskit is built from, as far as they are missing.
#
# usage: examples/setup.sh [--tests | --bench]
# With --tests also what tests/run.sh and .ci/run use; with --bench also what ps-bench sets pskit beside; the
# libraries of these must be there when it is built.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config
  libboost1.81-dev libboost-context1.81-dev libboost-program-options1.81-dev libeigen3-dev nlohmann-json3-dev
  libssl-dev libzstd-dev zlib1g-dev libxxhash-dev
)
test_packages=(
  ccache clang clang-format libclang-rt-14-dev lld libgmock-dev libgtest-dev
  bash-completion chromium curl dpkg-dev etcd-client etcd-server file fish gnuplot-nox iproute2 jq liblinear-tools libopenmpi-dev lintian mandoc openmpi-bin openssl procps prometheus python3 python3-numpy python3-yaml zsh zstd
)
bench_packages=(libabsl-dev libcuckoo-dev libgloo-dev liblinear-tools libopenmpi-dev librocksdb-dev openmpi-bin python3-numpy python3-torch robin-map-dev)
case ${1:-} in
  "") ;;
  --tests) packages+=("${test_packages[@]}") ;;
  --bench) packages+=("${bench_packages[@]}") ;;
  *)
    echo "usage: $0 [--tests | --bench]" >&2
    exit 2
    ;;
esac

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $state == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then exit 0; fi

as_root=()
if ((EUID != 0)); then as_root=(sudo); fi
echo "installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
