#!/bin/bash
# Trainers of one job that are told to end at about the same time: each ends well and soon, whomever it waits for, and
# the model that is saved has the steps that all of them have done.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
server=() trainers=() checkpoints=()
trap 'kill -9 "${server[@]}" "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# serve: a new server, in place of the one before.
serve() {
  end_server
  rm -rf ready ckpt
  mkfifo ready
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file ports --ports-num 2 "${checkpoints[@]}" >ready 2>serve.err &
  server=($!)
  head -1 ready >serve.out
}

end_server() {
  ((${#server[@]} > 0)) || return 0
  kill -TERM "${server[@]}"
  wait "${server[@]}" || fail "the server ended with $?: $(cat serve.err)"
  server=()
}

# train RANK FOLDER DATA [flags...]: starts one of two trainers.
train() {
  local rank=$1 folder=$2 data=$3
  shift 3
  ps-train "$job" --servers "127.0.0.1:$(head -1 ports)" --rank "$rank" --trainers 2 --save-dir "$folder" \
    --data "$data" --set train.log_period=1 "$@" 2>"$folder.$rank.err" &
  trainers[rank]=$!
}

# await FILE TEXT: until a trainer has written it.
await() { until grep -qs "$2" "$1"; do kill -0 "${trainers[@]}" || fail "'$2' does not come in $1"; done; }

# end_trainers: tells both to end, which they do long before anybody would miss them.
end_trainers() {
  local id begin=$SECONDS status
  kill -TERM "${trainers[@]}"
  for id in "${trainers[@]}"; do
    status=0
    wait "$id" || status=$?
    [[ $status == 143 ]] || fail "a trainer ended with $status: $(tail -n 5 ./*.err)"
  done
  ((SECONDS - begin < 40)) || fail "it took $((SECONDS - begin)) s"
  trainers=()
}

# predict MODEL: a model may have rows that were asked for and never trained.
predict() { ps-train "$job" --job predict --init-model "$1" --data both.txt --log-level warning; }

# one_waits WAITING FOLDER: that trainer has pushed a batch more than the other, which has no more data for now.
one_waits() {
  local waiting=$1 folder=$2 lines=(800 800)
  lines[waiting]=2400
  serve
  for rank in 0 1; do train $rank "$folder" pipe.$rank; done
  exec 3>pipe.0 4>pipe.1
  head -"${lines[0]}" train.txt >&3
  head -"${lines[1]}" train.txt >&4
  await "$folder.0.err" "Batch=$((waiting == 0 ? 3 : 2)) "
  end_trainers
  exec 3>&- 4>&-
  predict "$folder"/pass-00000-batch-* | cmp predicted -
}

ps-datagen ctr --samples 40000 --output train.txt
head -800 train.txt >both.txt
mkfifo pipe.0 pipe.1
echo "what two batches of each give"
serve
for rank in 0 1; do train $rank both both.txt --passes 1; done
for rank in 0 1; do wait "${trainers[$rank]}" || fail "$(cat ./*.err)"; done
predict both/pass-00000 >predicted

echo "the one that saves waits for the other, or the other way round"
one_waits 0 first
one_waits 1 second

echo "they are told at any moment, with and without checkpoints"
for checkpoints in "" "--checkpoint-dir ckpt --set checkpoint.steps=20"; do
  read -ra checkpoints <<<"$checkpoints"
  for moment in 37 74 111; do
    serve
    rm -rf any any.*
    for rank in 0 1; do train $rank any train.txt --passes 1000 --set data.batch_size=20; done
    await any.0.err "Batch=$moment "
    end_trainers
    compgen -G 'any/pass-*-batch-*/model.safetensors' >/dev/null || fail "no model: $(tail -n 5 any.0.err)"
  done
done

echo "one alone is told: the other hears of it at once, says so, and ends"
serve
for rank in 0 1; do train $rank alone train.txt --passes 1000 --set data.batch_size=20; done
await alone.0.err "Batch=37 "
begin=$SECONDS
kill -TERM "${trainers[0]}"
for expected in 0:143 1:4; do
  status=0
  wait "${trainers[${expected%:*}]}" || status=$?
  [[ $status == "${expected#*:}" ]] || fail "trainer ${expected%:*} ended with $status: $(tail -n 5 alone.*.err)"
done
((SECONDS - begin < 20)) || fail "it took $((SECONDS - begin)) s"
grep -q "trainer 0 of 2 was ended before the run was done, at step" alone.1.err || fail "$(tail -n 5 alone.1.err)"
trainers=()
end_server

echo "a trainer that does not come is mentioned within seconds"
serve
train 0 lonely train.txt
begin=$SECONDS
await lonely.0.err "trainer 1 of 2 is not there"
((SECONDS - begin < 20)) || fail "it took $((SECONDS - begin)) s"
kill -TERM "${trainers[0]}"
wait "${trainers[0]}" || true
trainers=()
end_server

echo "there is no server"
for rank in 0 1; do train $rank none train.txt; done
for rank in 0 1; do await none.$rank.err waiting; done
end_trainers
echo passed
