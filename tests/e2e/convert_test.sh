#!/bin/bash
# Converted data read as what was converted, or the format is refused: empty slots, small values, labels, slots that share
# ids.  Files of the data are never written over, and standard output may be closed.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
convert=(ps-train --job convert --log-level warning)

# write_model FORMAT KEYS: a job whose data section has the format and the keys.
write_model() {
  cat >job.json <<JSON
{
  "data": {"format": "$1"$2},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "*", "size": 1, "sparse_update": true}],
    "cost": {"type": "binary_cross_entropy", "input": "score"}
  }
}
JSON
}

slots=', "slots": [{"name": "a"}, {"name": "b"}, {"name": "label", "type": "dense", "dim": 1}]'

echo "a slot without ids stays without any"
write_model multislot "$slots"
printf '2 1 2 0 1 1\n0 1 0 1 0\n0 0 1 1\n' >empty.txt
"${convert[@]}" job.json --data empty.txt --output-format multislot --output again.txt
cmp empty.txt again.txt

echo "ids of several slots go into one list as long as no id is in two"
printf '2 1 2 1 7 1 1\n0 1 9 1 0\n' >apart.txt
"${convert[@]}" job.json --data apart.txt --output-format libsvm | cmp - <(printf '1 1:1 2:1 7:1\n0 9:1\n')
printf '2 1 2 1 7 1 1\n1 7 1 9 1 0\n' >shared.txt
for format in libsvm paddle_sparse_binary paddle_sparse_float; do
  expect_status 2 "${convert[@]}" job.json --data shared.txt --output-format $format --output lost
  expect_text err "format $format has one list of ids, and id 7 is in slot 'a' and in slot 'b'; use multislot or records"
done
"${convert[@]}" job.json --data shared.txt --output-format multislot | cmp - shared.txt

echo "labels do not become features"
write_model libsvm ', "multi_label": true'
sed -i 's/"cost".*/"cost": {"type": "multi_label_cross_entropy", "input": "score"}/; s/"size": 1/"size": 3/' job.json
printf '0,2 1:1 5:1\n1 2:1\n' >sets.libsvm
for format in libsvm multislot paddle_sparse_binary paddle_sparse_float; do
  expect_status 2 "${convert[@]}" job.json --data sets.libsvm --output-format $format --output lost
  expect_text err "format $format would hold the labels of slot 'labels' as features; use records"
done
expect_status 0 "${convert[@]}" job.json --data sets.libsvm --output sets.records

echo "a label that a format does not have is refused"
write_model libsvm ''
for label in -1 0.5 16777218; do
  echo "$label 1:1" >label.libsvm
  expect_status 2 "${convert[@]}" job.json --data label.libsvm --output-format paddle_sparse_binary --output lost
  expect_text err "format paddle_sparse_binary holds whole labels from 0 to 16777216, and not "
done

echo "numbers that need more than six decimals have them"
printf '1e-08 1:1e-09 5:0.1234567\n-2.5 2:3e-38 3:0.25\n' >small.libsvm
"${convert[@]}" job.json --data small.libsvm --output-format paddle_sparse_float --output small.txt
cmp small.txt <(printf '1e-08,1 1e-09,5 0.1234567\n-2.500000,2 3e-38,3 0.250000\n')
"${convert[@]}" job.json --data small.txt --format paddle_sparse_float --output-format libsvm | cmp - small.libsvm

echo "what is read is not written over"
sed 's/^[^ ]*/1/' small.libsvm >data.libsvm
cp data.libsvm before.libsvm
ps-train job.json --data data.libsvm --save-dir model --log-level warning
ln -s data.libsvm link.libsvm
for task in "convert --output data.libsvm --data data.libsvm" "predict --output link.libsvm --data data.libsvm" \
  "test --metrics data.libsvm --data data.libsvm" "train --metrics data.libsvm --data $PWD --save-dir other"; do
  read -ra words <<<"$task"
  expect_status 2 ps-train job.json --init-model model/pass-00000 --job "${words[@]}"
  expect_text err "libsvm' is among the data that are read: name another file"
  cmp data.libsvm before.libsvm
done
expect_status 2 ps-train job.json --init-model model/pass-00000 --job predict --output data.libsvm <data.libsvm
# A list is read too, and so is the model; test files are not.
echo data.libsvm >data.list
cp data.list before.list
expect_status 2 ps-train job.json --job convert --data data.list --output data.list
cmp data.list before.list
cp model/pass-00000/model.safetensors alone.safetensors
expect_status 2 ps-train job.json --init-model alone.safetensors --job predict --data data.libsvm --output alone.safetensors
cmp alone.safetensors model/pass-00000/model.safetensors
for turn in 1 2; do
  ps-train job.json --job convert --data data.libsvm --set 'data.test_files=["copy.libsvm"]' --output copy.libsvm --output-format libsvm
done
cmp copy.libsvm data.libsvm
cmp data.libsvm before.libsvm
expect_status 0 ps-train job.json --init-model model/pass-00000 --job predict --output /dev/null --data data.libsvm

echo "a stream that is closed is not another file of the program"
status=0
ps-train job.json --init-model model/pass-00000 --job predict --data data.libsvm >&- 2>err || status=$?
[[ $status == 4 ]] || fail "status $status"
expect_text err "cannot write 'standard output': bad file descriptor"
status=0
ps-train job.json --init-model model/pass-00000 --job predict <&- 2>err >out || status=$?
[[ $status == 4 ]] || fail "status $status"
expect_text err "cannot read 'standard input': bad file descriptor"
