#!/bin/bash
# ps-bench on the command line: what it lists, prints, refuses, compares, and how it ends.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

bench=$PS_BIN/ps-bench
quick=(--size 0.0001 --runs 2 --threads 1 --scratch "$scratch")
one=(limits --filter limits/hash "${quick[@]}")

check_benchmarks_are_listed() {
  "$bench" --list >"$scratch/list"
  local name
  for name in limits/read limits/lines limits/tcp/round-trip limits/disk/write codec/int8/encode dgc/step; do
    grep -qx "$name" "$scratch/list" || fail "--list does not name $name"
  done
}

check_refused() {
  local text=$1
  shift
  expect_status 2 "$bench" "$@"
  [[ ! -s $scratch/out ]] || fail "'$*' printed something"
  expect_text "$scratch/err" "$text"
}

check_wrong_flags_are_refused() {
  check_refused "missing SUITE"
  check_refused "SUITE: unknown value 'limit' (did you mean 'limits'?)" limit
  check_refused "no benchmark has 'nothing' in its name" limits --filter nothing
  check_refused "--threads: 'two' is not a number of threads" limits --threads 1,two
  check_refused "--threads: '0' is not a number of threads" limits --threads 0
  check_refused "--size: 'huge' is not tiny, small, full or a factor" limits --size huge
  check_refused "--runs: 0 is too small" limits --runs 0
  check_refused "--device: found 'gpu', expected 'emulated', or a GPU, as 'cuda:0'" gpu --device gpu
  check_refused "--fail-below: needs --baseline FILE" limits --fail-below 0.9
  # It is refused before anything is measured.
  echo '{"results": []}' >"$scratch/empty"
  check_refused "--fail-below" "${one[@]}" --baseline "$scratch/empty" --fail-below abc
  check_refused "--json-stream: give this or --json" limits --json --json-stream
  check_refused "no such file" limits --baseline "$scratch/none"
  echo '{"results": 1}' >"$scratch/other"
  check_refused "not what ps-bench --json prints" limits --baseline "$scratch/other"
  expect_status 2 "$bench" limits --filter disk/write "${quick[@]}" --scratch "$scratch/none"
  expect_text "$scratch/err" "limits/disk/write: cannot make a file in '$scratch/none'"
}

# The limit that a benchmark is set beside is measured too, and first.
check_the_table_names_the_machine() {
  "$bench" "${one[@]}" >"$scratch/table"
  local word
  for word in processor memory kernel compiler pskit runs; do
    grep -q "^$word  *[^ ]" "$scratch/table" || fail "the table does not tell the $word"
  done
  [[ $(awk '/^limits/ {print $1}' "$scratch/table" | tr '\n' ' ') == "limits/read limits/hash " ]] ||
    fail "not the limit, then the benchmark: $(cat "$scratch/table")"
  grep -qE '^limits/hash .* [0-9.]+ [GMk]?B/s .* [0-9.]+ %' "$scratch/table" || fail "no rate and share of the limit"
}

# The default measures on small data: a full run takes minutes and gigabytes.
check_the_default_size_is_small() {
  "$bench" limits --filter limits/hash --runs 1 --threads 1 --scratch "$scratch" >"$scratch/default"
  "$bench" limits --filter limits/hash --runs 1 --threads 1 --scratch "$scratch" --size small >"$scratch/small"
  grep -q '^runs  *1 of each, size 0\.' "$scratch/default" || fail "the default size: $(cat "$scratch/default")"
  [[ $(grep '^runs' "$scratch/default") == "$(grep '^runs' "$scratch/small")" ]] || fail "another size than small"
}

check_json_is_one_document() {
  need jq
  "$bench" "${one[@]}" --json >"$scratch/base.json"
  jq -e '.machine.processor and .runs == 2 and (.results | length == 2)' "$scratch/base.json" >"$scratch/out" ||
    fail "not the document expected: $(cat "$scratch/base.json")"
  jq -e '.results[1] | .name == "limits/hash" and (.seconds | length == 2) and .limit.share > 0' "$scratch/base.json" \
    >"$scratch/out" || fail "not the result expected: $(cat "$scratch/base.json")"
  "$bench" "${one[@]}" --json-stream >"$scratch/lines"
  [[ $(wc -l <"$scratch/lines") == 3 ]] || fail "not a line for the machine and for each result"
  jq -e . "$scratch/lines" >"$scratch/out" || fail "a line is not JSON"
}

# A baseline a thousand times slower is passed, one a thousand times faster is not.
check_the_baseline_decides_the_status() {
  jq '.results[].median_rate /= 1000' "$scratch/base.json" >"$scratch/slow.json"
  jq '.results[].median_rate *= 1000' "$scratch/base.json" >"$scratch/fast.json"
  expect_status 0 "$bench" "${one[@]}" --baseline "$scratch/slow.json" --fail-below 0.9
  expect_status 9 "$bench" "${one[@]}" --baseline "$scratch/fast.json" --fail-below 0.9
  expect_text "$scratch/err" "limits/read, threads 1: "
  expect_text "$scratch/err" "limits/hash, threads 1: "
  expect_text "$scratch/err" "times the baseline, expected 0.9 or more"
  expect_text "$scratch/out" "baseline"
  expect_status 0 "$bench" "${one[@]}" --baseline "$scratch/fast.json"
}

# The device is described, and its answers are checked; a GPU that is not there is no failure.
check_the_emulated_gpu_is_measured() {
  "$bench" gpu --filter find --device emulated --size tiny --runs 1 >"$scratch/table"
  grep -q '^device  *emulated on the processor, whose times mean nothing' "$scratch/table" ||
    fail "the table does not tell the device: $(cat "$scratch/table")"
  grep -qE '^gpu/find/full .* [0-9.]+ [GMk]? ?keys/s .* load 1$' "$scratch/table" ||
    fail "no rate of find in a full table: $(cat "$scratch/table")"
  "$bench" gpu --filter copy --device cuda:1023 --size tiny --runs 1 >"$scratch/table"
  grep -q "^gpu/copy .* skipped: 'cuda:1023': " "$scratch/table" ||
    fail "a GPU that is not there is not skipped: $(cat "$scratch/table")"
}

# Without torch or a GPU the peers are skipped; the script is right Python all the same.
check_peers_on_a_gpu_are_measured_or_skipped() {
  need python3
  python3 -B "$PS_SOURCE/share/bench/gpu_peers.py" --filter none >"$scratch/peers" || fail "gpu_peers.py failed"
  [[ $(wc -l <"$scratch/peers") == 1 ]] && grep -qE '^(skipped: |device  )' "$scratch/peers" ||
    fail "neither skipped nor a device: $(cat "$scratch/peers")"
}

# The data that recipes.sh makes: dollars and years again, and an id as often as its count says.
check_data_of_recipes() {
  need python3
  local made="python3 -B $PS_SOURCE/share/bench/recipe_data.py"
  echo "6 0.0307 -1.1503 1.1347 2.8314 -0.2211 -0.0354 1 11 1 12 1 13 1 14 1 15 1 16 1 17 1 18 1 19 1 20 1 21 1 1" \
    >"$scratch/adult"
  $made adult "$scratch/adult" "$scratch/adult.csv" || fail "no table is made"
  # The second number is of the logarithm, in four digits.
  tail -n 1 "$scratch/adult.csv" | grep -qE '^39,775[0-9]{2},13,217[0-9],0,40,w11,w12,w13,w14,w15,w16,w17,w18,high$' ||
    fail "not the census: $(cat "$scratch/adult.csv")"
  echo "3 7:2 9:1" >"$scratch/counts"
  $made lines "$scratch/counts" "$scratch/lines" || fail "no lines are made"
  [[ $(cat "$scratch/lines") == "__label__3 7 7 9" ]] || fail "not these words: $(cat "$scratch/lines")"
}

# Whole programs of the same build, at a size that a test can wait for; their answers are checked.
check_whole_programs() {
  need jq
  mkdir "$scratch/programs"
  "$bench" process --filter process/logistic-passes "${quick[@]}" --size 0.001 --scratch "$scratch/programs" \
    --cache "$scratch/cache" --json >"$scratch/process.json"
  jq -e '.results[-1] | .name == "process/logistic-passes" and .figures.cores == 1 and .figures.MB > 1 and
         .figures.rows > 0 and .figures.loss > 0 and (.seconds | length == 2)' "$scratch/process.json" \
    >"$scratch/out" || fail "not the result expected: $(cat "$scratch/process.json")"
  "$bench" process --filter process/served/fc-demo "${quick[@]}" --size 0.1 --scratch "$scratch/programs" \
    --cache "$scratch/cache" --json >"$scratch/served.json"
  jq -e '.results | map({key: .name, value: .figures}) | from_entries |
         (.["process/served/fc-demo"] | .["CPU s"] > .["server CPU s"] and .["server CPU s"] > 0) and
         (.["process/served/fc-demo/alone"] | has("server CPU s") | not)' "$scratch/served.json" \
    >"$scratch/out" || fail "the processor time of the server is not counted: $(cat "$scratch/served.json")"
  [[ -z $(ls -A "$scratch/programs") ]] || fail "files are left in the scratch folder"
}

# The data are those that ps-datagen writes, and stay.
check_data_are_kept() {
  local file
  file=$(echo "$scratch"/cache/sparse-binary-1000-*.libsvm)
  "$PS_BIN/ps-datagen" sparse-binary --samples 1000 --nnz 40:40 --dim 18000 --zipf 1.1 --seed 1 --format libsvm |
    cmp - "$file" || fail "the data are not those of ps-datagen"
}

check_bars_are_reported() {
  need jq
  local bars=(limits table --filter table/grow "${quick[@]}" --cache "$scratch/cache" --bars)
  "$bench" "${bars[@]}" >"$scratch/bars"
  expect_text "$scratch/bars" "hold at size 1 alone"
  [[ $(grep -c "^table: " "$scratch/bars") == 3 ]] || fail "not a line for each bar: $(cat "$scratch/bars")"
  "$bench" "${bars[@]}" --markdown >"$scratch/bars"
  expect_text "$scratch/bars" "|---|---|---|---|---|---|---|---|"
  expect_text "$scratch/bars" "| <= 20 x median | <= 5 x median |"
  "$bench" "${bars[@]}" --json >"$scratch/bars"
  jq -e '.bars | length == 3 and .[2].must == 20 and .[2].measured > 0' "$scratch/bars" >"$scratch/out" ||
    fail "not the bars expected: $(cat "$scratch/bars")"
  check_refused "--markdown: needs --bars" limits --markdown
  check_refused "no benchmark with a bar has '' in its name" limits --bars
}

check_nothing_is_left_behind() {
  mkdir "$scratch/disk"
  "$bench" limits --filter disk "${quick[@]}" --scratch "$scratch/disk" >"$scratch/out"
  [[ -z $(ls -A "$scratch/disk") ]] || fail "files are left in the scratch folder"
}

check_benchmarks_are_listed
check_wrong_flags_are_refused
check_the_table_names_the_machine
check_the_default_size_is_small
check_nothing_is_left_behind
check_the_emulated_gpu_is_measured
check_peers_on_a_gpu_are_measured_or_skipped
check_data_of_recipes
check_whole_programs
check_data_are_kept
check_bars_are_reported
check_json_is_one_document
check_the_baseline_decides_the_status
echo "ps-bench lists, prints, refuses, compares and ends as it should"
