#!/bin/bash
# Writes what programs say about themselves into their manual pages, between lines of the form
#   .\" BEGIN GENERATED ps-train --dump-man-options
#   .\" END GENERATED
#
# usage: man/update.sh BIN [--check]
# BIN holds the programs.  With --check nothing is written: the differences are printed, and the status is 1 if any.
set -euo pipefail

bin=$(realpath "$1")
mode=${2:-}
man=$(dirname "$(realpath "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The page on standard output, each generated part made anew.
generate() {
  local line inside=
  while IFS= read -r line; do
    if [[ $line == '.\" END GENERATED' ]]; then inside=; fi
    if [[ -z $inside ]]; then printf '%s\n' "$line"; fi
    if [[ $line == '.\" BEGIN GENERATED '* ]]; then
      local command
      read -ra command <<<"${line#*GENERATED }"
      "$bin/${command[0]}" "${command[@]:1}"
      inside=yes
    fi
  done <"$1"
  if [[ -n $inside ]]; then
    echo "$1: no END GENERATED after BEGIN GENERATED" >&2
    return 1
  fi
}

status=0
for page in "$man"/man*/*.[0-9]; do
  if ! grep -q '^\.\\" BEGIN GENERATED ' "$page"; then continue; fi
  generate "$page" >"$scratch/page"
  if cmp -s "$page" "$scratch/page"; then continue; fi
  if [[ $mode == --check ]]; then
    diff -u "$page" "$scratch/page" || true
    status=1
  else
    cat "$scratch/page" >"$page"
    echo "updated $page"
  fi
done
exit $status
