#!/bin/bash
# The proof of recovery: processes of a job with 2 servers and 3 trainers are killed at random moments, also while a
# checkpoint is written and while the others recover; they are started again, and the job ends as the undisturbed one.
#
# usage: kill_test.sh [--seeds N] [--mode MODE] [--asan] [KILLS]
#   KILLS     of each seed, 25 unless told; PS_TEST_SEED is the first seed, and repeats the moments as far as the
#             machine does
#   --mode    sync (unless told), log (with --durability log), spill (rows on disk) or rows (they come, decay and go):
#             the models of all passes are the same, bit for bit;
#             staleness, async or geo (local SGD): as many batches count, each once, and the model is as good;
#             peers: trainers without servers, KILLS with each of their strategies (kill_peers_test.sh)
#   --asan    one process of ten is of build/asan, PS_ASAN_BIN
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
kills_wanted=25 seeds=1 mode=sync asan=0
while (($# > 0)); do
  case $1 in
    --seeds) seeds=$2 && shift ;;
    --mode) mode=$2 && shift ;;
    --asan) asan=1 ;;
    [0-9]*) kills_wanted=$1 ;;
    *) usage ;;
  esac
  shift
done
passes=3 kills_a_job=9
if [[ $mode == peers ]]; then exec "$PS_SOURCE/tests/e2e/kill_peers_test.sh" --seeds "$seeds" "$kills_wanted"; fi
first_seed=${PS_TEST_SEED:-$RANDOM}
seed=$first_seed
types=(--set train.strategy.codec.push=f16) # what rounding takes from gradients comes back too
server_flags=() exact=1
case $mode in
  sync) ;;
  log) server_flags=(--durability log) ;;
  spill) server_flags=(--spill-dir "$scratch/spill" --spill-memory 64K) && mkdir spill ;;
  rows) types+=(--set 'model.layers.0.weight={"rows": {"decay": 0.9, "shrink_steps": 7, "expire": {"unseen": 3}}}') ;;
  staleness) exact=0 types+=(--set train.strategy.consistency=staleness --set train.strategy.staleness=2) ;;
  # Momentum keeps gradients of old weights, of which trainers that were halted have some: undisturbed jobs with it end
  # at costs between 0.29 and 0.40.
  async) exact=0 types+=(--set train.strategy.consistency=async --set optimizer.momentum=0 --set optimizer.learning_rate=0.03) ;;
  geo) exact=0 types=(--set 'train.strategy={"type": "local_sgd", "period": 4}') ;;
  *) usage ;;
esac
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

# Puts the program, perhaps one with a sanitizer, in place of this shell.
run() {
  local program=$1 folder=$PS_BIN
  shift
  if ((asan && SRANDOM % 10 == 0)); then folder=${PS_ASAN_BIN:-$PS_SOURCE/build/asan/bin}; fi
  exec "$folder/$program" "$@"
}

# One process, in place of this shell.  A server that comes again has its port and its checkpoints.  Trainers come to
# the first over TCP, to the second over Unix sockets.
run_server() {
  local resume=() ways=()
  if [[ -s ports.$1 ]]; then resume=(--resume); fi
  if (($1 == 1)); then ways=(--local-sockets); fi
  run ps-serve job.json --host 127.0.0.1 --port "${first_ports[$1]}" --ports-num 2 --port-file "ports.$1" "${ways[@]}" \
    "${resume[@]}" "${types[@]}" "${server_flags[@]}" >>"serve.$1.out" 2>>"serve.$1.err"
}
run_trainer() {
  run ps-train job.json --servers "127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)" --trainers 3 \
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

# cost FOLDER: of its last model, on the data that it was trained with.
cost() {
  ps-train --model "$1/pass-0000$((passes - 1))" --job test --data train.txt --json 2>test.err |
    sed -n 's/.*"cost":\([0-9.e+-]*\).*/\1/p' | tail -n 1
}

# The number of the last checkpoint counts what was applied: steps, or batches where each is a step of its own.
last_checkpoint() { ls checkpoints | grep '^step-' | sort | tail -n 1; }

# expect_as_calm: the job that was disturbed has ended as one that was not.
expect_as_calm() {
  local pass
  if ((exact)); then
    for ((pass = 0; pass < passes; ++pass)); do
      cmp calm/pass-0000$pass/model.safetensors killed/pass-0000$pass/model.safetensors ||
        fail "seed $seed, job $jobs: another model in pass $pass"
    done
    return
  fi
  [[ $(last_checkpoint) == "$calm_checkpoint" ]] ||
    fail "seed $seed, job $jobs: it ended with $(last_checkpoint), expected $calm_checkpoint"
  awk "BEGIN {exit !($(cost killed) <= $highest_cost)}" ||
    fail "seed $seed, job $jobs: the cost is $(cost killed), undisturbed at most $highest_cost"
}

# Undisturbed jobs: where they differ from run to run, three of them, whose highest cost with as much again as lies
# between them is the bar, and a tenth of it for what three do not show.
calm_jobs=$((exact ? 1 : 3)) costs=
for ((calm = 0; calm < calm_jobs; ++calm)); do
  rm -rf calm
  start_job calm
  finish_job
  ((exact)) || costs+=" $(cost calm)"
done
calm_checkpoint=$(last_checkpoint)
if ((!exact)); then
  highest_cost=$(awk '{low = high = $1; for (i = 2; i <= NF; ++i) {if ($i < low) low = $i; if ($i > high) high = $i}
    print (2 * high - low) * 1.1}' <<<"$costs")
fi
kills=0 server_kills=0 jobs=0
for ((seed = first_seed; seed < first_seed + seeds; ++seed)); do
  RANDOM=$seed last=$((kills + kills_wanted))
  while ((kills < last)); do
    rm -rf killed
    start_job killed
    jobs=$((jobs + 1)) before=$kills
    while ((kills - before < kills_a_job && kills < last)) && ! trainers_ended; do kill_some; done
    finish_job
    expect_as_calm
  done
done
if grep -l AddressSanitizer ./*.err; then fail "seed $seed: a sanitizer has found something: $(cat ./*.err)"; fi
recoveries=$(cat ./*.err | grep -c 'going back to the last checkpoint' || true)
echo "$kills processes killed in $jobs jobs of mode $mode, $server_kills of them servers; the models are" \
  "$( ((exact)) && echo "the same" || echo "as good, with $calm_checkpoint (cost at most $highest_cost)")" \
  "(seeds from $first_seed, $recoveries times a trainer went back in the last job)"
