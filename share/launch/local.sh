#!/bin/bash
# Runs a job with servers and trainers on this machine, and ends them together.
#
# usage: local.sh [-s SERVERS] [-p PORTS] [-n TRAINERS] JOB.json [ps-train's flags...]
#   -s  servers, 1 unless told
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told
# What the trainers print comes through; trainer 0 speaks for all.  The exit status is that of the first trainer that
# fails, or 0.  PS_SERVE_FLAGS holds further flags of ps-serve.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

read_options "$@"
shift "$num_options"
scratch=$(mktemp -d)
trap 'end_servers; rm -rf "$scratch"' EXIT

addresses=
for ((s = 0; s < servers; ++s)); do
  # shellcheck disable=SC2086  # PS_SERVE_FLAGS is several words
  ps-serve "$1" --host 127.0.0.1 --port 0 --ports-num "$ports" --ports-num-for-sparse "$ports" \
    --port-file "$scratch/ports.$s" ${PS_SERVE_FLAGS:-} >"$scratch/ready.$s" &
  server_ids+=($!)
done
for ((s = 0; s < servers; ++s)); do
  wait_for_file "$scratch/ports.$s" "${server_ids[s]}"
  addresses+=${addresses:+,}127.0.0.1:$(head -n 1 "$scratch/ports.$s")
done

for ((rank = trainers - 1; rank >= 0; --rank)); do
  ps-train "$@" --servers "$addresses" --trainers "$trainers" --rank "$rank" &
  trainer_ids+=($!)
done
wait_for_trainers
