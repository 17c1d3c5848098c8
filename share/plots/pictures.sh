#!/bin/bash
# Makes the pictures of README.md anew: measures with ps-bench, and draws into share/plots/pictures/NAME.svg.  The lines that
# a picture is drawn from stay beside it in NAME.jsonl.
#
# usage: share/plots/pictures.sh [--draw] NAME...
# A NAME is bandwidth, local-sgd or accuracy; with --draw nothing is measured.  The programs are those on PATH.  Times are
# worth a picture on a machine that does nothing else; values and bytes of accuracy are the same on any.
set -euo pipefail

folder=$(dirname "$(realpath "$0")")
measure=yes
if [[ ${1:-} == --draw ]]; then
  measure=
  shift
fi
if (($# == 0)); then
  sed -n '/^# usage/,/^# A NAME/s/^# //p' "$0" >&2
  exit 2
fi

mkdir -p "$folder/pictures"
cd "$folder/pictures"
for name in "$@"; do
  case $name in
    bandwidth) command=(ps-bench dgc --bandwidth "10G,1G,100M" --model resnet50) ;;
    local-sgd) command=(ps-bench local-sgd --bandwidth "1G,100M" --model resnet50) ;;
    accuracy)
      command=(ps-bench accuracy --passes 10 --seeds 1 --resume --strategies
        "dgc,power_sgd,compressed_all_reduce,post_local_sgd,diloco,sparse_diloco")
      ;;
    *)
      echo "$0: there is no picture '$name', but bandwidth, local-sgd and accuracy" >&2
      exit 2
      ;;
  esac
  if [[ -n $measure ]]; then "${command[@]}" --save "$name.jsonl"; fi
  "$folder/plot" "$name" <"$name.jsonl" >/dev/null
  rm "$name.png" "$name.dat"
  echo "$folder/pictures/$name.svg"
done
