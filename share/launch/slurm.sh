#!/bin/bash
# Runs a job in an allocation of Slurm: a server on each of the first nodes, trainers on all.
#
# usage: sbatch -N NODES slurm.sh [-s SERVERS] [-p PORTS] [-n TRAINERS] [-c COMPUTE] [-r RESTARTS]
#                                 JOB.json|--recipe NAME [ps-train's flags...]
#   -s  servers, 1 unless told: one on each of the first nodes; 0: trainers exchange gradients by themselves, with a
#       train.strategy without servers
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told: dealt to the nodes in turn
#   -c  compute trainers, for which the trainers are readers: one on each of the last nodes; 0 unless told, then trainers
#       compute by themselves
#   -r  how often each process is started again on its node when a signal has killed it, 0 unless told; servers need a
#       checkpoint.directory, which all of them share, in PS_SERVE_FLAGS or the job to go on from.  Without servers all
#       trainers are started again together, and go on from their checkpoint.directory, which they then need and share
# Servers listen from port PS_PORT on, 7164 unless set, compute trainers on PS_COMPUTE_PORT, 7264 unless set.
# PS_SERVE_FLAGS holds further flags of ps-serve, PS_COMPUTE_FLAGS of compute trainers.  The folder of the job must be shared
# by the nodes; PS_LAUNCH is the folder of these scripts, since sbatch copies this one.  Trainers take their ranks from
# srun.  All let in the processes of this run alone, by a token in that folder that goes with the run; they do not encrypt
# unless flags say so.
#SBATCH --job-name=pskit
set -euo pipefail
source "${PS_LAUNCH:-$(dirname "${BASH_SOURCE[0]}")}/common.sh"

least_servers=0
read_options "$@"
shift "$num_options"
# In the folder that all share, for its owner alone.
token=$(mktemp "$PWD/.pskit-token.XXXXXX")
trap 'end_peers; end_servers; rm -f "$token" "$token.json"' EXIT
make_token "$token"
fill_in_recipe "$token.json" "$@"
set -- "${arguments[@]}"
mapfile -t node < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
# expect_nodes COUNT WHO: ends the script when there are fewer nodes.
expect_nodes() {
  (($1 <= ${#node[@]})) || { echo "slurm.sh: $1 $2 need as many nodes, there are ${#node[@]}" >&2 && exit 2; }
}
expect_nodes "$servers" servers
expect_nodes "$computes" "compute trainers"

# one_each FIRST COUNT COMMAND...: runs the command on each of COUNT nodes, from that of number FIRST on, in place of this
# shell.
one_each() {
  local first=$1 count=$2
  shift 2
  exec srun --overlap -N "$count" -n "$count" --ntasks-per-node=1 -w "$(IFS=, && echo "${node[*]:first:count}")" \
    bash -c "$(elsewhere "$@")" >/dev/null
}

port=${PS_PORT:-7164}
addresses=$(printf "%s:$port," "${node[@]:0:servers}")
if ((servers > 0)); then
  # shellcheck disable=SC2086  # PS_SERVE_FLAGS is several words
  one_each 0 "$servers" run_server ps-serve "$1" --host '' --token-file "$token" --port "$port" --ports-num "$ports" \
    --ports-num-for-sparse "$ports" ${PS_SERVE_FLAGS:-} &
  server_ids+=($!)
fi

if ((computes > 0)); then
  first=$((${#node[@]} - computes)) port=${PS_COMPUTE_PORT:-7264}
  deal_computes "$port" "${node[@]:first}"
  # shellcheck disable=SC2086  # PS_COMPUTE_FLAGS is several words
  one_each "$first" "$computes" ps-train "$@" --role compute --host '' --token-file "$token" --port "$port" \
    --servers "${addresses%,}" ${PS_COMPUTE_FLAGS:-} &
  server_ids+=($!)
fi

set_role
set_meeting "${addresses%,}" "$(address "${node[0]}" "${PS_PORT:-7164}")"
job_flags=("$@")
start_trainers() {
  srun --overlap -N "${#node[@]}" -n "$trainers" --distribution=cyclic bash -c \
    "$(elsewhere ps-train "${job_flags[@]}" --token-file "$token" "${meeting[@]}" "${role[@]}" "$@")" &
  trainer_ids+=($!)
}
train_all
