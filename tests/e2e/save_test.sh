#!/bin/bash
# Models saved in the midst of a pass, and by trainers of which one is elected.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
servers=() trainers=()
trap 'kill "${servers[@]}" "${trainers[@]}" 2>/dev/null || true; remove_scratch' EXIT
ps-datagen ctr --samples 4000 --output first.txt
ps-datagen ctr --first 4000 --samples 4000 --output second.txt
mkfifo first.pipe second.pipe

# until_text FILE TEXT PID: waits until the program has written it.
until_text() {
  while ! grep -q "$2" "$1"; do kill -0 "$3" || fail "$(cat "$1")"; done
}

# batches_in SAVED: after how many batches its one model of an unfinished pass was saved.
batches_in() {
  local found=("$1"/pass-00000-batch-*)
  [[ ${#found[@]} == 1 && -f ${found[0]}/model.safetensors ]] || fail "$1 has $(ls -R "$1")"
  echo "${found[0]##*-}"
}

train=(ps-train "$job" --passes 1 --set train.log_period=1)

# ask_in_mid_pass SAVED: trains on the first data, and asks for the model on the way.
ask_in_mid_pass() {
  "${train[@]}" --data first.pipe --save-dir "$1" 2>"$1.err" &
  trainers=($!)
  exec 3>first.pipe
  head -1000 first.txt >&3
  until_text "$1.err" Batch=2 "${trainers[0]}"
  kill -USR1 "${trainers[0]}"
  tail -n +1001 first.txt >&3
  exec 3>&-
  wait "${trainers[0]}" || fail "$(cat "$1.err")"
}

echo "SIGUSR1 saves the model after the batch that is trained on, and changes nothing"
"${train[@]}" --data first.txt --save-dir undisturbed --log-level warning
ask_in_mid_pass asked
cmp undisturbed/pass-00000/model.safetensors asked/pass-00000/model.safetensors
batches=$(batches_in asked)
head -$((200 * batches)) first.txt | "${train[@]}" --save-dir cut --log-level warning
cmp cut/pass-00000/model.safetensors "asked/pass-00000-batch-$batches/model.safetensors"
"${train[@]}" --job test --init-model "asked/pass-00000-batch-$batches" --data second.txt --log-level warning

echo "training goes on when there is no room for the model"
mkdir full
touch full/pass-00000-batch-{1..20}  # no folder can be made there
ask_in_mid_pass full
expect_text full.err 'training goes on: '
cmp undisturbed/pass-00000/model.safetensors full/pass-00000/model.safetensors

# serve NAME [flags...]: starts a server; its first port is added to $addresses.
serve() {
  mkfifo "$1.ready"
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file "$1.port" --ports-num 2 "${@:2}" >"$1.ready" 2>"$1.err" &
  servers+=($!)
  head -1 "$1.ready" >"$1.out"
  addresses+=${addresses:+,}127.0.0.1:$(head -1 "$1.port")
}

# with_servers [flags...]: starts two new ones.
with_servers() {
  [[ ${#servers[@]} == 0 ]] || kill -TERM "${servers[@]}"
  wait "${servers[@]}"
  servers=() addresses=
  rm -f one.* two.*
  serve one "$@"
  serve two "$@"
}

# pair SAVED DATA DATA [flags...]: starts two trainers, each with one of the data; it trains on every other batch of them.
pair() {
  local saved=$1 data=("$2" "$3") rank
  shift 3
  trainers=()
  for rank in 0 1; do
    "${train[@]}" --servers "$addresses" --rank $rank --trainers 2 --save-dir "$saved" --data "${data[rank]}" "$@" \
      2>"$saved.$rank.err" &
    trainers+=($!)
  done
}

end_pair() {
  for trainer in "${trainers[@]}"; do wait "$trainer" || fail "$(cat ./*.err)"; done
}

# ask_pair SAVED ASKED TRAINS_ON [flags...]: two trainers on both halves of the first data, asked for the model on the way,
# once ASKED, a command, has ended; the last data come once TRAINS_ON has ended.  $folder is that of the model.
ask_pair() {
  local saved=$1 asked=$2 trains_on=$3
  shift 3
  pair "$saved" first.pipe second.pipe "$@"
  exec 3>first.pipe 4>second.pipe
  head -2000 first.txt | tee /dev/fd/4 >&3
  until_text "$saved.0.err" Batch=2 "${trainers[0]}"
  $asked
  kill -USR1 "${trainers[@]}"
  sed -n 2001,3200p first.txt | tee /dev/fd/4 >&3
  $trains_on
  tail -n +3201 first.txt | tee /dev/fd/4 >&3
  exec 3>&- 4>&-
  end_pair
  folder=$(basename "$saved"/step-*)
  [[ -f $saved/$folder/job.json ]] || fail "$(ls -lR "$saved")"
}

# expect_steps SAVED TRAINED: the model in $folder predicts what one does that was trained so far and no further.
expect_steps() {
  local model
  with_servers
  head -$((400 * 10#${folder#step-})) first.txt >part.txt
  pair "$2" part.txt part.txt
  end_pair
  # It also has rows that the next batches have asked for already, with the weights that they begin with.
  rm -f predictions
  for model in "$2/pass-00000" "$1/$folder"; do
    "${train[@]}" --job predict --init-model "$model" --data first.txt --log-level warning >>predictions
  done
  head -4000 predictions | cmp - <(tail -4000 predictions)
  [[ $(wc -l <predictions) == 8000 ]]
}

until_model_is_begun() {
  while ! grep -qs 'Saving parameters to .*/step-' "$saved".?.err; do kill -0 "${trainers[0]}" || fail "$(cat "$saved".?.err)"; done
}

echo "of two trainers that are both asked one saves, in a folder of its own, what all shards had after one step"
with_servers
ask_pair both : until_model_is_begun
[[ $(cat both.?.err | grep -c "Saving parameters to both/trainer-.*/$folder$") == 1 ]] || fail "$(cat both.?.err)"
[[ $(readlink "both/$folder/model.safetensors") == ../trainer-[01]-*/$folder/model.safetensors ]] || fail "$(ls -l both)"
[[ $(readlink both/pass-00000/model.safetensors) == ../trainer-0-*/pass-00000/model.safetensors ]] || fail "$(ls -l both)"
[[ $(find both -name model.safetensors -type f | wc -l) == 2 ]] || fail "$(find both)"
[[ -z $(find both -name '*.parts-*') ]] || fail "the servers' files are left: $(find both)"
expect_steps both part
with_servers
pair again first.txt first.txt
end_pair
cmp again/pass-00000/model.safetensors both/pass-00000/model.safetensors

echo "where servers write checkpoints that the trainers see, the model is made of one where it is"
until_checkpoint() { until_text one.err 'Checkpoint at step' "${servers[0]}"; }
with_servers --checkpoint-dir checkpoints
ask_pair made : until_checkpoint --checkpoint-dir checkpoints
ps-ckpt2model "checkpoints/$folder" --output - | cmp - "made/$folder/model.safetensors"
cmp made/pass-00000/model.safetensors both/pass-00000/model.safetensors
expect_steps made steps

echo "where they do not see them, of copies"
with_servers --checkpoint-dir hidden
ask_pair copied : until_checkpoint
cmp copied/pass-00000/model.safetensors both/pass-00000/model.safetensors
ps-ckpt2model "hidden/$folder" --output - | cmp - "copied/$folder/model.safetensors"

echo "also of the checkpoint on which that one builds"
increments=(--set checkpoint.steps=1 --set checkpoint.full_every=1000 --set checkpoint.keep=1000)
with_servers --checkpoint-dir built_on "${increments[@]}"
ask_pair based until_checkpoint until_model_is_begun "${increments[@]}"
grep -q '"base"' "built_on/$folder/MANIFEST.json" || fail "$(ls -R built_on)"
cmp based/pass-00000/model.safetensors both/pass-00000/model.safetensors
ps-ckpt2model "built_on/$folder" --output - | cmp - "based/$folder/model.safetensors"
[[ -z $(find based -name '*.parts-*') ]] || fail "the servers' files are left: $(find based)"

echo "servers that save by themselves leave the trainer nothing but the manifest to write"
expect_status 2 "${train[@]}" --data first.txt --load-save-parameters-in-pserver
expect_text err 'there is no checkpoint.directory'
with_servers --checkpoint-dir theirs
pair own first.txt first.txt --checkpoint-dir theirs --load-save-parameters-in-pserver
end_pair
[[ ! -e own/pass-00000/model.safetensors && -L own/pass-00000/MANIFEST.json ]] || fail "$(ls -l own/pass-00000)"
ps-ckpt2model own/pass-00000 --verify
rm -r theirs
for model in own both; do
  "${train[@]}" --job predict --init-model $model/pass-00000 --data second.txt --log-level warning >"$model.predictions"
done
cmp own.predictions both.predictions

echo "nothing is left of what servers kept for trainers"
mkdir scratch
with_servers --scratch-dir scratch
[[ -n $(ls scratch) ]]
pair scratched first.txt first.txt
end_pair
cmp scratched/pass-00000/model.safetensors both/pass-00000/model.safetensors
kill -TERM "${servers[@]}"
wait "${servers[@]}"
[[ -z $(ls scratch) ]] || fail "$(find scratch)"
echo passed
