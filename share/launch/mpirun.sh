#!/bin/bash
# Runs a job under Open MPI: servers on the first hosts, trainers on all.
#
# usage: mpirun.sh [-s SERVERS] [-p PORTS] [-n TRAINERS] [-c COMPUTE] [-H HOST,...] [-C HOST,...] [-r RESTARTS]
#                  JOB.json|--recipe NAME [ps-train's flags...]
#   -s  servers, 1 unless told: one on each of the first hosts; without servers trainers need no script but mpirun
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told: dealt to the hosts in turn
#   -c  compute trainers, for which the trainers are readers; 0 unless told: they compute by themselves
#   -H  hosts, this machine unless told; servers on one host have ports one after the other
#   -C  hosts of the compute trainers, which are dealt to them in turn; those of -H unless told
#   -r  how often each process is started again on its host when a signal has killed it, 0 unless told; servers need a
#       checkpoint.directory, which all of them share, in PS_SERVE_FLAGS or the job to go on from
# Servers listen from port PS_PORT on, 7164 unless set, compute trainers from PS_COMPUTE_PORT on, 7264 unless set.
# PS_MPIRUN_FLAGS holds further flags of mpirun, PS_SERVE_FLAGS of ps-serve, PS_COMPUTE_FLAGS of compute trainers.  Job file,
# data and programs must be where they are here on all hosts.  Trainers take their ranks from mpirun.  All let in the
# processes of this run alone, by a token in this folder, which the hosts share, that goes with the run; they do not
# encrypt unless flags say so.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

read_options "$@"
shift "$num_options"
# In the folder that all share, for its owner alone.
token=$(mktemp "$PWD/.pskit-token.XXXXXX")
# The two mpiruns below begin at once, and one that begins clears the folder of sessions that all of a user's share: the
# other's may go with it.  So each has a folder of its own on this machine.
sessions=$(mktemp -d "${OMPI_MCA_orte_tmpdir_base:-${TMPDIR:-/tmp}}/pskit.XXXXXX")
mkdir "$sessions/servers" "$sessions/trainers"
if [[ -n ${OMPI_MCA_orte_tmpdir_base:-} ]]; then
  export OMPI_MCA_orte_remote_tmpdir_base=$OMPI_MCA_orte_tmpdir_base
  unset OMPI_MCA_orte_tmpdir_base
fi
trap 'end_servers; rm -rf "$token" "$token.json" "$sessions"' EXIT
make_token "$token"
fill_in_recipe "$token.json" "$@"
set -- "${arguments[@]}"
IFS=, read -ra host <<<"${hosts:-127.0.0.1}"
IFS=, read -ra compute_host <<<"${compute_hosts:-${hosts:-127.0.0.1}}"
# shellcheck disable=SC2206  # several words
launch=(mpirun --oversubscribe -x PATH ${PS_MPIRUN_FLAGS:-})

addresses=
line=()
for ((s = 0; s < servers; ++s)); do
  at=${host[s % ${#host[@]}]}
  port=$((${PS_PORT:-7164} + s / ${#host[@]} * 2 * ports))
  addresses+=${addresses:+,}$at:$port
  # shellcheck disable=SC2086  # PS_SERVE_FLAGS is several words
  line+=(${line:+:} -n 1 --host "$at" bash -c "$(elsewhere run_server ps-serve "$1" --host '' \
    --token-file "$token" --port "$port" --ports-num "$ports" --ports-num-for-sparse "$ports" ${PS_SERVE_FLAGS:-})")
done
deal_computes "${PS_COMPUTE_PORT:-7264}" "${compute_host[@]}"
for ((c = 0; c < computes; ++c)); do
  # shellcheck disable=SC2086  # PS_COMPUTE_FLAGS is several words
  line+=(: -n 1 --host "${compute_addresses[c]%:*}" bash -c "$(elsewhere ps-train "$@" --role compute --host '' \
    --token-file "$token" --port "${compute_addresses[c]##*:}" --servers "$addresses" ${PS_COMPUTE_FLAGS:-})")
done
OMPI_MCA_orte_local_tmpdir_base=$sessions/servers "${launch[@]}" "${line[@]}" >/dev/null &
server_ids+=($!)

set_role
OMPI_MCA_orte_local_tmpdir_base=$sessions/trainers "${launch[@]}" -n "$trainers" \
  --host "$(printf '%s,' "${host[@]/%/:$trainers}" | sed 's/,$//')" --map-by node \
  bash -c "$(elsewhere ps-train "$@" --token-file "$token" --servers "$addresses" "${role[@]}")" &
trainer_ids+=($!)
wait_for_trainers
