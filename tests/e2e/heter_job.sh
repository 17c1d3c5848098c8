# A job for the tests of heterogeneous training, and its processes.  Sourced after lib.sh; the test then runs in $scratch.
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
processes=()
trap 'kill -9 "${processes[@]}" 2>/dev/null || true; remove_scratch' EXIT

# A wide part and vectors on readers, a table that is whole on compute trainers; a batch_norm, whose statistics are pushed too, and clipping by norm, for which
# servers apply a step in two.
cat >job.json <<'JSON'
{
  "job": {"name": "heter"},
  "data": {"format": "criteo", "dim": 2000, "batch_size": 50},
  "model": {
    "layers": [
      {"name": "wide", "type": "fc", "size": 1, "sparse_update": true, "input": ["C1", "C2", "C3", "C6"]},
      {"name": "vectors", "type": "embedding", "size": 4, "sparse_update": true, "input": ["C1", "C2", "C7", "C9"]},
      {"name": "coarse", "type": "embedding", "size": 3, "input": ["C3", "C4"], "device": "compute"},
      {"name": "all", "type": "concat", "input": ["integers", "vectors", "coarse"]},
      {"name": "even", "type": "batch_norm", "input": "all"},
      {"name": "deep1", "type": "fc", "input": "even", "size": 16, "activation": "relu"},
      {"name": "deep2", "type": "fc", "input": "deep1", "size": 1},
      {"name": "score", "type": "add", "input": ["wide", "deep2"]}
    ],
    "cost": {"type": "binary_cross_entropy", "input": "score"},
    "evaluators": ["auc", "log_loss"]
  },
  "optimizer": {"type": "adam", "learning_rate": 0.002, "clip_global_norm": 1},
  "train": {"passes": 2, "log_period": 100000},
  "cluster": {"server_timeout": 20, "trainer_timeout": 20}
}
JSON

# start NAME COMMAND...: in the background, without the pipe of data; its process is $started.
start() {
  local name=$1
  shift
  "$@" >"$name.out" 2>"$name.err" 3>&- &
  started=$!
  processes+=("$started")
}

# kill_at_once ID: with its port free again when it returns.
kill_at_once() {
  kill -9 "$1"
  wait "$1" || true
}

# end_well ID NAME...: the processes end with 0.
end_well() {
  local status
  while (($# > 0)); do
    status=0
    wait "$1" || status=$?
    [[ $status == 0 ]] || fail "$2 ended with $status: $(tail -n 5 ./*.err)"
    shift 2
  done
}

# serve [flags...]: two servers, the second with ports of their own for sparse parameters; $servers are their processes.
serve() {
  servers=() addresses=
  local name
  rm -f server.*.port
  for name in one two; do
    local ports=()
    if [[ $name == two ]]; then ports=(--ports-num-for-sparse 1); fi
    start server.$name ps-serve job.json --port "$(free_ports 2)" --port-file server.$name.port "${ports[@]}" "$@"
    servers+=("$started")
    wait_for_file server.$name.port "$started"
    addresses+=127.0.0.1:$(head -1 server.$name.port),
  done
}

end_servers() {
  kill -TERM "${servers[@]}"
  end_well "${servers[0]}" server.one "${servers[1]}" server.two
}

# compute NAME [flags...]: a compute trainer; its address is added to $places.
compute() {
  local name=$1
  shift
  rm -f "$name.port"
  start "$name" ps-train job.json --role compute --servers "$addresses" --port 0 --port-file "$name.port" "$@"
  wait_for_file "$name.port" "$started"
  started_compute=$started
  places+=127.0.0.1:$(<"$name.port"),
}

# train W FOLDER FLAGS...: W trainers or readers, to their end.
train() {
  local count=$1 folder=$2 rank ids=()
  shift 2
  for ((rank = count - 1; rank >= 0; --rank)); do
    start "trainer.$rank" ps-train job.json --data train.txt --servers "$addresses" --trainers "$count" \
      --rank $rank --save-dir "$folder" --json "$@"
    ids+=("$started" "trainer.$rank")
  done
  end_well "${ids[@]}"
}

same_model() {
  local pass
  for pass in 0 1; do cmp plain/pass-0000$pass/model.safetensors "$1"/pass-0000$pass/model.safetensors; done
}

# auc: that of trainer 0, over all passes.
auc() { grep -o '"auc":[0-9.]*' trainer.0.out; }
# figures: the same, and the log losses.
figures() { grep -oE '"(auc|log_loss)":[0-9.]+' trainer.0.out; }

# make_plain_model: of three plain trainers, to compare with.
make_plain_model() {
  ps-datagen criteo --samples 15000 --output train.txt
  serve
  train 3 plain --passes 1
  end_servers
}

# run_reader RANK [flags...]: one reader of three, to be killed; a report after each batch tells how far it is.  Where
# there is a pipe, reader 0 has its data from it, so that the run cannot end before the test has fed all of them.
run_reader() {
  local data=train.txt
  if [[ $1 == 0 && -p pipe ]]; then data=pipe; fi
  start "trainer.$1" ps-train job.json --data $data --servers "$addresses" --trainers 3 --rank "$1" \
    --save-dir killed --passes 1 --set cluster.server_timeout=60 --role reader --compute "$places" --metrics "metrics.$1" --set train.log_period=1 "${@:2}"
}

# two_computes [flags...]: compute trainers compute.a and compute.b, whose processes are $first and $second; the first has
# the port $first_port.
two_computes() {
  places=
  compute compute.a "$@"
  first=$started first_port=$(<compute.a.port)
  compute compute.b "$@"
  second=$started
}

# three_readers [flags...]: all readers of run_reader, whose processes are $readers.
three_readers() {
  local rank
  readers=()
  for rank in 0 1 2; do
    run_reader $rank "$@"
    readers+=("$started")
  done
}

# open_pipe: to reader 0, which has been started.
open_pipe() {
  exec 3>pipe
  num_fed=0
}

# feed COUNT: examples, so many since the pipe was opened.
feed() {
  sed -n "$((num_fed + 1)),$1p" train.txt >&3
  num_fed=$1
}

# close_pipe: after what is left of the data.
close_pipe() {
  tail -n +$((num_fed + 1)) train.txt >&3
  exec 3>&-
}

# wait_for_batches COUNT: of trainer 0.
wait_for_batches() {
  until (($(wc -l <metrics.0) >= $1)); do
    kill -0 "${readers[0]}" 2>/dev/null || fail "trainer 0 has ended before batch $1: $(tail -n 3 ./*.err)"
    sleep 0.01
  done
}
