#!/bin/bash
# Runs a job over ssh: servers on the first hosts, trainers on all.
#
# usage: ssh.sh -H HOST,... [-s SERVERS] [-p PORTS] [-n TRAINERS] [-c COMPUTE] [-C HOST,...] [-r RESTARTS]
#               JOB.json|--recipe NAME [ps-train's flags...]
#   -H  hosts, which ssh must reach without asking; IPv6 numbers without brackets
#   -s  servers, 1 unless told: one on each of the first hosts; several on one have ports one after the other.  0: trainers
#       exchange gradients by themselves, with a train.strategy without servers
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told: dealt to the hosts in turn
#   -c  compute trainers, for which the trainers are readers; 0 unless told: they compute by themselves
#   -C  hosts of the compute trainers, which are dealt to them in turn; those of -H unless told
#   -r  how often each process is started again on its host when a signal has killed it, 0 unless told; servers need a
#       checkpoint.directory, which all of them share, in PS_SERVE_FLAGS or the job to go on from.  Without servers all
#       trainers are started again together, and go on from their checkpoint.directory, which they then need and share
# Servers listen from port PS_PORT on, 7164 unless set, compute trainers from PS_COMPUTE_PORT on, 7264 unless set.
# PS_SSH is the command instead of ssh, PS_SERVE_FLAGS holds further flags of ps-serve, PS_COMPUTE_FLAGS of compute trainers.
# All let in the processes of this run alone, by a token that every host gets over ssh and that goes with the run; they do
# not encrypt unless flags say so.
# Hosts need bash, the programs on their path, and job file and data in a folder of the name of this one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

least_servers=0
read_options "$@"
[[ -n ${hosts:-} ]] || usage
shift "$num_options"
IFS=, read -ra host <<<"$hosts"
IFS=, read -ra compute_host <<<"${compute_hosts:-$hosts}"
mapfile -t every_host < <(printf '%s\n' "${host[@]}" "${compute_host[@]}" | sort -u)
run=/tmp/pskit.$$.$RANDOM
scratch=$(mktemp -d)
started=() # HOST:FILE, where FILE on that host has the process's id

# on HOST NAME COMMAND...: runs the command there, in the folder of this name, and again when a signal kills it.  The
# script that does so goes there over standard input, as the shell there need not be bash.
on() {
  local at=$1 file=$run.$2
  shift 2
  # shellcheck disable=SC2086  # PS_SSH may have flags
  ${PS_SSH:-ssh} "$at" "cd $(printf '%q' "$PWD") && echo \$\$ >$file && exec bash -c \"\$(cat)\"" < <(elsewhere "$@")
}

# Asks what still runs to end.  Ending ssh alone would not.
end_all() {
  local place
  for place in "${started[@]}"; do
    # shellcheck disable=SC2086
    ${PS_SSH:-ssh} "${place%:*}" "kill -TERM \$(cat ${place##*:}) 2>/dev/null; rm -f ${place##*:}" </dev/null || true
  done
  wait "${server_ids[@]}" "${trainer_ids[@]}" 2>/dev/null || true
  for place in "${every_host[@]}"; do
    # shellcheck disable=SC2086
    ${PS_SSH:-ssh} "$place" "rm -f $run.token $run.json" </dev/null || true
  done
  rm -rf "$scratch"
}
trap end_all EXIT

# Over standard input, since arguments are seen by all users of a host.
make_token "$scratch/token"
for at in "${every_host[@]}"; do
  # shellcheck disable=SC2086
  ${PS_SSH:-ssh} "$at" "umask 077 && cat >$run.token" <"$scratch/token"
done

# A job that a recipe has become goes there too.
fill_in_recipe "$scratch/job.json" "$@"
if [[ ${arguments[0]} == "$scratch/job.json" ]]; then
  arguments[0]=$run.json
  for at in "${every_host[@]}"; do
    # shellcheck disable=SC2086
    ${PS_SSH:-ssh} "$at" "cat >$run.json" <"$scratch/job.json"
  done
fi
set -- "${arguments[@]}"

addresses=
for ((s = 0; s < servers; ++s)); do
  at=${host[s % ${#host[@]}]}
  port=$((${PS_PORT:-7164} + s / ${#host[@]} * 2 * ports))
  addresses+=${addresses:+,}$(address "${at#*@}" "$port")
  # shellcheck disable=SC2086
  on "$at" "serve.$s" run_server ps-serve "$1" --host '' --token-file "$run.token" --port "$port" --ports-num "$ports" \
    --ports-num-for-sparse "$ports" ${PS_SERVE_FLAGS:-} >"$scratch/ready.$s" &
  server_ids+=($!)
  started+=("$at:$run.serve.$s")
done
for ((s = 0; s < servers; ++s)); do wait_for_file "$scratch/ready.$s" "${server_ids[s]}"; done

deal_computes "${PS_COMPUTE_PORT:-7264}" "${compute_host[@]#*@}"
for ((c = 0; c < computes; ++c)); do
  at=${compute_host[c % ${#compute_host[@]}]}
  # shellcheck disable=SC2086
  on "$at" "compute.$c" ps-train "$@" --role compute --host '' --token-file "$run.token" \
    --port "${compute_addresses[c]##*:}" --servers "$addresses" ${PS_COMPUTE_FLAGS:-} >"$scratch/ready.compute.$c" &
  server_ids+=($!)
  started+=("$at:$run.compute.$c")
  wait_for_file "$scratch/ready.compute.$c" $!
done

set_role
set_meeting "$addresses" "$(address "${host[0]#*@}" "${PS_PORT:-7164}")"
job_flags=("$@")
start_trainers() {
  local rank at
  for ((rank = trainers - 1; rank >= 0; --rank)); do
    at=${host[rank % ${#host[@]}]}
    on "$at" "train.$rank" ps-train "${job_flags[@]}" --token-file "$run.token" "${meeting[@]}" --trainers "$trainers" \
      --rank "$rank" "${role[@]}" "$@" &
    trainer_ids+=($!)
    started+=("$at:$run.train.$rank")
  done
}
train_all
