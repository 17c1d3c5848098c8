#!/bin/bash
# ps-datagen on the command line: what it lists, refuses, writes, and how it ends.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

datagen=$PS_BIN/ps-datagen
kinds=(sparse-binary sparse-float ctr criteo language dense)

check_kinds_are_listed() {
  "$datagen" --list-kinds >"$scratch/kinds"
  local kind
  for kind in "${kinds[@]}"; do
    grep -qx "$kind" "$scratch/kinds" || fail "--list-kinds does not name $kind"
    [[ $("$datagen" "$kind" --samples 7 | wc -l) == 7 ]] || fail "$kind: not a line an example"
  done
}

# check_refused TEXT ARGUMENT...: ends with status 2 and a message that holds TEXT.
check_refused() {
  local text=$1
  shift
  expect_status 2 "$datagen" "$@"
  [[ ! -s $scratch/out ]] || fail "'$*' wrote something"
  expect_text "$scratch/err" "$text"
}

check_wrong_flags_are_refused() {
  check_refused "KIND: unknown value 'ctrr'" ctrr
  check_refused "missing KIND"
  check_refused "--dim: 'many' is not an integer" ctr --dim many
  check_refused "--dim: 0 is out of range" dense --dim 0
  check_refused "--nnz: 5:1 is out of range" sparse-binary --nnz 5:1
  check_refused "--nnz: a row cannot have more ids than --dim" sparse-binary --dim 10
  check_refused "--classes: not a parameter of ctr" ctr --classes 3
  check_refused "'fast' is not a rate" ctr --rate fast
  check_refused "did you mean 'records'?" ctr --format record
  check_refused "cannot hold sentences" language --format libsvm
  check_refused "cannot hold values" sparse-float --format paddle_sparse_binary
  check_refused "cannot hold the dense slot" dense --format paddle_sparse_binary
  check_refused "standard output holds the data" ctr --truth -
  check_refused "'$scratch/both' holds the data; name another file" ctr --output "$scratch/both" --truth "$scratch/both"
  check_refused "holds the data; name another file" ctr --output "$scratch/both" --truth "$scratch/./both"
  check_refused "no such file" ctr --output "$scratch/none/data"
}

check_the_truth_joins_what_standard_error_has() {
  (
    echo before
    "$datagen" ctr --samples 10 --output "$scratch/data" --truth /dev/stderr 2>&1
    echo after
  ) >"$scratch/all"
  [[ $(head -n 1 "$scratch/all") == before && $(tail -n 1 "$scratch/all") == after ]] || fail "$(cat "$scratch/all")"
  grep -q '"kind": "ctr"' "$scratch/all" || fail "no truth: $(cat "$scratch/all")"
}

check_a_closed_pipe_ends_it_quietly() {
  local status=0
  "$datagen" sparse-binary --samples inf 2>"$scratch/err" | head -n 1 >"$scratch/line" || status=$?
  [[ $status == 0 || $status == 141 ]] || fail "a closed pipe gave status $status"
  [[ ! -s $scratch/err ]] || fail "a closed pipe is talked about: $(cat "$scratch/err")"
  grep -q '^0,[01],' "$scratch/line" || fail "not a line of paddle_sparse_binary: $(cat "$scratch/line")"
}

check_truth_goes_to_its_file() {
  "$datagen" ctr --samples 20000 --output "$scratch/data" --truth "$scratch/truth"
  expect_text "$scratch/truth" '"samples": 20000'
  grep -q '"auc": 0\.8' "$scratch/truth" || fail "no AUC in $(cat "$scratch/truth")"
  "$datagen" ctr --samples 100 --output "$scratch/data" --truth - >"$scratch/shown"
  expect_text "$scratch/shown" '"log_loss"'
  mkfifo "$scratch/truths"
  timeout 60 cat "$scratch/truths" >"$scratch/read" &
  "$datagen" ctr --samples 100 --output "$scratch/data" --truth "$scratch/truths"
  [[ -p $scratch/truths ]] || fail "the truth has taken the place of a pipe"
  wait $!
  cmp "$scratch/read" "$scratch/shown"
}

check_an_interrupt_leaves_the_truth() {
  mkfifo "$scratch/pipe"
  # A shell ignores SIGINT for its background jobs; env gives it its default back.
  env --default-signal=INT "$datagen" ctr --samples inf --truth "$scratch/interrupted" >"$scratch/pipe" 2>/dev/null &
  local process=$! status=0
  exec 3<"$scratch/pipe"
  head -c 1000 <&3 >/dev/null
  kill -INT "$process"
  cat <&3 >/dev/null
  wait "$process" || status=$?
  [[ $status == 130 ]] || fail "Ctrl-C gave status $status, expected 130"
  expect_text "$scratch/interrupted" '"auc"'
}

check_compressed_text_is_the_same_text() {
  need zstd gzip
  "$datagen" criteo --samples 2000 --threads 3 >"$scratch/plain"
  "$datagen" criteo --samples 2000 --compress zstd | zstd -dc | cmp - "$scratch/plain" || fail "zstd differs"
  "$datagen" criteo --samples 2000 --compress gzip | gzip -dc | cmp - "$scratch/plain" || fail "gzip differs"
}

check_a_terminal_gets_no_binary() {
  need script
  script -qec "'$datagen' ctr --samples 1 --format records" "$scratch/typescript" >/dev/null && fail "records on a terminal"
  expect_text "$scratch/typescript" "binary data do not go to a terminal"
}

check_a_full_disk_is_status_6() {
  [[ -e /dev/full ]] || skip "no /dev/full"
  expect_status 6 "$datagen" dense --output /dev/full
}

# 300 examples at 1000 a second take 0.2 s at least, since each block waits for its time; and not a minute.
check_the_rate_is_kept() {
  local begin end
  begin=$(date +%s%N)
  "$datagen" ctr --samples 300 --rate 1k/s >/dev/null
  end=$(date +%s%N)
  ((end - begin > 200000000 && end - begin < 60000000000)) || fail "300 examples took $((end - begin)) ns at 1k/s"
}

check_kinds_are_listed
check_wrong_flags_are_refused
check_the_truth_joins_what_standard_error_has
check_a_closed_pipe_ends_it_quietly
check_truth_goes_to_its_file
check_an_interrupt_leaves_the_truth
check_compressed_text_is_the_same_text
check_a_terminal_gets_no_binary
check_a_full_disk_is_status_6
check_the_rate_is_kept
echo "ps-datagen lists, refuses, writes and ends as it should"
