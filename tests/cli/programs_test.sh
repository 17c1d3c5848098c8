#!/bin/bash
# The common behaviour of all programs: help, version, completions, exit statuses.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

check_help() {
  local program=$1
  expect_status 0 "$PS_BIN/$program" --help
  expect_text "$scratch/out" "usage: $program"
  [[ ! -s $scratch/err ]] || fail "$program --help talks on standard error"
  if grep -nE '^.{81}' "$scratch/out"; then fail "$program --help is wider than 80 columns"; fi
  (($(wc -l <"$scratch/out") <= 24)) || fail "$program --help is longer than a screen of 24 lines"
  expect_status 0 "$PS_BIN/$program" --help-all
  if grep -nE '^.{81}' "$scratch/out"; then fail "$program --help-all is wider than 80 columns"; fi
  expect_status 0 "$PS_BIN/$program" --version
  [[ $(wc -l <"$scratch/out") == 1 ]] || fail "$program --version is not one line"
}

check_refusals() {
  local program=$1
  expect_status 2 "$PS_BIN/$program" --no-such-flag
  expect_text "$scratch/err" "$program: unknown flag '--no-such-flag'"
  expect_text "$scratch/err" "; try '$program --help'"
  [[ ! -s $scratch/out ]] || fail "$program talks on standard output when refusing"
  expect_status 6 bash -c "'$PS_BIN/$program' --help >/dev/full"
}

check_completions() {
  local program=$1
  "$PS_BIN/$program" --dump-completion bash >"$scratch/$program.bash"
  bash -n "$scratch/$program.bash" || fail "bash cannot read the completion of $program"
  # Completes "ps-x --hel" and, where a flag has choices, "ps-x --progress n".
  expect_status 0 bash -c "source '$scratch/$program.bash'; complete -p $program
    COMP_WORDS=($program --hel); COMP_CWORD=1; _${program//-/_}; echo \${COMPREPLY[@]}
    COMP_WORDS=($program --progress n); COMP_CWORD=2; _${program//-/_}; echo \${COMPREPLY[@]}"
  expect_text "$scratch/out" "--help"
  "$PS_BIN/$program" --help-all >"$scratch/help"
  if grep -q -- --progress "$scratch/help"; then expect_text "$scratch/out" "never"; fi

  "$PS_BIN/$program" --dump-completion zsh >"$scratch/_$program"
  if command -v zsh >/dev/null; then zsh -n "$scratch/_$program" || fail "zsh cannot read the completion of $program"; fi
  "$PS_BIN/$program" --dump-completion fish >"$scratch/$program.fish"
  if command -v fish >/dev/null; then
    export HOME=$scratch
    [[ $(fish -c "source '$scratch/$program.fish'; complete -C '$program --versio'") == --version* ]] ||
      fail "fish does not complete $program --version"
  fi
}

[[ -n $(programs) ]] || fail "no programs in $PS_BIN"
for program in $(programs); do
  check_help "$program"
  check_refusals "$program"
  check_completions "$program"
  echo "$program: help, version, refusals and completions are in order"
done
