#!/bin/bash
# The promise of --durability log: servers of a job with 2 of them and 3 trainers are killed at random moments and
# started again, and nobody goes back: no run begins anew, the models of all passes equal those of the undisturbed
# run, bit for bit, and in asynchronous mode every push that was acknowledged is applied, once.
#
# usage: push_log_test.sh [KILLS]      6 in each mode unless told; PS_TEST_SEED repeats the moments, as far as the
# machine does
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
kills_wanted=${1:-6}
passes=3 batches=150 # of each trainer, in each pass
seed=${PS_TEST_SEED:-$RANDOM}
RANDOM=$seed
supervisors=() trainers=() mode=()
trap 'end_all; remove_scratch' EXIT

end_all() {
  local id
  for id in "${supervisors[@]}" "${trainers[@]}"; do kill -9 "$id" 2>/dev/null || true; done
  for id in id.*; do [[ ! -s $id ]] || kill -9 "$(<"$id")" 2>/dev/null || true; done
}

# One server, in place of this shell.  One that comes again has its ports, and looks for its log.
run_server() {
  local resume=()
  if [[ -s ports.$1 ]]; then resume=(--resume); fi
  exec ps-serve job.json "${mode[@]}" --host 127.0.0.1 --port "${first_ports[$1]}" --ports-num 2 --durability log \
    --status-port "${status_ports[$1]}" --port-file "ports.$1" "${resume[@]}" >>"serve.$1.out" 2>>"serve.$1.err"
}

# start_job FOLDER: models go to the folder.
start_job() {
  local s rank first
  first_ports=() status_ports=()
  rm -rf checkpoints ports.* id.* ./*.err
  first=$(free_ports 6) # together, so that none is another's
  for s in 0 1; do first_ports[s]=$((first + 3 * s)) status_ports[s]=$((first + 3 * s + 2)); done
  for s in 0 1; do
    supervise id.$s 1000 run_server $s &
    supervisors[s]=$!
  done
  for s in 0 1; do
    wait_for_file ports.$s "${supervisors[s]}" || fail "server $s did not begin: $(tail -n 5 serve.$s.err)"
  done
  for rank in 0 1 2; do
    ps-train job.json "${mode[@]}" --servers "127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)" --trainers 3 \
      --rank $rank --data train.txt --passes $passes --save-dir "$1" >"train.$rank.out" 2>"train.$rank.err" &
    trainers[rank]=$!
  done
}

trainers_end() {
  local rank
  for rank in 0 1 2; do kill -0 "${trainers[rank]}" 2>/dev/null && return 1; done
}

# The trainers have ended, and well, and nobody has gone back.
end_trainers() {
  local rank
  for rank in 0 1 2; do
    wait "${trainers[rank]}" || fail "seed $seed: trainer $rank ended with $?: $(tail -n 5 ./*.err)"
  done
  trainers=()
  ! grep -h 'going back\|Going on from' ./*.err || fail "seed $seed: a run was begun again"
}

end_servers() {
  end_with_supervisors "${supervisors[@]}"
  supervisors=()
}

# Servers are killed while the job runs.
kill_servers() {
  local s
  kills=0
  while ((kills < kills_wanted)) && ! trainers_end; do
    sleep "0.$(printf %03d $((RANDOM % 250 + 20)))"
    s=$((RANDOM % 2))
    if [[ -s id.$s ]] && kill -9 "$(<id.$s)" 2>/dev/null; then kills=$((kills + 1)); fi
  done
}

write_job logged '{"directory": "checkpoints", "period": 0, "steps": 70}'
ps-datagen sparse-binary --dim 5000 --samples $((3 * batches * 20)) --output train.txt

start_job calm
end_trainers
end_servers
start_job killed
kill_servers
end_trainers
end_servers
for ((pass = 0; pass < passes; ++pass)); do
  cmp calm/pass-0000$pass/model.safetensors killed/pass-0000$pass/model.safetensors ||
    fail "seed $seed: another model in pass $pass"
done
echo "synchronous: $kills servers killed, $(cat serve.*.err | grep -c 'Taking the run up') shards took the run up," \
  "the models are the same (seed $seed)"

# applied S: pushes that the shards of server S have applied.
applied() {
  curl -sf "http://127.0.0.1:${status_ports[$1]}/metrics" | sed -n 's/^pskit_shard_steps_total{.*} //p' | sort -u
}

# With every push a step of its own, one that is lost, or applied twice, is missing, or too many; and so is a step of
# all trainers.  Whoever reads has the logs of servers that were killed at the end read.
for name in async staleness local_sgd; do
  case $name in
    async) mode=(--set train.strategy.consistency=async) expected=$((3 * batches * passes)) ;;
    staleness) mode=(--set 'train.strategy={"consistency": "staleness", "staleness": 2}') expected=$((batches * passes)) ;;
    local_sgd) mode=(--set 'train.strategy={"type": "local_sgd", "period": 4}') expected= ;;
  esac
  start_job $name
  kill_servers
  end_trainers
  ps-train job.json "${mode[@]}" --servers "127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)" --job test \
    --data train.txt 2>test.err
  for s in 0 1; do
    deadline=$((SECONDS + 20)) # the pages show what was some time ago
    until [[ -z $expected || $(applied $s) == "$expected" ]]; do
      ((SECONDS < deadline)) || fail "seed $seed, $name: server $s has applied $(applied $s), expected $expected"
    done
  done
  end_servers
  for ((pass = 0; pass < passes; ++pass)); do
    [[ -s $name/pass-0000$pass/model.safetensors ]] || fail "seed $seed, $name: no model of pass $pass"
  done
  echo "$name: $kills servers killed, every step is applied once"
done
