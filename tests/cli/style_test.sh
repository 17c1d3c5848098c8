#!/bin/bash
# The rules of the house style (CONTRIBUTING.md) that a machine can check.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$PS_SOURCE"

kMaxLines=600
broken=
report() {
  echo "$*"
  broken=yes
}

mapfile -t code < <(find lib cmd tests -name '*.h' -o -name '*.cc' -o -name '*.cu' | sort)
mapfile -t cmake < <(find . -name CMakeLists.txt -not -path './build/*' -o -path './share/cmake/*.cmake' | sed 's|^\./||' | sort)
mapfile -t scripts < <(find tests examples man .ci -name '*.sh' -o -path .ci/run | sort)

check_sizes() {
  local lines file
  while read -r lines file; do
    if [[ $file != total ]] && ((lines >= kMaxLines)); then report "$file: $lines lines, expected fewer than $kMaxLines"; fi
  done < <(wc -l "${code[@]}" "${scripts[@]}")
}

# lib/base/text.h is guarded by PS_BASE_TEXT_H_.
check_guards() {
  local header guard
  for header in $(find lib tests -name '*.h'); do
    guard=PS_$(tr 'a-z/.-' 'A-Z___' <<<"${header#lib/}")_
    grep -qx "#ifndef $guard" "$header" && grep -qx "#define $guard" "$header" || report "$header: no guard $guard"
  done
}

check_words() {
  local marks='TO''DO|FIX''ME|XX''X|HA''CK'
  if grep -nwE "$marks" "${code[@]}" "${scripts[@]}"; then report "the lines above put work off"; fi
  if grep -nE 'GTEST''_SKIP' "${code[@]}"; then report "the tests above skip"; fi
  if grep -nE '^#\s*if(def)?\b' "${code[@]}"; then report "the lines above choose at compile time"; fi
}

# A header that its own source includes first compiles alone; the build compiles the others (tests/CMakeLists.txt).
check_headers() {
  local header source
  for header in $(find lib -name '*.h'); do
    source=${header%.h}.cc
    [[ -e $source ]] || continue
    [[ $(grep -m1 '#include' "$source") == "#include \"${header#lib/}\"" ]] || report "$source: its own header does not come first"
  done
}

check_scripts() {
  local script
  for script in "${scripts[@]}"; do bash -n "$script" || report "$script: bash cannot read it"; done
}

check_format() {
  command -v clang-format >/dev/null || return 0
  printf '%s\n' "${code[@]}" | xargs -P 2 -n 20 clang-format --dry-run --Werror 2>"$scratch/format" && return
  grep -oE '(lib|cmd|tests)/[A-Za-z0-9_/]+\.(h|cc|cu):' "$scratch/format" | sort -u
  report "the files above differ from what clang-format makes of them"
}

# find_riddles FILE...: prints the comment sentences that begin with a word after which no subject can follow: "Whether
# all is done." says less than "Returns true if no task is queued."  A sentence begins with a comment, or after a full
# stop, a colon or a semicolon; a line that goes on with the sentence of the line before is none.
find_riddles() {
  awk '
    BEGIN {
      riddle = "(What|Whether|Of|Who|Whose|Those)"
      ends = "[.:;?!][\"\x27)]*"
    }
    FNR == 1 {
      mark = FILENAME ~ /\.(h|cc|cu)$/ ? "//" : "#"
      before = ""
    }
    {
      at = match($0, "(^|[ \t])" mark "([ \t]|$)")
      if (at == 0) {
        before = ""
        next
      }
      own_line = substr($0, 1, at) ~ /^[ \t]*(\/|#)?$/
      text = substr($0, at + RLENGTH)
      sub(/^[ \t]+/, "", text)
      begins = !own_line || before == "" || before ~ (ends "$")
      if ((begins && text ~ ("^" riddle " ")) || text ~ (ends " +" riddle " ")) print FILENAME ":" FNR ": " text
      before = own_line ? text : ""
    }' "$@"
}

# Folders whose comments are still to be rewritten.
kRiddlesAllowed='^(lib/(collective/net|math|membership|model|net|simulate|train)|tests/sim)/'

check_comments() {
  local riddles
  cat >"$scratch/riddles.h" <<'EOF'
// What is planted here.
// A sentence that names
// Whether as a word goes on.  Of these lines, each is found.
int one;  // Those of a trailing comment.
// The first ends here:
// Who begins the next.
// "Of" in quotes, and Office, are no riddles; nor is one whose word is small.
EOF
  [[ $(find_riddles "$scratch/riddles.h" | wc -l) == 4 ]] || report "the rule on comments misses what is planted"
  riddles=$(printf '%s\n' "${code[@]}" "${cmake[@]}" "${scripts[@]}" | grep -vE "$kRiddlesAllowed" | {
    mapfile -t files
    find_riddles "${files[@]}"
  })
  [[ -z $riddles ]] || report "$riddles"$'\n'"the comments above begin without a subject"
}

check_sizes
check_comments
check_guards
check_words
check_headers
check_scripts
check_format
[[ -z $broken ]] || fail "house style"
echo "${#code[@]} files of C++ and ${#scripts[@]} scripts keep the house style"
