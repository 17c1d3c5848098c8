#!/bin/bash
# Fuzzes with every harness of build/fuzz in turn, each for its share of the hours, on all processors; then makes the
# grown corpora small.  What a harness has found goes into build/fuzz/found/NAME, and lets the rest go on; its inputs
# stay in build/fuzz/inputs/NAME, where the next run begins with them.  build/fuzz/corpus/NAME gets a least set of inputs
# that covers as much code, the smallest first, up to so many bytes; tests/fuzz/corpus may take them from there.
#
# usage: fuzz_all.sh HOURS [NAME...]      all harnesses unless named; the hours may have decimals
#   FUZZ_BYTES   bytes of corpus that a harness keeps: 262144 unless it is set
#   FUZZ_BUILD   the folder of the build: build/fuzz unless it is set
set -euo pipefail
cd "$(dirname "$0")/.."
build=${FUZZ_BUILD:-build/fuzz}
bytes=${FUZZ_BYTES:-262144}
if [[ ! ${1:-} =~ ^[0-9]+(\.[0-9]+)?$ ]]; then
  sed -n 's/^# usage: /usage: /p' "$0" >&2
  exit 2
fi
hours=$1
shift
names=("$@")
if (($# == 0)); then
  for binary in "$build"/bin/fuzz_*; do names+=("${binary##*/fuzz_}"); done
fi
for name in "${names[@]}"; do
  [[ -x $build/bin/fuzz_$name ]] || { echo "no $build/bin/fuzz_$name: cmake --build --preset fuzz builds harnesses" >&2; exit 2; }
done
seconds=$(awk -v hours="$hours" -v count="${#names[@]}" 'BEGIN { print int(hours * 3600 / count) }')
((seconds > 0)) || { echo "$hours hours are less than a second for each of ${#names[@]} harnesses" >&2; exit 2; }

# keep_least FROM TO: copies files, the smallest first, as long as all are within the bound.
keep_least() {
  local size file sum=0
  mkdir -p "$2"
  while read -r size file; do
    sum=$((sum + size))
    ((sum <= bytes)) || break
    cp "$1/$file" "$2"
  done < <(find "$1" -type f -printf '%s %f\n' | sort -n)
}

found=0
for name in "${names[@]}"; do
  harness=$build/bin/fuzz_$name
  seeds=tests/fuzz/corpus/$name
  inputs=$build/inputs/$name
  mkdir -p "$inputs" "$build/found/$name"
  echo "$name: $seconds seconds"
  "$harness" -fork="$(nproc)" -max_total_time="$seconds" -artifact_prefix="$build/found/$name/" "$inputs" "$seeds" \
    >"$build/found/$name.log" 2>&1 || { found=1 && echo "$name has found a fault: $build/found/$name.log" >&2; }
  rm -rf "$build/merged" "$build/corpus/$name"
  mkdir "$build/merged"
  "$harness" -merge=1 "$build/merged" "$seeds" "$inputs" >"$build/found/$name.merge" 2>&1 ||
    { found=1 && echo "the inputs of $name cannot be merged: $build/found/$name.merge" >&2; }
  keep_least "$build/merged" "$build/corpus/$name"
  echo "$name: $(find "$build/corpus/$name" -type f | wc -l) inputs kept of $(find "$inputs" "$seeds" -type f | wc -l)"
done
exit $found
