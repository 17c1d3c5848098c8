#!/bin/bash
# cmake --install and cpack put everything where a Unix user expects it, and lintian has no errors for the package;
# where nvcc is, a build with CUDA makes one too.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need cmake cpack dpkg-deb dpkg-shlibdeps

build=$(dirname "$PS_BIN")

# check_tree USR SUFFIX: the installed files under USR; SUFFIX is what compression adds to pages.
check_tree() {
  local usr=$1 suffix=$2 file program
  for program in $(programs); do
    for file in "bin/$program" "share/man/man1/$program.1$suffix" "share/bash-completion/completions/$program" \
      "share/zsh/vendor-completions/_$program" "share/fish/vendor_completions.d/$program.fish"; do
      [[ -s $usr/$file ]] || fail "$file is not installed"
    done
    [[ $("$usr/bin/$program" --version) == "$program "* ]] || fail "the installed $program does not run"
  done
  for file in share/man/man5/ps-job.5$suffix share/man/man7/ps.7$suffix share/man/man7/pskit.7$suffix share/doc/pskit/README.md \
    share/pskit/jobs/quickstart.json share/pskit/recipes/logistic.json lib/systemd/system/ps-{serve,train}@.service; do
    [[ -s $usr/$file ]] || fail "$file is not installed"
  done
}

cmake --install "$build" --prefix "$scratch/install" >/dev/null
check_tree "$scratch/install" ""
[[ -s $scratch/install/share/doc/pskit/LICENSE ]] || fail "LICENSE is not installed"

# A folder in which ps-train alone is built, as after the quickstart, installs it, and leaves out the rest.
configured=$(sed -n 's/^CMAKE_CACHEFILE_DIR:INTERNAL=//p' "$build/CMakeCache.txt")
few=$scratch/few
mkdir -p "$few/bin" "$few/tests" "$few/man"
for script in cmake_install.cmake tests/cmake_install.cmake; do
  sed "s|$configured/|$few/|g" "$build/$script" >"$few/$script"
done
cp "$build/man/pskit.7" "$few/man"
cp "$build/bin/ps-train" "$few/bin"
cmake --install "$few" --prefix "$scratch/few_installed" >/dev/null || fail "what is not built is not left out"
"$scratch/few_installed/bin/ps-train" --list jobs >"$scratch/jobs"
expect_text "$scratch/jobs" quickstart
[[ $(ls "$scratch/few_installed/bin") == ps-train ]] || fail "more than what is built is installed"

(cd "$scratch" && cpack --config "$build/CPackConfig.cmake" -B "$scratch/package" >"$scratch/cpack" 2>&1) ||
  { cat "$scratch/cpack"; fail "cpack makes no package"; }
packages=("$scratch"/package/*.deb)
package=${packages[0]}
dpkg-deb --info "$package" >"$scratch/info"
for library in libboost-program-options1.81.0 libzstd1 libstdc++6; do expect_text "$scratch/info" "$library"; done
dpkg-deb -x "$package" "$scratch/root"
check_tree "$scratch/root/usr" .gz
for file in copyright changelog.Debian.gz; do
  [[ -s $scratch/root/usr/share/doc/pskit/$file ]] || fail "$file is not in the package"
done
dpkg --dry-run --force-not-root --force-depends -i "$package" >"$scratch/dpkg" 2>&1 || fail "dpkg would not install: $(cat "$scratch/dpkg")"

# check_cuda_package NVCC: a build with PS_CUDA makes a package of another name, which takes the place of this one and depends
# on NVIDIA's package of cuBLAS.  The program in it is a stand-in that needs cuBLAS, since to build all of them takes long.
check_cuda_package() {
  local cuda=$scratch/cuda version field value rpath made
  version=$(dpkg-deb --field "$package" Version)
  cmake -S "$PS_SOURCE" -B "$cuda" -G Ninja -DPS_CUDA=ON -DCMAKE_BUILD_TYPE=Release -DPS_NVCC="$1" \
    -DCUDAToolkit_ROOT="$(dirname "$(dirname "$(realpath "$1")")")" >"$scratch/configured" 2>&1 ||
    fail "a build with CUDA cannot be configured: $(tail -5 "$scratch/configured")"
  rpath=$(sed -n 's/.*OLD_RPATH "\(.*\)".*/\1/p' "$cuda/cmake_install.cmake" | head -1)
  mkdir -p "$cuda/bin"
  echo 'extern "C" unsigned long cublasGetCudartVersion(); int main() { return cublasGetCudartVersion() == 0; }' >"$scratch/needs.cc"
  "${CXX:-g++}" -o "$cuda/bin/ps-train" "$scratch/needs.cc" -L"${rpath%%:*}" -l:libcublas.so -Wl,-rpath,"$rpath"
  (cd "$scratch" && cpack --config "$cuda/CPackConfig.cmake" -B "$scratch/cuda_package" >"$scratch/cpack" 2>&1) ||
    { cat "$scratch/cpack"; fail "cpack makes no package of a build with CUDA"; }
  made=$scratch/cuda_package/pskit-cuda_${version}_$(dpkg --print-architecture).deb
  [[ -s $made ]] || fail "$(basename "$made") is not among $(ls "$scratch/cuda_package")"
  for field in "Package: pskit-cuda" "Provides: pskit (= $version)" "Conflicts: pskit" "Replaces: pskit"; do
    value=$(dpkg-deb --field "$made" "${field%%:*}")
    [[ $value == "${field#*: }" ]] || fail "the package has ${field%%:*}: $value, expected ${field#*: }"
  done
  value=$(dpkg-deb --field "$made" Depends)
  [[ ", $value," == *", libcublas-$("$1" --version | sed -nE 's/.*release ([0-9]+)\.([0-9]+).*/\1-\2/p'),"* ]] ||
    fail "the package depends on $value"
  [[ $value == *libc6* && $(dpkg-deb --field "$package" Depends) != *cublas* ]] || fail "the packages depend on the wrong libraries"
  dpkg-deb -x "$made" "$scratch/cuda_root"
  [[ -x $scratch/cuda_root/usr/bin/ps-train && -s $scratch/cuda_root/usr/share/doc/pskit-cuda/copyright ]] ||
    fail "files are missing: $(dpkg-deb --contents "$made")"
  zcat "$scratch/cuda_root/usr/share/doc/pskit-cuda/changelog.Debian.gz" >"$scratch/changes"
  [[ $(head -1 "$scratch/changes") == "pskit-cuda ($version)"* ]] || fail "the changelog is of $(head -1 "$scratch/changes")"
  echo "$(basename "$made"): takes the place of pskit, and depends on $value"
}
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [[ -x $nvcc ]]; then
  check_cuda_package "$nvcc"
else
  echo "skipped: nvcc is not installed, so that nobody knows what the package of a build with CUDA says"
fi

# The units give a process little that it does not need: 2.0 of 10 at most is exposed.
if command -v systemd-analyze >/dev/null; then
  for unit in "$scratch"/install/lib/systemd/system/ps-{serve,train}@.service; do
    systemd-analyze security --offline=true --threshold=20 --no-pager "$unit" >"$scratch/exposure" 2>&1 ||
      { cat "$scratch/exposure"; fail "the unit $unit exposes more than 2.0"; }
    expect_text "$scratch/exposure" "Overall exposure level"
    grep -o "Overall exposure level.*[0-9.]*" "$scratch/exposure"
  done
else
  echo "skipped: systemd-analyze is not installed, so that nobody knows what the units expose"
fi

need lintian
lintian --fail-on none "$package" >"$scratch/lintian" 2>/dev/null || fail "lintian did not run"
if grep '^E:' "$scratch/lintian"; then fail "lintian has the errors above for $(basename "$package")"; fi
echo "$(basename "$package"): installs, and lintian has no errors"
