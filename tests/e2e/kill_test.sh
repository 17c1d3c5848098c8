#!/bin/bash
# The proof of recovery: processes of a job with servers are killed at random moments, also while a checkpoint is
# written and while the others recover; they are started again, and the job ends as the undisturbed one.
#
# usage: kill_test.sh [--seeds N] [--mode MODE] [--counts] [--asan] [KILLS]
#   KILLS     of each seed, 25 unless told; PS_TEST_SEED is the first seed, and repeats the moments as far as the
#             machine does
#   --mode    sync (unless told), log (with --durability log), spill (rows on disk) or rows (they come, decay and go):
#             2 servers and 3 trainers, and the models of all passes are the same, bit for bit;
#             device: 2 servers and a trainer whose rows are on emulated devices, in turn on one and on two with
#             --durability log; the models are those of a trainer without a device, bit for bit;
#             heter: 2 servers, 3 readers and 2 compute trainers, of which one may not come again, or a single one
#             with train.pull_ahead, in turn without and with a log; the models are those of plain trainers, bit for bit;
#             staleness, async or geo (local SGD): as many batches count, each once, and the model is as good;
#             peers: trainers without servers, KILLS with each of their strategies (kill_peers_test.sh)
#   --counts  where models differ from run to run, batches alone are compared, which one undisturbed job can tell
#   --asan    one process of ten is of build/asan, PS_ASAN_BIN
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
kills_wanted=25 seeds=1 mode=sync counts=0 asan=0
while (($# > 0)); do
  case $1 in
    --seeds) seeds=$2 && shift ;;
    --mode) mode=$2 && shift ;;
    --counts) counts=1 ;;
    --asan) asan=1 ;;
    [0-9]*) kills_wanted=$1 ;;
    *) usage ;;
  esac
  shift
done
passes=3 kills_a_job=9 trainers=3 computes=0
if [[ $mode == peers ]]; then exec "$PS_SOURCE/tests/e2e/kill_peers_test.sh" --seeds "$seeds" "$kills_wanted"; fi
first_seed=${PS_TEST_SEED:-$RANDOM}
unset PS_TEST_SEED # programs would warn of it
seed=$first_seed
checkpoint='{"directory": "checkpoints", "period": 0, "steps": 15, "full_every": 3}'
types=(--set train.strategy.codec.push=f16) # what rounding takes from gradients comes back too
server_flags=() exact=1
write_job killed "$checkpoint"
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
  device) trainers=1 types=(--set checkpoint.steps=5) ;; # a step on an emulated device takes long
  heter)
    source "$PS_SOURCE/tests/e2e/heter_job.sh"
    heter_types=(--set "checkpoint=$checkpoint" --set cluster.server_timeout=60 --set cluster.trainer_timeout=60)
    types=("${heter_types[@]}")
    ;;
  *) usage ;;
esac
declare -A supervisors=() # by the names of the processes: s0, s1, t0, t1, t2, c0, c1
first_ports=()
trap 'end_all; remove_scratch' EXIT

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
  run ps-train job.json --servers "$addresses" --trainers $trainers --rank "$1" --data train.txt --passes $passes \
    --save-dir "$folder" "${types[@]}" "${role[@]}" >>"train.$1.out" 2>>"train.$1.err"
}
run_compute() {
  run ps-train job.json --role compute --servers "$addresses" --port "${compute_ports[$1]}" "${types[@]}" \
    >>"compute.$1.out" 2>>"compute.$1.err"
}

# start_supervised NAME RESTARTS COMMAND...: the process of that name.
start_supervised() {
  supervise "id.$1" "${@:2}" &
  supervisors[$1]=$!
  names+=("$1")
}

# start_computes: $computes of them; the trainers are readers then.  The second may be one that never comes again once it
# was killed: its readers go on with the first.
start_computes() {
  local c compute_addresses=() restarts=(1000 $((RANDOM % 2 * 1000)))
  compute_ports=()
  for ((c = 0; c < computes; ++c)); do
    compute_ports[c]=$(free_ports 1)
    compute_addresses+=("127.0.0.1:${compute_ports[c]}")
    start_supervised c$c "${restarts[c]}" run_compute $c
  done
  role+=(--role reader --compute "$(IFS=, && echo "${compute_addresses[*]}")")
}

# start_job FOLDER [flags...]: all of it, under supervisors; models go to the folder, and trainers have the flags.
start_job() {
  local s rank
  folder=$1 names=() role=("${@:2}")
  for s in 0 1; do first_ports[s]=$(free_ports 2); done
  rm -rf checkpoints ports.* id.* ./*.err
  for s in 0 1; do start_supervised s$s 1000 run_server $s; done
  for s in 0 1; do wait_for_file ports.$s "${supervisors[s$s]}"; done
  addresses=127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)
  if ((computes > 0)); then start_computes; fi
  for ((rank = 0; rank < trainers; ++rank)); do start_supervised t$rank 1000 run_trainer $rank; done
}

# start_killed_job: one whose processes are killed.  Modes with several kinds of jobs take them in turn.
start_killed_job() {
  local of_killed=() # flags of its trainers alone
  case $mode in
    device)
      of_killed=(--device emulated --set device.rows=256) server_flags=()
      if ((jobs % 2 == 1)); then
        of_killed=(--device emulated:0,emulated:1 --set device.rows=512) server_flags=(--durability log)
      fi
      ;;
    heter)
      computes=2 types=("${heter_types[@]}") server_flags=()
      if ((jobs % 2 == 1)); then computes=1 types+=(--set train.pull_ahead=3); fi
      if ((jobs / 2 % 2 == 1)); then server_flags=(--durability log); fi
      ;;
  esac
  start_job killed "${of_killed[@]}"
}

# await_trainers: until all of them have ended; fails the test if one has ended with an error.
await_trainers() {
  local rank
  for ((rank = 0; rank < trainers; ++rank)); do
    wait "${supervisors[t$rank]}" ||
      fail "seed $seed, job $jobs: trainer $rank ended with $? after kills of$killed_names: $(tail -n 5 ./*.err)"
  done
}

# Returns 0 if all trainers have ended; fails the test if one has ended with an error.
trainers_ended() {
  local rank
  for ((rank = 0; rank < trainers; ++rank)); do kill -0 "${supervisors[t$rank]}" 2>/dev/null && return 1; done
  await_trainers
}

# finish_job: until the trainers have ended.
finish_job() {
  local c
  await_trainers
  for ((c = 0; c < computes; ++c)); do end_compute $c; done
  end_with_supervisors "${supervisors[s0]}" "${supervisors[s1]}"
  supervisors=()
}

# end_compute C: ends the compute trainer, unless it has ended with the run.  One that came again too late has no readers
# that could tell it of the end.
end_compute() {
  local status=0
  kill -TERM "${supervisors[c$1]}" 2>/dev/null || true
  wait "${supervisors[c$1]}" || status=$?
  [[ $status =~ ^(0|137|143|255)$ ]] ||
    fail "seed $seed, job $jobs: compute trainer $1 ended with $status after kills of$killed_names: $(tail -n 5 ./*.err)"
}

# Kills some process, or two at once, after a random while.
kill_some() {
  local count=$((RANDOM % 4 == 0 ? 2 : 1)) name
  sleep "0.$(printf %03d $((RANDOM % 700 + 20)))"
  for ((; count > 0; --count)); do
    name=${names[RANDOM % ${#names[@]}]}
    if kill -9 "$(<"id.$name")" 2>/dev/null; then
      kills=$((kills + 1))
      killed_names+=" $name"
      if [[ $name == s* ]]; then server_kills=$((server_kills + 1)); fi
    fi
  done
}

case $mode in
  heter) ps-datagen criteo --samples 12000 --output train.txt ;;
  device) ps-datagen sparse-binary --dim 3000 --samples 400 --output train.txt ;;
  *) ps-datagen sparse-binary --dim 5000 --samples 12000 --output train.txt ;;
esac

# cost FOLDER: of its last model, on the data that it was trained with.
cost() {
  ps-train --model "$1/pass-0000$((passes - 1))" --job test --data train.txt --json 2>test.err |
    sed -n 's/.*"cost":\([0-9.e+-]*\).*/\1/p' | tail -n 1
}

# The batches of all trainers that the last checkpoint counts as applied.
counted_batches() {
  ps-ckpt2model checkpoints --inspect | sed -n 's/.*batches of each trainer: //p' |
    awk '{for (i = 1; i <= NF; ++i) sum += $i} END {print sum + 0}'
}

# expect_as_calm: the job that was disturbed has ended as one that was not.
expect_as_calm() {
  local pass
  [[ $(counted_batches) == "$calm_batches" ]] ||
    fail "seed $seed, job $jobs: it ended with $(counted_batches) batches, expected $calm_batches"
  if ((exact)); then
    for ((pass = 0; pass < passes; ++pass)); do
      cmp calm/pass-0000$pass/model.safetensors killed/pass-0000$pass/model.safetensors ||
        fail "seed $seed, job $jobs: another model in pass $pass after kills of$killed_names: $(tail -n 5 ./*.err)"
    done
    return
  fi
  ((!counts)) || return 0
  awk "BEGIN {exit !($(cost killed) <= $highest_cost)}" ||
    fail "seed $seed, job $jobs: the cost is $(cost killed), undisturbed at most $highest_cost"
}

# Undisturbed jobs: where they differ from run to run, five of them, whose highest cost with as much again as lies
# between them is the bar, and a tenth of it for what five do not show.
calm_jobs=$((exact || counts ? 1 : 5)) costs= jobs=0 killed_names=
for ((calm = 0; calm < calm_jobs; ++calm)); do
  rm -rf calm
  start_job calm
  finish_job
  ((exact)) || costs+=" $(cost calm)"
done
calm_batches=$(counted_batches)
((calm_batches > 0)) || fail "the undisturbed job's checkpoints count no batches"
if ((!exact && !counts)); then
  highest_cost=$(awk '{low = high = $1; for (i = 2; i <= NF; ++i) {if ($i < low) low = $i; if ($i > high) high = $i}
    print (2 * high - low) * 1.1}' <<<"$costs")
fi
kills=0 server_kills=0
for ((seed = first_seed; seed < first_seed + seeds; ++seed)); do
  RANDOM=$seed last=$((kills + kills_wanted))
  while ((kills < last)); do
    rm -rf killed
    start_killed_job
    jobs=$((jobs + 1)) before=$kills killed_names=
    while ((kills - before < kills_a_job && kills < last)) && ! trainers_ended; do kill_some; done
    finish_job
    expect_as_calm
  done
done
if grep -l AddressSanitizer ./*.err; then fail "seed $seed: a sanitizer has found something: $(cat ./*.err)"; fi
recoveries=$(cat ./*.err | grep -c 'going back to the last checkpoint' || true)
echo "$kills processes killed in $jobs jobs of mode $mode, $server_kills of them servers; the models are" \
  "$( ((exact)) && echo "the same" || echo "$( ((counts)) && echo "not compared" || echo "as good (cost at most $highest_cost)")"), of $calm_batches batches" \
  "(seeds from $first_seed, $recoveries times a trainer went back in the last job)"
