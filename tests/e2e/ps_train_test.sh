#!/bin/bash
# ps-train as a user runs it: pipes, results, models, bad input, interrupts.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json

# value PATH: of the JSON object in $scratch/out, e.g. test.evaluators.auc.
value() { python3 -c 'import functools, json, sys
print(functools.reduce(lambda o, k: o[int(k)] if k.isdigit() else o[k], sys.argv[1].split("."), json.load(open("out"))))' "$1"; }
need python3

ps-datagen ctr --samples 20000 --output train.txt
ps-datagen ctr --first 20000 --samples 5000 --output test.txt

echo "a pipe trains, tests and saves; standard output holds the result alone"
ps-datagen ctr --samples 20000 | ps-train "$job" --test-data test.txt --passes 2 --json >out 2>err
[[ $(wc -l <out) == 1 ]] || fail "more than one line on standard output"
[[ $(value passes.1.samples) == 20000 && $(value test.samples) == 5000 ]] || fail "samples: $(cat out)"
python3 -c "import sys; sys.exit(not $(value test.evaluators.auc) > 0.7)" || fail "auc $(value test.evaluators.auc)"
python3 -c "import sys; sys.exit(not $(value passes.1.avg_cost) < $(value passes.0.avg_cost))" || fail "the cost does not fall"
for file in model.safetensors job.json; do [[ -s output/pass-00001/$file ]] || fail "no $file"; done
expect_text err ' Pass=1 Batch=100 samples=20000 AvgCost='
expect_text err ' Test samples=5000 cost='
trained_cost=$(value test.cost)

echo "a pipe and a file give the same model, and threads change no bit of it"
for threads in 1 3; do
  ps-train "$job" --data train.txt --passes 2 --threads $threads --save-dir "threads$threads" --log-level error
  cmp output/pass-00001/model.safetensors "threads$threads/pass-00001/model.safetensors"
done

echo "a pass over data that are in memory shows how far it is and how fast"
# A pipe is read once: the second pass has its examples from memory.  A pass is long beside the tenth of a second after which
# progress is drawn.
ps-datagen sparse-binary --samples 10000 | ps-train sparse_binary --passes 2 --save-dir '' --log-level warning \
  --threads 1 --progress always --set data.batch_size=1 2>err
tr '\r' '\n' <err >drawn
for pass in 0 1; do
  grep -qE "pass $pass .*[0-9.]+k? samples [0-9.]+[kM]?/s " drawn || fail "no progress of pass $pass: $(tail -n 5 drawn)"
done

echo "the saved model tests as it did when it was trained"
ps-train "$job" --job test --init-model output/pass-00001 --data test.txt --json >out 2>err
[[ $(value test.cost) == "$trained_cost" ]] || fail "cost $(value test.cost), was $trained_cost"

echo "predictions are one a line, in order"
ps-train "$job" --job predict --init-model output/pass-00001 --data test.txt >predictions 2>err
[[ $(wc -l <predictions) == 5000 ]] || fail "$(wc -l <predictions) predictions"
head -100 test.txt | ps-train "$job" --job predict --init-model output/pass-00001 --output first 2>err
cmp first <(head -100 predictions)

echo "a reader that has enough ends it in silence"
{ ps-train "$job" --job predict --init-model output/pass-00001 --data test.txt 2>err || (($? == 141)); } | head -1 >first
[[ ! -s err || $(wc -l <err) == 1 ]] || fail "said: $(cat err)"
[[ $(cat first) == "$(head -1 predictions)" ]] || fail "first prediction"

echo "any format becomes records, which train the same"
ps-train "$job" --job convert --data train.txt --output train.records 2>err
ps-train "$job" --data train.records --format records --passes 2 --save-dir records --log-level error
cmp output/pass-00001/model.safetensors records/pass-00001/model.safetensors

echo "records are written as they are read: the job that trains on them transforms and shuffles, once"
transforms=(--set data.unit_length=true --set data.hash_bits=12 --set data.shuffle=full)
ps-train "$job" --job convert --data train.txt --output same.records "${transforms[@]}" 2>err
expect_text err 'as they are read, without shuffle, unit_length, hash_bits: --transform applies them'
cmp train.records same.records
ps-train "$job" --data train.txt --save-dir hashed --log-level error "${transforms[@]}"
ps-train "$job" --data same.records --format records --save-dir hashed_records --log-level error "${transforms[@]}"
cmp {hashed,hashed_records}/pass-00000/model.safetensors
ps-train "$job" --job convert --transform --data train.txt --output done.records "${transforms[@]}" 2>err
ps-train "$job" --data done.records --format records --save-dir done_records --log-level error
cmp {hashed,done_records}/pass-00000/model.safetensors

echo "training goes on from a model"
ps-train "$job" --init-model output/pass-00001 --data train.txt --save-dir '' --json >out 2>err
python3 -c "import sys; sys.exit(not $(value passes.0.avg_cost) < 0.6)" || fail "started anew"

echo "one parameter may start from a model file"
ps-train "$job" --data train.txt --save-dir '' --json >out 2>err \
  --set model.layers.0.weight='{"init": {"type": "file", "path": "output/pass-00001"}}'
python3 -c "import sys; sys.exit(not $(value passes.0.avg_cost) < $trained_cost)" || fail "its weights started anew"

echo "a bad line ends it with 3 and its place, or is skipped and counted"
{ head -3 train.txt; echo "this is no example"; head -3 train.txt; } >bad.txt
expect_status 3 ps-train "$job" --data bad.txt --save-dir ''
expect_text err 'bad.txt:4: '
expect_status 0 ps-train "$job" --data bad.txt --save-dir '' --max-bad-lines 1
expect_text err 'skipped 1 bad lines'

echo "a label that the cost cannot take ends it with 3 and its line"
echo "2 3:1" >label.libsvm
expect_status 3 ps-train "$PS_SOURCE/share/jobs/a9a.json" --data label.libsvm --save-dir ''
expect_text err 'label.libsvm:1: label 2 is not 0, 1 or -1'

echo "a format that would lose values is refused"
echo "1 3:0.5" >valued.libsvm
expect_status 2 ps-train "$PS_SOURCE/share/jobs/a9a.json" --job convert --data valued.libsvm \
  --output-format paddle_sparse_binary --output lost
expect_text err 'cannot hold'

echo "a folder that cannot be made is found before training"
expect_status 2 ps-train "$job" --data train.txt --save-dir train.txt/output
[[ $(wc -l <err) == 1 ]] || fail "trained first: $(cat err)"

echo "no data, a cut file, a damaged model, a wrong job: each its status"
: >empty.txt
expect_status 3 ps-train "$job" --data empty.txt --save-dir ''
gzip -k train.txt && head -c 5000 train.txt.gz >cut.gz
expect_status 5 ps-train "$job" --data cut.gz --save-dir ''
head -c 1000 output/pass-00001/model.safetensors >cut.safetensors
expect_status 5 ps-train "$job" --job test --data test.txt --init-model cut.safetensors
expect_status 2 ps-train "$job" --data train.txt --set optimizer.lerning_rate=1
expect_text err "optimizer.lerning_rate: unknown key (did you mean 'learning_rate'?)"
expect_status 2 ps-train "$job" --data train.txt --set optimizer.type=adm
expect_text err "unknown optimizer 'adm' (did you mean 'adam'?)"

echo "a dense model that does not fit is refused with bytes and a hint"
expect_status 6 ps-train "$PS_SOURCE/share/jobs/sparse_binary.json" --set model.layers.0.sparse_update=false \
  --set model.layers.0.size=4096 --data /dev/null
expect_text err 'bytes) are available'
expect_text err '"sparse_update": true'

echo "a dry run touches nothing"
expect_status 0 ps-train "$job" --data train.txt --save-dir dry --dry-run
[[ ! -e dry ]] || fail "a dry run made a folder"

echo "an interrupt saves what was trained and ends with 130"
mkfifo endless
ps-datagen ctr --samples inf >endless 2>/dev/null &
ps-train "$job" --data endless --save-dir interrupted --metrics metrics.jsonl 2>err &
trainer=$!
until [[ -s metrics.jsonl ]]; do
  kill -0 $trainer || fail "it has ended: $(cat err)"
  sleep 0.05
done
kill -INT $trainer
status=0
wait $trainer || status=$?
[[ $status == 130 ]] || { cat err; fail "interrupted: status $status"; }
ls interrupted/pass-00000-batch-*/model.safetensors >/dev/null || fail "nothing saved"
python3 -c 'import json; [json.loads(line) for line in open("metrics.jsonl")]' || fail "metrics are not JSON lines"
echo passed
