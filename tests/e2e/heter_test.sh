#!/bin/bash
# Heterogeneous training as a user runs it: readers and compute trainers make the model of plain trainers, bit for bit;
# they go on when a compute trainer is killed, and back to a checkpoint when a reader is; what cannot be is refused.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/share/launch/common.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
processes=()
trap 'kill -9 "${processes[@]}" 2>/dev/null || true; rm -rf "$scratch"' EXIT

# A wide part and vectors on readers; a batch_norm, whose statistics are pushed too, and clipping by norm, for which
# servers apply a step in two.
cat >job.json <<'JSON'
{
  "job": {"name": "heter"},
  "data": {"format": "criteo", "dim": 2000, "batch_size": 50},
  "model": {
    "layers": [
      {"name": "wide", "type": "fc", "size": 1, "sparse_update": true, "input": ["C1", "C2", "C3", "C6"]},
      {"name": "vectors", "type": "embedding", "size": 4, "sparse_update": true, "input": ["C1", "C2", "C7", "C9"]},
      {"name": "all", "type": "concat", "input": ["integers", "vectors"]},
      {"name": "even", "type": "batch_norm", "input": "all"},
      {"name": "deep1", "type": "fc", "input": "even", "size": 16, "activation": "relu"},
      {"name": "deep2", "type": "fc", "input": "deep1", "size": 1},
      {"name": "score", "type": "add", "input": ["wide", "deep2"]}
    ],
    "cost": {"type": "binary_cross_entropy", "input": "score"},
    "evaluators": ["auc"]
  },
  "optimizer": {"type": "adam", "learning_rate": 0.002, "clip_global_norm": 1},
  "train": {"passes": 2, "log_period": 100000},
  "cluster": {"server_timeout": 20, "trainer_timeout": 20}
}
JSON

# start NAME COMMAND...: in the background; its process is $started.
start() {
  local name=$1
  shift
  "$@" >"$name.out" 2>"$name.err" &
  started=$!
  processes+=("$started")
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
    start server.$name ps-serve job.json --port 0 --port-file server.$name.port "${ports[@]}" "$@"
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

ps-datagen criteo --samples 3000 --output train.txt

echo "three readers and two compute trainers make the model of three plain trainers, bit for bit"
serve
train 3 plain
plain_auc=$(auc)
end_servers
serve
places=
compute compute.a
first=$started
compute compute.b
second=$started
train 3 heter --role reader --compute "$places"
same_model heter
[[ $(auc) == "$plain_auc" ]] || fail "the AUC is $(auc), not $plain_auc"
end_well "$first" compute.a "$second" compute.b
end_servers
# Batches are dealt: reader 1 has the second compute trainer, the others have the first.
for name in a b; do grep -qE 'The run has ended: batches=[1-9]' compute.$name.err || fail "compute.$name had no batches"; done

echo "an asynchronous reader alone makes the model of an asynchronous trainer alone"
# Without clipping: a plain trainer asks for weights before a step is applied that servers apply in two.
strategy=(--set train.strategy.consistency=async --set optimizer='{"type": "adam", "learning_rate": 0.002}')
rm -rf plain heter
serve "${strategy[@]}"
train 1 plain "${strategy[@]}"
end_servers
serve "${strategy[@]}"
places=
compute compute.a "${strategy[@]}"
train 1 heter --role reader --compute "$places" "${strategy[@]}"
same_model heter
end_well "$started_compute" compute.a
end_servers

echo "weights that are behind, and trainers that do not wait for each other"
for strategy in '{"consistency": "staleness", "staleness": 2}' '{"consistency": "async"}'; do
  serve --set train.strategy="$strategy"
  places=
  compute compute.a --set train.strategy="$strategy"
  train 3 free --role reader --compute "$places" --set train.strategy="$strategy"
  end_well "$started_compute" compute.a
  end_servers
  rm -rf free
  awk -v auc="$(auc | cut -d: -f2 | tail -n 1)" 'BEGIN { exit !(auc > 0.6) }' || fail "$strategy: the AUC is $(auc)"
done

# More data, so that there is time to kill; a report after each batch tells how far trainer 0 is.
ps-datagen criteo --samples 15000 --output train.txt
rm -rf plain
serve
train 3 plain --passes 1
end_servers

# run_reader RANK: one reader of three.
run_reader() {
  start "trainer.$1" ps-train job.json --data train.txt --servers "$addresses" --trainers 3 --rank "$1" \
    --save-dir killed --passes 1 --set cluster.server_timeout=6 --role reader --compute "$places" --metrics "metrics.$1" --set train.log_period=1
}
# wait_for_batches COUNT: of trainer 0.
wait_for_batches() {
  until (($(wc -l <metrics.0) >= $1)); do
    kill -0 "${readers[0]}" 2>/dev/null || fail "trainer 0 has ended before batch $1: $(tail -n 3 ./*.err)"
    sleep 0.01
  done
}

echo "compute trainers and a reader are killed, and the model is the same, bit for bit"
serve
places=
compute compute.a
first=$started first_port=$(<compute.a.port)
compute compute.b
second=$started
readers=()
for rank in 0 1 2; do
  run_reader $rank
  readers+=("$started")
done
wait_for_file metrics.0 "${readers[0]}"
wait_for_batches 10
kill -9 "$second"
wait_for_batches 25
kill -9 "$first"
start compute.a2 ps-train job.json --role compute --servers "$addresses" --port "$first_port"
first=$started
wait_for_batches 40
kill -9 "${readers[2]}"
run_reader 2
readers[2]=$started
end_well "${readers[0]}" trainer.0 "${readers[1]}" trainer.1 "${readers[2]}" trainer.2 "$first" compute.a2
cmp plain/pass-00000/model.safetensors killed/pass-00000/model.safetensors
expect_text trainer.1.err 'going on with compute trainer'
end_servers

echo "what cannot be is told"
serve
expect_status 4 ps-train job.json --data train.txt --servers "$addresses" --role reader --compute 127.0.0.1:9 \
  --set cluster.server_timeout=0.5
expect_text err "compute trainer '127.0.0.1:9'"
places=
compute compute.a --set cluster.trainer_timeout=0.5
expect_status 2 ps-train job.json --data train.txt --servers "$addresses" --role reader --compute "$places" \
  --set job.seed=2
expect_status 2 ps-train job.json --data train.txt --role reader --servers "$addresses"
expect_text err 'give --compute HOST:PORT'
expect_status 2 ps-train job.json --role compute --servers "$addresses" --set train.strategy.codec=f16
expect_status 2 ps-train job.json --role compute

echo "a compute trainer whose readers are gone ends, and names them"
mkfifo pipe
start trainer.0 ps-train job.json --data pipe --servers "$addresses" --role reader --compute "$places"
exec 3>pipe
head -n 1000 train.txt >&3
until grep -q 'Reader 0 of 1 has come' compute.a.err; do sleep 0.02; done
kill -9 "$started"
exec 3>&-
status=0
wait "$started_compute" || status=$?
[[ $status == 4 ]] || fail "the compute trainer ended with $status: $(<compute.a.err)"
expect_text compute.a.err 'no connection from reader 0 for 0.5 s'
end_servers
