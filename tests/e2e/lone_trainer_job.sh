# Two servers and a trainer that trains alone, of a job with parameters of all kinds.  Sourced after lib.sh and common.sh, in
# $scratch; $flags are flags of all processes, $trainer_flags those of the trainer that is to be disturbed, and $plain is the
# folder of what an undisturbed one saved.
servers=() trainer=                   # process ids
flags=() trainer_flags=() plain=
trap 'kill -9 "${servers[@]}" $trainer 2>/dev/null || true; remove_scratch' EXIT

# A schedule of learning rates, for optimizers.
poly='"schedule": {"type": "poly", "a": 0.01, "b": 0.5}'

# Two sparse tables, one of them with rows in every batch; rows that are trained whole, matrices, and running means.
cat >job.json <<'JSON'
{
  "job": {"name": "alone"},
  "data": {"format": "paddle_sparse_binary", "dim": 3000, "batch_size": 20},
  "model": {
    "layers": [
      {"name": "wide", "type": "fc", "input": "features", "size": 2, "sparse_update": true},
      {"name": "vectors", "type": "embedding", "input": "features", "size": 5, "sparse_update": true},
      {"name": "deep", "type": "fc", "input": "features", "size": 4, "activation": "tanh"},
      {"name": "normal", "type": "batch_norm", "input": "deep"},
      {"name": "output", "type": "fc", "input": ["wide", "vectors", "normal"], "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "output"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "momentum", "momentum": 0.9, "learning_rate": 0.01, "l2": 0.0001},
  "train": {"passes": 2, "log_period": 1},
  "cluster": {"server_timeout": 30, "trainer_timeout": 30}
}
JSON

# serve [flags...]: both servers, on the ports that they had before, if any.
serve() {
  local s
  for s in 0 1; do serve_one $s "$@"; done
  addresses=127.0.0.1:$(head -1 ports.0),127.0.0.1:$(head -1 ports.1)
}

# serve_one S [flags...]: server number S.
serve_one() {
  local s=$1 port
  shift
  if [[ -s ports.$s ]]; then port=$(head -1 "ports.$s"); else port=$(free_ports 2); fi
  rm -f "ready.$s"
  mkfifo "ready.$s"
  ps-serve job.json --host 127.0.0.1 --port "$port" --port-file "ports.$s" --ports-num 1 --ports-num-for-sparse 1 "$@" \
    >"ready.$s" 2>>"serve.$s.err" &
  servers[s]=$!
  timeout 60 head -1 "ready.$s" >"serve.$s.out" || true
  [[ -s serve.$s.out ]] || fail "server $s: $(cat "serve.$s.err")"
}

# start FOLDER [flags...]: the trainer.
start() {
  local folder=$1
  shift
  ps-train job.json --data train.txt --servers "$addresses" --save-dir "$folder" --json "$@" >"$folder.json" 2>>"$folder.err" &
  trainer=$!
}

# finish FOLDER: it ends well.
finish() {
  wait "$trainer" || fail "the trainer ended with $?: $(tail -n 5 "$1.err")"
  trainer=
}

train() {
  start "$@"
  finish "$1"
}

# same_models FOLDER OTHER: of all passes.
same_models() {
  local pass
  for pass in 0 1; do
    cmp "$1/pass-0000$pass/model.safetensors" "$2/pass-0000$pass/model.safetensors" || fail "another model: $2"
  done
}

# same_figures FOLDER OTHER: the trainers said the same of their passes and tests, but for times.
same_figures() {
  [[ $(figures "$1.json") == "$(figures "$2.json")" ]] || fail "other figures: $(cat "$2.json")"
}
figures() { grep -o '"samples":[0-9]*,"avg_cost":[^,]*\|"cost":[0-9.]*' "$1"; }

# begin FILE TEXT COUNT [server flags...]: the job, slowly, until the file has so many lines with the text; false when it has
# ended before.
begin() {
  local file=$1 text=$2 count=$3 status=0
  shift 3
  rm -rf checkpoints killed killed.* serve.?.err
  touch serve.0.err killed.err
  serve "${flags[@]}" "$@"
  start killed "${flags[@]}" "${trainer_flags[@]}"
  slowly "$trainer"
  timeout 60 grep -m"$count" -- "$text" <(tail -n +1 -F --pid="$trainer" "$file" 2>/dev/null) >awaited || true
  (($(wc -l <awaited) == count)) && kill -0 "$trainer" 2>/dev/null || status=1
  return $status
}

murder() {
  kill -9 "$@" 2>/dev/null || true
  wait "$@" 2>/dev/null || true
}

# kill_server S: it comes again, and all go on from the newest of its $checkpoints, which are the flags for these.
kill_server() {
  local status=0
  begin serve.0.err 'Checkpoint at step ' 2 "${checkpoints[@]}" || status=1
  murder "${servers[$1]}"
  serve_one "$1" "${flags[@]}" "${checkpoints[@]}" --resume
  rm -f slow
  finish killed
  end_all_servers
  same_models "$plain" killed
  ((status == 0)) && grep -q 'going back to the last checkpoint' killed.err
}

# kill_all [flags of the trainer that comes then...]: all of it goes on with --resume.
kill_all() {
  local status=0
  begin serve.0.err 'Checkpoint at step ' 2 "${checkpoints[@]}" || status=1
  murder "$trainer" "${servers[@]}"
  rm -f slow ports.*
  serve "${flags[@]}" "${checkpoints[@]}" --resume
  train killed "${flags[@]}" --resume "$@"
  end_all_servers
  cmp "$plain/pass-00001/model.safetensors" killed/pass-00001/model.safetensors || fail "another model"
  ((status == 0)) && grep -q 'Resuming in pass [0-9]* after [1-9][0-9]* batches$' killed.err
}
