#!/bin/bash
# Runs a job with servers and trainers on this machine, and ends them together.
#
# usage: local.sh [-s SERVERS] [-p PORTS] [-n TRAINERS] [-c COMPUTE] [-r RESTARTS] JOB.json|--recipe NAME [ps-train's flags...]
#   -s  servers, 1 unless told; 0: trainers exchange gradients by themselves, with a train.strategy without servers
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told
#   -c  compute trainers, for which the trainers are readers; 0 unless told: they compute by themselves
#   -r  how often each process is started again when a signal has killed it, 0 unless told; servers need a
#       checkpoint.directory in PS_SERVE_FLAGS or the job to go on from.  Without servers all trainers are started again
#       together, when one was killed, and go on from their checkpoint.directory, which they then need
# The output of the trainers is passed through; trainer 0 prints for all.  The exit status is that of the first
# trainer that fails, or 0.  PS_SERVE_FLAGS holds further flags of ps-serve.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

own_options=s:p:n:c:r: least_servers=0
read_options "$@"
shift "$num_options"
scratch=$(mktemp -d)
trap 'end_peers; end_servers; rm -rf "$scratch"' EXIT
fill_in_recipe "$scratch/job.json" "$@"
set -- "${arguments[@]}"

addresses=
first=$(((servers > 0)) && free_ports $((2 * ports * servers)) || true) # together, so that none is another's
for ((s = 0; s < servers; ++s)); do
  port=$((first + 2 * ports * s))
  addresses+=${addresses:+,}127.0.0.1:$port
  # shellcheck disable=SC2086  # PS_SERVE_FLAGS is several words
  supervise "$scratch/id.server.$s" "$restarts" run_server ps-serve "$1" --host 127.0.0.1 --port "$port" \
    --ports-num "$ports" --ports-num-for-sparse "$ports" ${PS_SERVE_FLAGS:-} >"$scratch/ready.server.$s" &
  server_ids+=($!)
done
for ((s = 0; s < servers; ++s)); do wait_for_file "$scratch/ready.server.$s" "${server_ids[s]}"; done

if ((computes > 0)); then deal_computes "$(free_ports "$computes")" 127.0.0.1; fi
for ((c = 0; c < computes; ++c)); do
  # shellcheck disable=SC2086  # PS_COMPUTE_FLAGS is several words
  supervise "$scratch/id.compute.$c" "$restarts" ps-train "$@" --servers "$addresses" --role compute \
    --port "${compute_addresses[c]#*:}" ${PS_COMPUTE_FLAGS:-} >"$scratch/ready.compute.$c" &
  server_ids+=($!)
  wait_for_file "$scratch/ready.compute.$c" $!
done

set_role
set_meeting "$addresses" "127.0.0.1:$(free_ports 1)"
job_flags=("$@")
start_trainers() {
  local rank
  for ((rank = trainers - 1; rank >= 0; --rank)); do
    supervise "$scratch/id.trainer.$rank" "$restarts" ps-train "${job_flags[@]}" "${meeting[@]}" --trainers "$trainers" \
      --rank "$rank" "${role[@]}" "$@" &
    trainer_ids+=($!)
  done
}
train_all
