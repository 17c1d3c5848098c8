#!/bin/bash
# Trainers with servers end early after the same pass, the one at which one process ends, and know the passes before when
# one of them, or all processes, were killed.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3
servers=() trainers=() compute=
trap 'kill -9 "${servers[@]}" "${trainers[@]}" $compute 2>/dev/null || true; remove_scratch' EXIT

# So few examples are learnt by heart: the cost of others falls, and then rises.
cat >job.json <<'JSON'
{
  "job": {"name": "overfit"},
  "data": {"format": "paddle_sparse_binary", "dim": 1000, "batch_size": 20, "validation": 0.25},
  "model": {
    "layers": [
      {"name": "hidden", "type": "fc", "input": "features", "size": 8, "activation": "tanh", "sparse_update": true},
      {"name": "output", "type": "fc", "input": "hidden", "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.03},
  "train": {"passes": 40, "log_period": 0, "saving_period": 1000000, "patience": 3},
  "cluster": {"server_timeout": 30, "trainer_timeout": 30}
}
JSON
ps-datagen sparse-binary --dim 1000 --samples 1510 --output train.txt

# train NAME RANK [flags...]: starts a trainer of three.
train() {
  local name=$1 rank=$2
  shift 2
  ps-train job.json --servers "127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)" --trainers 3 --rank "$rank" \
    --data train.txt --save-dir "$name" --json "$@" >"$name.$rank.json" 2>>"$name.$rank.err" &
  trainers[rank]=$!
}

# finish NAME: the trainers end well.
finish() {
  local rank
  for rank in 0 1 2; do
    wait "${trainers[$rank]}" || fail "trainer $rank ended with $?: $(tail -n 5 "$1".*.err)"
  done
  trainers=()
}

# finish_one NAME: trainer 0 ends well.
finish_one() {
  wait "${trainers[0]}" || fail "trainer 0 ended with $?: $(tail -n 5 "$1".*.err)"
  trainers=()
}

# await FILE TEXT ID: until the file, which the process writes, has the text.
await() {
  timeout 120 grep -m1 -- "$2" <(tail -n +1 -F --pid="$3" "$1" 2>/dev/null) >/dev/null || fail "no $2 in $1: $(tail -n 3 ./*.err)"
}

# murder ID...
murder() {
  local id
  kill -9 "$@" || fail "a process had ended before it was killed"
  for id in "$@"; do wait "$id" 2>/dev/null || true; done
}

# last FILE, best FILE: the last pass, and the best one.
last() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["passes"][-1]["pass"])' "$1"; }
best() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["best"]["pass"])' "$1"; }

echo "three trainers end after the pass at which one process ends that has the same steps"
ps-train job.json --data train.txt --set data.batch_size=60 --save-dir one --json >one.json 2>err || fail "$(cat err)"
pass=$(best one.json)
((pass > 0 && pass < 30)) || fail "one process: the best pass is $pass"
[[ $(last one.json) == $((pass + 3)) ]] || fail "one process ended after pass $(last one.json)"
begin_two_servers job.json
for rank in 0 1 2; do train three "$rank"; done
finish three
[[ $(best three.0.json) == "$pass" ]] || fail "the best pass is $(best three.0.json)"
[[ $(last three.0.json) == $((pass + 3)) ]] || fail "they ended after pass $(last three.0.json)"
[[ $(readlink three/best) == "$(readlink one/best)" ]] || fail "three/best is $(readlink three/best)"
end_all_servers

# begin_readers NAME AHEAD [flags...]: three readers, with ${reader[@]} as their flags, of a compute trainer, $compute.
begin_readers() {
  local name=$1 rank
  local pull=(--set "train.pull_ahead=$2")
  shift 2
  begin_two_servers job.json "${pull[@]}"
  rm -f compute.port
  ps-train job.json --servers "127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)" --role compute --port 0 \
    --port-file compute.port "${pull[@]}" >compute.out 2>compute.err &
  compute=$!
  wait_for_file compute.port "$compute"
  reader=("${pull[@]}" --role reader --compute "127.0.0.1:$(<compute.port)" "$@")
  for rank in 0 1 2; do train "$name" "$rank" "${reader[@]}" --metrics "$name.$rank.jsonl"; done
}

# finish_readers NAME: they end well, and the compute trainer with them.
finish_readers() {
  finish "$1"
  wait "$compute" || fail "the compute trainer ended with $?: $(<compute.err)"
  compute=
  expect_text compute.err 'The run has ended: '
}

for ahead in 0 3; do
  echo "so do readers of a compute trainer, with $ahead batches pulled ahead, and it ends with them"
  name=readers.$ahead
  begin_readers "$name" "$ahead"
  finish_readers "$name"
  [[ $(last "$name".0.json) == $((pass + 3)) ]] || fail "they ended after pass $(last "$name".0.json)"
  [[ $(readlink "$name/best") == "$(readlink one/best)" ]] || fail "$name/best is $(readlink "$name/best")"
  cmp "three/best/model.safetensors" "$name/best/model.safetensors"
  end_all_servers
done

echo "so do trainers of which each push is a step"
begin_two_servers job.json --set train.strategy.consistency=async
for rank in 0 1 2; do train async "$rank" --set train.strategy.consistency=async; done
finish async
(($(last async.0.json) == $(best async.0.json) + 3 || $(last async.0.json) == 39)) || fail "$(cat async.0.json)"
end_all_servers

echo "the one that measures is killed, and the one in its place learns of the passes from the others"
on=(--set train.patience=300 --passes 1000000)
begin_two_servers job.json
for rank in 0 1 2; do train killed "$rank" "${on[@]}" --metrics "killed.$rank.jsonl"; done
await killed.0.jsonl "\"event\":\"validation\",.*\"pass\":$((pass + 2))," "${trainers[0]}"
murder "${trainers[0]}"
train killed 0 "${on[@]}" --metrics again.jsonl
finish killed
[[ $(last killed.0.json) == $((pass + 300)) ]] || fail "they ended after pass $(last killed.0.json)"
[[ $(best killed.0.json) == "$pass" ]] || fail "the best pass is $(best killed.0.json)"
cmp {three,killed}/best/model.safetensors
end_all_servers

# same_passes FILE OTHER: the passes of the first, of which there are some, have the figures of the same passes of the other;
# in one at most the figures of training lack the batches of a process that was killed.
same_passes() {
  python3 - "$@" <<'PY' || fail "other figures: $1, $2"
import json, sys
def figures(name):
    def of(entry):
        return {key: of(value) if isinstance(value, dict) else value for key, value in entry.items() if "seconds" not in key}
    return {entry["pass"]: of(entry) for entry in json.load(open(name))["passes"]}
some, other = map(figures, sys.argv[1:])
differ = [number for number, entry in some.items() if entry != other.get(number)]
lacks = [number for number in differ if some[number]["batches"] < other[number]["batches"]
         and some[number].get("validation") == other[number].get("validation")]
sys.exit(f"{len(some)} passes, {differ} differ: {some}, {other}" if len(lacks) > 1 or differ != lacks or len(some) < 10 else 0)
PY
}

echo "the reader that measures is killed in the midst of a pass, and each example counts once"
begin_two_servers job.json
for rank in 0 1 2; do train calm "$rank" "${on[@]}"; done
finish calm
end_all_servers
for ahead in 0 3; do
  name=killed.reader.$ahead
  begin_readers "$name" "$ahead" "${on[@]}"
  await "$name.0.jsonl" "\"event\":\"validation\",.*\"pass\":$((pass + 2))," "${trainers[0]}"
  murder "${trainers[0]}"
  train "$name" 0 "${reader[@]}" --metrics again.jsonl
  finish_readers "$name"
  expect_text "$name.0.err" 'Resuming in pass'
  [[ $(last "$name".0.json) == $((pass + 300)) ]] || fail "they ended after pass $(last "$name".0.json)"
  [[ $(best "$name".0.json) == "$pass" ]] || fail "the best pass is $(best "$name".0.json)"
  same_passes "$name.0.json" calm.0.json
  end_all_servers
done

echo "all are killed, and those that resume from a checkpoint know the passes before"
checkpoints=(--checkpoint-dir checkpoints --set checkpoint.steps=7)
begin_two_servers job.json "${checkpoints[@]}"
for rank in 0 1 2; do train resumed "$rank" "${on[@]}" --metrics "resumed.$rank.jsonl"; done
await resumed.0.jsonl "\"event\":\"validation\",.*\"pass\":$((pass + 2))," "${trainers[0]}"
steps=$(((pass + 2) * 19))
has_later() { awk -F'[- ]' -v "steps=$steps" '$2 + 0 > steps { found = 1 } END { exit !found }' checkpoints/LATEST 2>/dev/null; }
for ((i = 0; i < 2400; ++i)); do
  has_later && break
  sleep 0.05
done
has_later || fail "no checkpoint after step $steps"
murder "${trainers[@]}" "${servers[@]}"
begin_two_servers job.json "${checkpoints[@]}" --resume
for rank in 0 1 2; do train resumed "$rank" "${on[@]}" --metrics "rest.$rank.jsonl"; done
finish resumed
expect_text resumed.0.err 'Resuming in pass'
[[ $(last resumed.0.json) == $((pass + 300)) ]] || fail "they ended after pass $(last resumed.0.json)"
[[ $(best resumed.0.json) == "$pass" ]] || fail "the best pass is $(best resumed.0.json)"
cmp {three,resumed}/best/model.safetensors

# come_late: a trainer alone ends well, as there is nothing to train, and says so.
come_late() {
  rm -f late.0.err
  train late 0 "${on[@]}"
  finish_one late
  expect_text late.0.err "The run has ended early, after $((pass + 301)) of 1000000 passes: there is nothing left to train"
}

echo "a trainer that comes after the end is told of it, and by servers that were started again"
come_late
end_all_servers
begin_two_servers job.json "${checkpoints[@]}" --resume
come_late
end_all_servers
echo passed
