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
# stop, a colon or a semicolon; a line that goes on with the sentence of the line before is none.  In a comment behind
# code, a semicolon must not be followed by a clause that hangs on the one before ("; of which", "; whose") either.
find_riddles() {
  awk '
    BEGIN {
      riddle = "(What|Whether|Of|Who|Whose|Those|Whom|Nobody is|(By|Under|In|On|To|At|For|From|With) (which|who|whom|whose))"
      clause = "; (whom|whose|(of|by|under|in|on|to|at|for|from|with) (which|whom|whose|whoever)) "
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
      if ((begins && text ~ ("^" riddle " ")) || text ~ (ends " +" riddle " ") || (!own_line && text ~ clause))
        print FILENAME ":" FNR ": " text
      before = own_line ? text : ""
    }' "$@"
}

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
// By which a second list begins.  In this folder, a sentence may begin with "In".
int two;  // number of rows; of which the last is empty
// Nobody is told; whom it would help.
// Nobody else is told.  For who asks, nothing is said.
EOF
  [[ $(find_riddles "$scratch/riddles.h" | wc -l) == 8 ]] || report "the rule on comments misses what is planted"
  riddles=$(printf '%s\n' "${code[@]}" "${cmake[@]}" "${scripts[@]}" | {
    mapfile -t files
    find_riddles "${files[@]}"
  })
  [[ -z $riddles ]] || report "$riddles"$'\n'"the comments above begin without a subject"
}

# find_broken FILE...: prints the values with a comment that clang-format has put on a line behind "name =": the comment
# belongs above the name.
find_broken() {
  awk '
    FNR > 1 && before ~ / =$/ && /^[ \t]+[^ \t].*;[ \t]+\/\/ / { print FILENAME ":" FNR ": " $0 }
    { before = $0 }' "$@"
}

check_members() {
  local broken_lines
  cat >"$scratch/broken.h" <<'EOF'
  int64_t offset =
      0;  // bytes from the beginning
  int64_t size =
      first_size + second_size;
  int64_t count = 0;  // bytes
EOF
  [[ $(find_broken "$scratch/broken.h" | wc -l) == 1 ]] || report "the rule on members misses what is planted"
  broken_lines=$(find_broken "${code[@]}")
  [[ -z $broken_lines ]] || report "$broken_lines"$'\n'"the comments above belong above the names of their lines"
}

# Names in comments that are no classes of ours: those of papers, data, libraries and of CONTRIBUTING.md.
kOtherNames='BackProp|CamelCase|DoubleSqueeze|GloVe|HyperLogLog|ImageNet|LeCun|LeNet|McMahan|MultiSlotDataFeed|MultiheadAttention'
kOtherNames+='|MurmurHash3|NaNs|ProgramOptions|PullOfUnknownKeyGivesTheSameRowOnAnyServer|RecSys|SplitMix64'

# find_names TEXT CODE...: prints the words of comments, and of the file TEXT, that look like a class ("RowTable") and that no
# code has, and those that look like a file of ours ("lib/base/text.h", "base/text.h"): "FILE:LINE: name WORD" or "file WORD".
find_names() {
  awk -v text="$1" -v others="^($kOtherNames)\$" '
    function look(line, where,    rest, word, before) {
      for (rest = line; match(rest, /[A-Za-z0-9_.\/]+/); rest = substr(rest, RSTART + RLENGTH)) {
        word = substr(rest, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : ""
        sub(/[.\/]+$/, "", word)
        if (word ~ /^[a-z0-9_]+\// && word !~ /NAME/ && before !~ /[-<:$}*]/) {
          if (word ~ /\.(h|cc|cu)$/ || word ~ /^lib\//) print where ": file " word
        } else if (word ~ /^[A-Z][a-z0-9]+([A-Z][a-z0-9]+)+$/ && word !~ others) {
          wanted[++num] = where ": name " word
        }
      }
    }
    FILENAME == text { look($0, FILENAME ":" FNR); next }
    {
      at = match($0, /(^|[ \t])\/\/([ \t]|$)/)
      num_words = split(at ? substr($0, 1, at) : $0, words, /[^A-Za-z0-9_]+/)
      comment = at ? substr($0, at + RLENGTH) : ""
      for (i = 1; i <= num_words; ++i) known[words[i]] = 1
      look(comment, FILENAME ":" FNR)
    }
    END {
      for (i = 1; i <= num; ++i) {
        word = wanted[i]
        sub(/.*name /, "", word)
        if (!(word in known)) print wanted[i]
      }
    }' "$@"
}

# A file may be named from the root, from lib/ or tests/, from the folder of the file that names it, or as it is included;
# the build generates some.
is_file() {
  local name=$1 from=$2
  [[ -e $name || -e lib/$name || -e tests/$name || -e ${from%/*}/$name || -e lib/$name.h ]] && return
  [[ $name != lib/* && -n $(find lib tests -path "*/$name" -print -quit) ]] || grep -qrF "generated/$name " share/cmake
}

lost_names() {
  local where kind word
  find_names "$@" | while read -r where kind word; do
    if [[ $kind == name ]] || ! is_file "$word" "${where%%:*}"; then echo "$where $word"; fi
  done
}

check_names() {
  local lost
  cat >"$scratch/names.h" <<'EOF'
// RowTable: the rows of LostTable, as base/text.h and lib/base/lost.h have them, and base/lost_too.h (McMahan, 2013).
class RowTable {};  // used by OtherLostTable
EOF
  echo 'lib/base/lost_folder/ and `RowTable`, lib/base/ and lib/NAME/lost.h' >"$scratch/names.md"
  [[ $(lost_names "$scratch/names.md" "$scratch/names.h" | wc -l) == 5 ]] || report "the rule on names misses what is planted"
  lost=$(lost_names CONTRIBUTING.md "${code[@]}")
  [[ -z $lost ]] || report "$lost"$'\n'"the names above are of no class and no file"
}

check_sizes
check_comments
check_members
check_names
check_guards
check_words
check_headers
check_scripts
check_format
[[ -z $broken ]] || fail "house style"
echo "${#code[@]} files of C++ and ${#scripts[@]} scripts keep the house style"
