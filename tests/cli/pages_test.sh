#!/bin/bash
# Manual pages say what the programs do: generated parts are up to date, examples run, every program has its page.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"

pages=("$PS_SOURCE"/man/man*/*.[0-9])

check_every_program_has_a_page() {
  local program page
  for program in $(programs); do
    page=$PS_SOURCE/man/man1/$program.1
    [[ -e $page ]] || fail "$program has no page $page"
    grep -qF "BEGIN GENERATED $program --dump-man-options" "$page" || fail "$page: its OPTIONS are not generated"
  done
}

# The shell lines of a page's displays: those after "$ ", with their continuations.
commands_of() {
  awk '
    /^\.Bd .*-literal/ { display = 1; next }
    /^\.Ed/ { display = continued = 0; next }
    !display { next }
    /^\$ / || continued {
      line = continued ? $0 : substr($0, 3)
      gsub(/\\&/, "", line)
      gsub(/\\-/, "-", line)
      gsub(/\\\(aq/, "\047", line)
      gsub(/\\\(dq/, "\"", line)
      gsub(/\\e/, "\\", line)
      print line
      continued = line ~ /[\\|]$/
    }
  ' "$1"
}

# An installed package has no folder share/jobs: examples name ready-made jobs without a folder.
check_jobs_by_name() {
  if commands_of "$1" | grep -n 'share/jobs'; then fail "$1: the examples above name files of the source tree"; fi
}

# All examples of a page, one after the other in one folder that holds the tree's share/.  A filter that a closed pipe
# ended (141) did what it should.
run_examples() {
  local page=$1 folder
  folder=$scratch/$(basename "$page")
  mkdir "$folder"
  {
    echo "set -o pipefail; trap 'status=\$?; ((status == 141)) || exit \$status' ERR"
    commands_of "$page"
  } >"$folder/.commands"
  (($(wc -l <"$folder/.commands") > 1)) || return 0
  cp -r "$PS_SOURCE/share" "$folder/share"
  local status=0
  (cd "$folder" && PATH=$PS_BIN:$PATH bash .commands >.output 2>&1 </dev/null) || status=$?
  if ((status != 0 && status != 141)); then
    cat "$folder/.commands" "$folder/.output" >&2
    fail "the examples of $page ended with status $status"
  fi
  echo "$(basename "$page"): $(($(wc -l <"$folder/.commands") - 1)) lines of examples ran"
}

[[ -n $(programs) ]] || fail "no programs in $PS_BIN"
check_every_program_has_a_page
for page in "${pages[@]}"; do check_jobs_by_name "$page"; done
"$PS_SOURCE/man/update.sh" "$PS_BIN" --check || fail "generated parts are out of date; run man/update.sh $PS_BIN"
for page in "${pages[@]}"; do run_examples "$page"; done

need mandoc
mandoc -T lint -W warning "${pages[@]}" || fail "mandoc finds the faults above"
echo "${#pages[@]} pages agree with the programs"
