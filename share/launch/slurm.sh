#!/bin/bash
# Runs a job in an allocation of Slurm: a server on each of the first nodes, trainers on all.
#
# usage: sbatch -N NODES slurm.sh [-s SERVERS] [-p PORTS] [-n TRAINERS] JOB.json [ps-train's flags...]
#   -s  servers, 1 unless told: one on each of the first nodes
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told: dealt to the nodes in turn
# Servers listen from port PS_PORT on, 7164 unless set.  PS_SERVE_FLAGS holds further flags of ps-serve.  The folder
# of the job must be shared by the nodes; PS_LAUNCH is the folder of these scripts, since sbatch copies this one.
# Trainers take their ranks from srun.  Servers let in the trainers of this run alone, by a token in that folder that goes
# with the run; what they send is not encrypted unless flags say so.
#SBATCH --job-name=pskit
set -euo pipefail
source "${PS_LAUNCH:-$(dirname "${BASH_SOURCE[0]}")}/common.sh"

read_options "$@"
shift "$num_options"
# In the folder that all share, for its owner alone.
token=$(mktemp "$PWD/.pskit-token.XXXXXX")
trap 'end_servers; rm -f "$token"' EXIT
make_token "$token"
mapfile -t node < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
if ((servers > ${#node[@]})); then
  echo "slurm.sh: $servers servers need as many nodes, there are ${#node[@]}" >&2
  exit 2
fi

port=${PS_PORT:-7164}
addresses=$(printf "%s:$port," "${node[@]:0:servers}")
# shellcheck disable=SC2086  # PS_SERVE_FLAGS is several words
srun --overlap -N "$servers" -n "$servers" --ntasks-per-node=1 -w "$(IFS=, && echo "${node[*]:0:servers}")" \
  ps-serve "$1" --host 0.0.0.0 --token-file "$token" --port "$port" --ports-num "$ports" --ports-num-for-sparse "$ports" \
  ${PS_SERVE_FLAGS:-} >/dev/null &
server_ids+=($!)

srun --overlap -N "${#node[@]}" -n "$trainers" --distribution=cyclic ps-train "$@" --token-file "$token" --servers "${addresses%,}" &
trainer_ids+=($!)
wait_for_trainers
