#!/bin/bash
# Heterogeneous training as a user runs it: readers and compute trainers make the model of plain trainers, bit for bit;
# what cannot be is told.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
source "$PS_SOURCE/tests/e2e/heter_job.sh"

ps-datagen criteo --samples 3000 --output train.txt

echo "three readers and two compute trainers make the model of three plain trainers, bit for bit"
serve
train 3 plain
plain_figures=$(figures)
end_servers
serve
places=
compute compute.a
first=$started
compute compute.b
second=$started
train 3 heter --role reader --compute "$places"
same_model heter
[[ $(figures) == "$plain_figures" ]] || fail "the figures are $(figures), not $plain_figures"
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

echo "a reader tells the cut"
ps-train job.json --data train.txt --servers 127.0.0.1:9 --role reader --compute 127.0.0.1:9 --dry-run 2>cut
expect_text cut 'with readers: wide.weight0, wide.weight1, wide.weight2, wide.weight3, vectors.weight'
grep -q 'with compute trainers: .*coarse.weight.*deep1.weight' cut || fail "$(<cut)"

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

expect_status 2 ps-train job.json --role compute --servers "$addresses" --host 0.0.0.0
expect_text err "--host '0.0.0.0' can be reached by others"

echo "a compute trainer lets in those with a token that may train"
(umask 077 && echo "train $(printf '%064d' 1)" >train.token && echo "train $(printf '%064d' 2)" >wrong.token)
(umask 077 && cat train.token >tokens && echo "read $(printf '%064d' 3)" >>tokens)
end_servers
serve --token-file tokens
places=
compute compute.a --token-file tokens
expect_status 7 ps-train job.json --data train.txt --servers "$addresses" --role reader --compute "$places" \
  --token-file wrong.token
train 2 secured --passes 1 --role reader --compute "$places" --token-file train.token
end_well "$started_compute" compute.a
end_servers
serve --token-file tokens
places=
compute compute.a --token-file wrong.token
expect_status 7 ps-train job.json --data train.txt --servers "$addresses" --role reader --compute "$places" \
  --token-file train.token
kill -TERM "$started_compute"
end_servers
serve
places=
compute compute.a --set cluster.trainer_timeout=0.5

echo "a compute trainer whose readers are gone ends, and names them"
mkfifo pipe
start trainer.0 ps-train job.json --data pipe --servers "$addresses" --role reader --compute "$places"
exec 3>pipe
head -n 1000 train.txt >&3
until grep -q 'Reader 0 of 1 has come' compute.a.err; do
  kill -0 "$started" 2>/dev/null || fail "the reader has ended: $(<trainer.0.err)"
  kill -0 "$started_compute" 2>/dev/null || fail "the compute trainer has ended: $(<compute.a.err)"
  sleep 0.02
done
kill -9 "$started"
exec 3>&-
status=0
wait "$started_compute" || status=$?
[[ $status == 4 ]] || fail "the compute trainer ended with $status: $(<compute.a.err)"
expect_text compute.a.err 'no connection from reader 0 for 0.5 s'
end_servers
