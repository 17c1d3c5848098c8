#!/bin/bash
# Runs a job with servers and trainers on this machine, and ends them together.
#
# usage: local.sh [-s SERVERS] [-p PORTS] [-n TRAINERS] [-c COMPUTE] [-r RESTARTS] JOB.json [ps-train's flags...]
#   -s  servers, 1 unless told
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told
#   -c  compute trainers, for which the trainers are readers; 0 unless told: they compute by themselves
#   -r  how often each process is started again when a signal has killed it, 0 unless told; servers need a
#       checkpoint.directory in PS_SERVE_FLAGS or the job to go on from
# The output of the trainers is passed through; trainer 0 prints for all.  The exit status is that of the first
# trainer that fails, or 0.  PS_SERVE_FLAGS holds further flags of ps-serve.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

own_options=s:p:n:c:r:
read_options "$@"
shift "$num_options"
scratch=$(mktemp -d)
trap 'end_servers; rm -rf "$scratch"' EXIT

# One process each, in place of this shell.  A server that comes again has its ports, and its checkpoints.
run_server() {
  local server=$1 job=$2 resume=()
  if [[ -s $scratch/ports.$server ]]; then resume=(--resume); fi
  # shellcheck disable=SC2086  # PS_SERVE_FLAGS is several words
  exec ps-serve "$job" --host 127.0.0.1 --port "${first_ports[server]}" --ports-num "$ports" \
    --ports-num-for-sparse "$ports" --port-file "$scratch/ports.$server" "${resume[@]}" ${PS_SERVE_FLAGS:-} \
    >"$scratch/ready.$server"
}
run_trainer() {
  exec ps-train "${@:2}" --servers "$addresses" --trainers "$trainers" --rank "$1" "${role[@]}"
}
run_compute() {
  exec ps-train "${@:2}" --servers "$addresses" --role compute --port "${compute_ports[$1]}" \
    --port-file "$scratch/compute.$1" >"$scratch/ready.compute.$1"
}

addresses='' first_ports=()
first=$(free_ports $((2 * ports * servers))) # together, so that none is another's
for ((s = 0; s < servers; ++s)); do
  first_ports[s]=$((first + 2 * ports * s))
  supervise "$scratch/id.server.$s" "$restarts" run_server "$s" "$1" &
  server_ids+=($!)
done
for ((s = 0; s < servers; ++s)); do
  wait_for_file "$scratch/ports.$s" "${server_ids[s]}"
  addresses+=${addresses:+,}127.0.0.1:${first_ports[s]}
done

role=() places='' compute_ports=()
for ((c = 0; c < computes; ++c)); do
  compute_ports[c]=$(free_ports 1)
  supervise "$scratch/id.compute.$c" "$restarts" run_compute "$c" "$@" &
  server_ids+=($!)
  wait_for_file "$scratch/compute.$c" $!
  places+=${places:+,}127.0.0.1:${compute_ports[c]}
done
if ((computes > 0)); then role=(--role reader --compute "$places"); fi

for ((rank = trainers - 1; rank >= 0; --rank)); do
  supervise "$scratch/id.trainer.$rank" "$restarts" run_trainer "$rank" "$@" &
  trainer_ids+=($!)
done
wait_for_trainers
