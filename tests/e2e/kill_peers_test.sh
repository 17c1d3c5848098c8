#!/bin/bash
# The proof of recovery without servers: trainers of a job are killed at random moments, also while they meet, write a
# checkpoint or go on from one; all are started again, and the models are those of the undisturbed job, bit for bit.  So
# residuals, velocities, outer momentum and intervals of every strategy are in its checkpoints.
#
# usage: kill_peers_test.sh [--seeds N] [--strategies NAME,...] [KILLS]
#   KILLS         of each seed and strategy, 1 unless told; PS_TEST_SEED is the first seed, and repeats the moments as far
#                 as the machine does
#   --strategies  of those below, all unless told
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
kills_wanted=1 seeds=1 passes=2 names=
while (($# > 0)); do
  case $1 in
    --seeds) seeds=$2 && shift ;;
    --strategies) names=${2//,/ } && shift ;;
    [0-9]*) kills_wanted=$1 ;;
    *) sed -n '/^# usage/,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0" >&2 && exit 2 ;;
  esac
  shift
done
first_seed=${PS_TEST_SEED:-$RANDOM} seed=
declare -A strategies=(
  [all_reduce]='"type": "all_reduce"'
  [dgc]='"type": "dgc", "sparsity": [0.75, 0.9], "rampup_begin_step": 10, "rampup_step": 20'
  [power_sgd]='"type": "power_sgd", "rank": 2, "begin_step": 5'
  [compressed]='"type": "compressed_all_reduce", "codec": "one_bit", "begin_step": 5'
  [post_local_sgd]='"type": "post_local_sgd", "k_steps": 7, "begin_step": 10'
  [adaptive]='"type": "adaptive_local_sgd", "init_k_steps": 8, "adapt_steps": 30, "begin_step": 10'
  [slow_momentum]='"type": "slow_momentum", "k_steps": 7, "optimizer_state": "averaged"'
  [diloco]='"type": "diloco", "k_steps": 9, "outer_momentum": 0.5'
  [sparse_diloco]='"type": "sparse_diloco", "k_steps": 9, "density": 0.1'
  # On links so slow that no codec costs more than it saves, whatever the machine does meanwhile.
  [auto]='"type": "auto", "codecs": ["int8"], "latency": 1, "bandwidth": 125000'
)
cat >job.json <<'JSON'
{
  "data": {"format": "paddle_sparse_binary", "dim": 500, "batch_size": 10},
  "model": {
    "layers": [
      {"name": "hidden", "type": "fc", "input": "features", "size": 40, "activation": "tanh"},
      {"name": "normal", "type": "batch_norm", "input": "hidden"},
      {"name": "output", "type": "fc", "input": "normal", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"}
  },
  "optimizer": {"type": "momentum", "momentum": 0.9, "learning_rate": 0.02},
  "train": {"log_period": 0},
  "checkpoint": {"directory": "checkpoints", "period": 0, "steps": 8},
  "cluster": {"trainer_timeout": 30}
}
JSON
ps-datagen sparse-binary --dim 500 --samples 1500 --output train.txt
address=127.$((RANDOM % 254 + 1)).$((RANDOM % 256)).$((RANDOM % 254 + 1)) # of this test alone
trainers=()
trap 'kill -9 "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# start FOLDER [flags...]: three trainers, whose processes are $trainers.
start() {
  local rank
  trainers=()
  for rank in 0 1 2; do
    ps-train job.json --data train.txt --peers "$address" --trainers 3 --rank $rank --passes $passes --save-dir "$1" \
      --set "train.strategy={$strategy, \"algorithm\": \"direct\"}" "${@:2}" >/dev/null 2>>"$rank.err" &
    trainers+=($!)
  done
}

# finish: waits for $trainers.  Returns 1 when one of them was killed or has lost another; else they must have ended well.
finish() {
  local id status lost=0
  for id in "${trainers[@]}"; do
    status=0
    wait "$id" || status=$?
    case $status in
      0) ;;
      4 | 137) lost=1 ;;
      *) fail "$name, seed $seed: a trainer ended with $status: $(tail -n 5 ./*.err)" ;;
    esac
  done
  trainers=()
  return $lost
}

# kill_some: one trainer at a random moment of the time that the calm job took, or all; those that are left notice.
kill_some() {
  sleep "$(awk -v most="$calm_seconds" -v share=$RANDOM 'BEGIN {print 0.02 + most * share / 32768}')"
  kill -9 "${trainers[RANDOM % 3]}" 2>/dev/null || return 0
  kills=$((kills + 1))
  if ((RANDOM % 4 == 0)); then kill -9 "${trainers[@]}" 2>/dev/null || true; fi
}

# end_waiting: whoever waits for one that was killed before they had met, would wait for all of trainer_timeout.
end_waiting() {
  local id
  for id in "${trainers[@]}"; do
    timeout 3 tail --pid="$id" -f /dev/null || kill -9 "$id" 2>/dev/null || true
  done
}

# disturbed: trains from the beginning, and kills, until the job has ended well.
disturbed() {
  local resume=() before
  rm -rf killed checkpoints ./*.err
  while :; do
    before=$kills
    start killed "${resume[@]}"
    if ((kills < last)); then kill_some; fi
    if ((kills > before)); then end_waiting; fi
    if finish; then break; fi
    resume=(--resume) starts=$((starts + 1))
  done
  for ((pass = 0; pass < passes; ++pass)); do
    cmp {calm,killed}/pass-0000$pass/model.safetensors || fail "$name, seed $seed: another model: $(tail -n 5 ./*.err)"
  done
}

kills=0 starts=0 tested=0
for name in ${names:-${!strategies[@]}}; do
  strategy=${strategies[$name]:?"no strategy $name"}
  rm -rf calm checkpoints ./*.err
  begin=$EPOCHREALTIME
  start calm
  finish || fail "$name: a trainer was lost in a calm job: $(tail -n 5 ./*.err)"
  calm_seconds=$(awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN {print end - begin}')
  for ((seed = first_seed; seed < first_seed + seeds; ++seed)); do
    RANDOM=$seed last=$((kills + kills_wanted))
    while ((kills < last)); do disturbed; done
  done
  tested=$((tested + 1))
  echo "$name: $kills trainers killed so far"
done
echo "$kills trainers killed, and all started again $starts times, with $tested strategies without servers; the models are" \
  "the same (seeds from $first_seed)"
