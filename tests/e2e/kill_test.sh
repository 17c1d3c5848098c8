#!/bin/bash
# The proof of recovery: processes of a job with 2 servers and 3 trainers are killed at random moments, also while a
# checkpoint is written and while the others recover; they are started again, and the models of all passes equal,
# bit for bit, those of the undisturbed run.
#
# usage: kill_test.sh [KILLS]      25 unless told; PS_TEST_SEED repeats the moments, as far as the machine does
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
kills_wanted=${1:-25}
passes=3 kills_a_job=9
seed=${PS_TEST_SEED:-$RANDOM}
RANDOM=$seed
types=(--set train.strategy.codec.push=f16) # what rounding takes from gradients comes back too
supervisors=() first_ports=()
trap 'end_all; rm -rf "$scratch"' EXIT

# Ends whatever of the job is left.
end_all() {
  local id
  for id in "${supervisors[@]}"; do kill -9 "$id" 2>/dev/null || true; done
  for id in id.*; do [[ ! -s $id ]] || kill -9 "$(<"$id")" 2>/dev/null || true; done
  wait || true
  supervisors=()
}

# One process, in place of this shell.  A server that comes again has its port and its checkpoints.  Trainers come to
# the first over TCP, to the second over Unix sockets.
run_server() {
  local resume=() ways=()
  if [[ -s ports.$1 ]]; then resume=(--resume); fi
  if (($1 == 1)); then ways=(--local-sockets); fi
  exec ps-serve job.json --host 127.0.0.1 --port "${first_ports[$1]}" --ports-num 2 --port-file "ports.$1" "${ways[@]}" \
    "${resume[@]}" "${types[@]}" >>"serve.$1.out" 2>>"serve.$1.err"
}
run_trainer() {
  exec ps-train job.json --servers "127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)" --trainers 3 \
    --rank "$1" --data train.txt --passes $passes --save-dir "$folder" "${types[@]}" >>"train.$1.out" 2>>"train.$1.err"
}

# start_job FOLDER: all of it, under supervisors; models go to the folder.
start_job() {
  local s rank
  folder=$1
  for s in 0 1; do first_ports[s]=$(free_ports 2); done
  rm -rf checkpoints ports.* id.* ./*.err
  for s in 0 1; do
    supervise id.s$s 1000 run_server $s &
    supervisors+=($!)
  done
  for s in 0 1; do wait_for_file ports.$s "${supervisors[s]}"; done
  for rank in 0 1 2; do
    supervise id.t$rank 1000 run_trainer $rank &
    supervisors+=($!)
  done
}

# Returns 0 if all trainers have ended; fails the test if one has ended with an error.
trainers_ended() {
  local rank
  for rank in 0 1 2; do kill -0 "${supervisors[2 + rank]}" 2>/dev/null && return 1; done
  for rank in 0 1 2; do
    wait "${supervisors[2 + rank]}" || fail "seed $seed: trainer $rank ended with $?: $(tail -n 5 ./*.err)"
  done
}

# finish_job: until the trainers have ended.
finish_job() {
  local rank
  for rank in 0 1 2; do
    wait "${supervisors[2 + rank]}" || fail "seed $seed: trainer $rank ended with $?: $(tail -n 5 ./*.err)"
  done
  end_with_supervisors "${supervisors[@]:0:2}"
  supervisors=()
}

# Kills some process, or two at once, after a random while.
kill_some() {
  local names=(s0 s1 t0 t1 t2) count=$((RANDOM % 4 == 0 ? 2 : 1)) name
  sleep "0.$(printf %03d $((RANDOM % 700 + 20)))"
  for ((; count > 0; --count)); do
    name=${names[RANDOM % 5]}
    if kill -9 "$(<id.$name)" 2>/dev/null; then
      kills=$((kills + 1))
      if [[ $name == s* ]]; then server_kills=$((server_kills + 1)); fi
    fi
  done
}

write_job killed '{"directory": "checkpoints", "period": 0, "steps": 15, "full_every": 3}'
ps-datagen sparse-binary --dim 5000 --samples 12000 --output train.txt

start_job calm
finish_job
kills=0 server_kills=0 jobs=0
while ((kills < kills_wanted)); do
  rm -rf killed
  start_job killed
  jobs=$((jobs + 1)) before=$kills
  while ((kills - before < kills_a_job && kills < kills_wanted)) && ! trainers_ended; do kill_some; done
  finish_job
  for ((pass = 0; pass < passes; ++pass)); do
    cmp calm/pass-0000$pass/model.safetensors killed/pass-0000$pass/model.safetensors ||
      fail "seed $seed, job $jobs: another model in pass $pass"
  done
done
recoveries=$(cat ./*.err | grep -c 'going back to the last checkpoint' || true)
echo "$kills processes killed in $jobs jobs, $server_kills of them servers; the models are the same (seed $seed," \
  "$recoveries times a trainer went back in the last job)"
