#!/bin/bash
# Runs a job over ssh: servers on the first hosts, trainers on all.
#
# usage: ssh.sh -H HOST,... [-s SERVERS] [-p PORTS] [-n TRAINERS] JOB.json [ps-train's flags...]
#   -H  hosts, which ssh must reach without asking
#   -s  servers, 1 unless told: one on each of the first hosts; several on one have ports one after the other
#   -p  ports of each server for dense parameters, and as many for sparse ones, 1 unless told
#   -n  trainers, 2 unless told: dealt to the hosts in turn
# Servers listen from port PS_PORT on, 7164 unless set.  PS_SSH is the command instead of ssh, PS_SERVE_FLAGS holds
# further flags of ps-serve.  Servers let in the trainers of this run alone, by a token that every host gets over ssh
# and that goes with the run; what they send is not encrypted unless flags say so.  The programs must be on each host's path, job file and data in this folder there too.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

read_options "$@"
[[ -n ${hosts:-} ]] || usage
shift "$num_options"
IFS=, read -ra host <<<"$hosts"
run=/tmp/pskit.$$.$RANDOM
scratch=$(mktemp -d)
started=() # HOST:FILE, where FILE on that host has the process's id

# on HOST NAME COMMAND...: runs the command there, in the folder of this name.
on() {
  local at=$1 file=$run.$2
  shift 2
  # shellcheck disable=SC2086  # PS_SSH may have flags
  ${PS_SSH:-ssh} "$at" "cd $(printf '%q' "$PWD") && echo \$\$ >$file && exec $(printf '%q ' "$@")" </dev/null
}

# Asks what still runs to end.  Ending ssh alone would not.
end_all() {
  local place
  for place in "${started[@]}"; do
    # shellcheck disable=SC2086
    ${PS_SSH:-ssh} "${place%%:*}" "kill -TERM \$(cat ${place#*:}) 2>/dev/null; rm -f ${place#*:}" </dev/null || true
  done
  wait "${server_ids[@]}" "${trainer_ids[@]}" 2>/dev/null || true
  while read -r place; do
    # shellcheck disable=SC2086
    ${PS_SSH:-ssh} "$place" "rm -f $run.token" </dev/null || true
  done < <(printf '%s\n' "${host[@]}" | sort -u)
  rm -rf "$scratch"
}
trap end_all EXIT

# Over standard input, since arguments are seen by all users of a host.
make_token "$scratch/token"
while read -r at; do
  # shellcheck disable=SC2086
  ${PS_SSH:-ssh} "$at" "umask 077 && cat >$run.token" <"$scratch/token"
done < <(printf '%s\n' "${host[@]}" | sort -u)

addresses=
for ((s = 0; s < servers; ++s)); do
  at=${host[s % ${#host[@]}]}
  port=$((${PS_PORT:-7164} + s / ${#host[@]} * 2 * ports))
  addresses+=${addresses:+,}${at#*@}:$port
  # shellcheck disable=SC2086
  on "$at" "serve.$s" ps-serve "$1" --host 0.0.0.0 --token-file "$run.token" --port "$port" --ports-num "$ports" \
    --ports-num-for-sparse "$ports" ${PS_SERVE_FLAGS:-} >"$scratch/ready.$s" &
  server_ids+=($!)
  started+=("$at:$run.serve.$s")
done
for ((s = 0; s < servers; ++s)); do wait_for_file "$scratch/ready.$s" "${server_ids[s]}"; done

for ((rank = trainers - 1; rank >= 0; --rank)); do
  at=${host[rank % ${#host[@]}]}
  on "$at" "train.$rank" ps-train "$@" --token-file "$run.token" --servers "$addresses" --trainers "$trainers" --rank "$rank" &
  trainer_ids+=($!)
  started+=("$at:$run.train.$rank")
done
wait_for_trainers
