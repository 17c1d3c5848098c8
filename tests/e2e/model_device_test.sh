#!/bin/bash
# ps-train with device.trains: a model that is computed on an emulated device is that of the processor, bit for bit where
# it has no products of matrices, else within their rounding; and the same again in every run, killed or not.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
device=${TEST_DEVICE:-emulated} # cuda:0 on a machine that has a GPU
ps-datagen sparse-binary --dim 5000 --samples 240 --nnz 6:14 --output train.txt
ps-datagen sparse-binary --dim 5000 --samples 60 --first 240 --nnz 6:14 --output held_out.txt
train() { timeout 300 ps-train "$@" --data train.txt --log-level warning; }
model=(--device "$device" --set device.trains=model)
all=(--device "$device" --set device.trains=all --set device.rows=256)
# Several devices, of which the first computes the model and all have a part of the rows.
several=(--device emulated:0,emulated:1 "${all[@]:2}")
figures() { grep -oE '"(avg_cost|auc|batches|samples)":[0-9.e-]*' "$1"; }
# expect_rows_there NUMBER FILE: the rows of so many parameters do not leave the devices.
expect_rows_there() { grep -q "\"row_parameters_there\":$1," "$2" || fail "rows: $(cat "$2")"; }

need python3
close() { python3 "$PS_SOURCE/tests/e2e/close_models.py" "$@"; }
# Without products, they are the same; but on a GPU exp and log are other functions than on the processor.
same() { if [[ $device == emulated ]]; then cmp "$@"; else close "$@"; fi; }

# No products of dense matrices: a factorisation machine, with a linear part.
write_job pairs '{"directory": "", "steps": 5}'
cat >layers.json <<'JSON'
[{"name": "linear", "type": "fc", "input": "features", "size": 1, "sparse_update": true},
 {"name": "pairs", "type": "fm", "input": "features", "factors": 4, "sparse_update": true},
 {"name": "output", "type": "add", "input": ["linear", "pairs"]}]
JSON
pairs=(job.json --passes 2 --set model.layers="$(cat layers.json)"
  --set model.cost='{"type": "binary_cross_entropy", "input": "output"}')
number=0
for optimizer in '{"type": "sgd", "learning_rate": 0.05, "clip_norm": 0.5}' \
  '{"type": "momentum", "learning_rate": 0.01, "l2": 0.0001}' '{"type": "adam", "learning_rate": 0.01}' \
  '{"type": "adam", "learning_rate": 0.01, "average": {"begin_step": 7}}'; do
  echo "the same bits with $optimizer"
  number=$((number + 1))
  common=("${pairs[@]}" --set optimizer="$optimizer" --test-data held_out.txt --json)
  # Rows that come with their second use, and go.
  if ((number == 2)); then common+=(--set 'model.layers.0.weight={"rows": {"admission": {"count": 2}, "expire": {"unseen": 1}}}'); fi
  train "${common[@]}" --save-dir plain --checkpoint-dir plain_checkpoints >plain.json
  kinds=(model all)
  if [[ $device == emulated ]]; then kinds+=(several); fi
  if ((number == 2)); then several[1]+=,emulated:2; fi
  if ((number == 3)); then several[1]+=,emulated:3; fi
  for kind in "${kinds[@]}"; do
    declare -n flags_of_kind=$kind
    options=("${flags_of_kind[@]}")
    if [[ $kind == all && $number == 3 ]]; then options+=(--set device.rows=64); fi
    train "${common[@]}" --save-dir $kind --checkpoint-dir ${kind}_checkpoints "${options[@]}" >$kind.json
    for pass in pass-00000 pass-00001; do same {plain,$kind}/$pass/model.safetensors; done
    # Rows are read in place, but of batches that take several rounds; with clip_norm all of them are on the processor.
    if [[ $kind == all && $optimizer != *clip_norm* ]]; then
      in_place=$(grep -o '"rows_in_place":[0-9]*' all.json | cut -d: -f2) asked=$(grep -o '"rows_asked":[0-9]*' all.json | cut -d: -f2)
      ((number == 3 ? in_place < asked : in_place == asked && asked > 0)) || fail "rows in place: $(cat all.json)"
    fi
    if [[ $device == emulated ]]; then
      [[ $(figures plain.json) == "$(figures $kind.json)" ]] || fail "figures: $(cat $kind.json)"
      ps-ckpt2model plain_checkpoints/step-000000024 --diff ${kind}_checkpoints/step-000000024 >diff.txt ||
        { cat diff.txt; fail "checkpoints of $kind differ"; }
    fi
    # Gradients are clipped by the process.
    if [[ $kind != model ]]; then expect_rows_there $((number == 1 ? 0 : 2)) $kind.json; fi
  done
  unset -n flags_of_kind
  rm -r plain "${kinds[@]}" ./*_checkpoints
done

# A batch of ranking is one group.
for cost in '{"type": "ranking"}' '{"type": "bpr"}' '{"type": "listwise_softmax"}' \
  '{"type": "cross_entropy", "class_weights": [0.5, 4]}'; do
  echo "the same bits with the cost $cost"
  layers=$(cat layers.json)
  if [[ $cost == *cross_entropy* ]]; then
    layers='[{"name": "output", "type": "embedding", "input": "features", "size": 2, "activation": "sigmoid", "sparse_update": true}]'
  fi
  common=(job.json --passes 1 --set model.layers="$layers" --set model.cost="${cost/\}/, \"input\": \"output\"\}}"
    --set model.evaluators='[]' --test-data held_out.txt --json)
  train "${common[@]}" --save-dir plain >plain.json
  train "${common[@]}" --save-dir all "${all[@]}" >all.json
  same {plain,all}/pass-00000/model.safetensors
  [[ $device != emulated || $(figures plain.json) == "$(figures all.json)" ]] || fail "figures: $(cat all.json)"
  rm -r plain all
done

echo "evaluators there give the values of the processor, of trained batches and of tests"
of_one='["classification_error", "accuracy", "auc", "pr_auc", "log_loss", "brier_score", "precision_recall", "f1", "rmse", "mae",
  {"type": "calibration", "by_bucket": true}, "confusion_matrix", "sum"]'
of_classes='["classification_error", "auc", "log_loss", "brier_score", "calibration", "precision_recall", "confusion_matrix",
  "precision_at_k", "micro_f1", "gauc", "ndcg"]'
classes='[{"name": "output", "type": "embedding", "input": "features", "size": 2, "activation": "softmax", "sparse_update": true}]'
for kind in one classes; do
  common=("${pairs[@]}" --set model.evaluators="$of_one")
  if [[ $kind == classes ]]; then
    common=(job.json --passes 2 --set model.layers="$classes" --set model.cost='{"type": "cross_entropy", "input": "output"}'
      --set model.evaluators="$of_classes")
  fi
  for where in plain model all; do
    options=()
    if [[ $where == model ]]; then options=("${model[@]}"); fi
    if [[ $where == all ]]; then options=("${all[@]}"); fi
    train "${common[@]}" --test-data held_out.txt --save-dir '' --checkpoint-dir '' --json "${options[@]}" |
      grep -oE '"evaluators":\{[^}]*\}' >$where.values
  done
  at_least "$(wc -l <plain.values)" 3
  for where in model all; do
    [[ $device != emulated ]] || cmp plain.values $where.values || fail "evaluators: $(diff plain.values $where.values)"
  done
done

echo "the same bits where servers have the parameters, and two devices the rows of batches and the model"
servers=()
trap 'kill -9 "${servers[@]}" 2>/dev/null || true; remove_scratch' EXIT
for kind in plain all; do
  mkfifo ready.$kind
  ps-serve "${pairs[@]:0:1}" "${pairs[@]:3}" --host 127.0.0.1 --port 0 --checkpoint-dir '' >ready.$kind 2>serve.$kind.err &
  servers=($!)
  timeout 60 head -1 ready.$kind >serving || fail "no server: $(cat serve.$kind.err)"
  address=127.0.0.1:$(grep -o '"ports":\[[0-9]*' serving | grep -o '[0-9]*$')
  options=()
  if [[ $kind == all ]]; then options=(--device emulated:0,emulated:1 "${all[@]:2}"); fi
  train "${pairs[@]}" --servers "$address" --checkpoint-dir '' --save-dir served_$kind --json "${options[@]}" >$kind.json
  end_all_servers
done
cmp served_{plain,all}/*/pass-00001/model.safetensors
[[ $(figures plain.json) == "$(figures all.json)" ]] || fail "figures: $(cat all.json)"

write_job dense '{"directory": "", "steps": 5}'
echo "within the rounding of products, and the same again"
kinds=(plain model again all)
if [[ $device == emulated ]]; then kinds+=(several); fi
for kind in "${kinds[@]}"; do
  options=()
  if [[ $kind != plain ]]; then options=("${model[@]}"); fi
  if [[ $kind == all ]]; then options=("${all[@]}"); fi
  if [[ $kind == several ]]; then options=("${several[@]}"); fi
  train job.json --passes 2 --save-dir $kind "${options[@]}" --json >$kind.json
done
close {plain,model}/pass-00001/model.safetensors
cmp {model,again}/pass-00001/model.safetensors
for kind in "${kinds[@]:3}"; do cmp {model,$kind}/pass-00001/model.safetensors; done
# Both biases and the weight between them: 8, 16 and 2 weights with a momentum and a gradient each.
for kind in "${kinds[@]:3}" model; do
  grep -q '"dense_parameters":3,"dense_bytes":312' $kind.json || fail "dense parameters: $(cat $kind.json)"
done

# count KEY FILE: a number of the result.
count() { grep -oE "\"$1\":[0-9]+" "$2" | grep -oE '[0-9]+$'; }
# 24 batches of other sizes each, and always the same steps, of which all but the first are graphs.
at_least "$(count graphs_started model.json)" 23

echo "batches of the same sizes are started as graphs, with the bits of the same batches one by one"
ps-datagen dense --dim 64 --samples 400 --output pixels.txt
cat >pixels.json <<'JSON'
{
  "job": {"name": "pixels"},
  "data": {"format": "libsvm", "dense": true, "dim": 64, "batch_size": 20},
  "model": {
    "layers": [{"name": "hidden", "type": "fc", "input": "features", "size": 8, "activation": "tanh"},
               {"name": "dropped", "type": "dropout", "input": "hidden"},
               {"name": "out", "type": "fc", "input": "dropped", "size": 10, "activation": "softmax"}],
    "cost": {"type": "cross_entropy", "input": "out"}
  },
  "optimizer": {"type": "adam", "learning_rate": 0.01, "average": {"begin_step": 7}}
}
JSON
pixels=(pixels.json --data pixels.txt --passes 2 --log-level warning --json)
timeout 300 ps-train "${pixels[@]}" --save-dir pixels_plain >plain.json
timeout 300 ps-train "${pixels[@]}" --save-dir pixels_model "${model[@]}" >graphs.json
close pixels_{plain,model}/pass-00001/model.safetensors
# 40 batches have forward, backward and steps; the first few of each are pieces until their arrays have their places.
echo "work started $(count work_started graphs.json), of which graphs $(count graphs_started graphs.json)"
at_least "$(count work_started graphs.json)" 120
at_least "$(count graphs_started graphs.json)" "$(count work_started graphs.json) - 12"
at_least "$(count work_in_graphs graphs.json)" "10 * 38"

echo "killed again and again, and resumed, it ends with the same model"
seed=${PS_TEST_SEED:-$RANDOM}
RANDOM=$seed
kills=0
for target in 5 15; do
  if killed_after $target killed_checkpoints ps-train job.json --data train.txt --passes 2 --log-level warning \
    --save-dir killed --resume --checkpoint-dir killed_checkpoints "${model[@]}"; then
    kills=$((kills + 1))
  fi
done
echo "killed $kills times (seed $seed)"
train job.json --passes 2 --save-dir killed --resume --checkpoint-dir killed_checkpoints "${model[@]}"
cmp {model,killed}/pass-00001/model.safetensors || fail "seed $seed"

echo "a model is tested, used and trained on, on a device and without one"
expect_close() {
  paste plain.txt device.txt | awk '{ for (i = 1; i <= NF / 2; ++i) if (($i - $(i + NF / 2)) ^ 2 > 1e-10) exit 1 }' ||
    fail "$1: $(paste plain.txt device.txt)"
}
for options in '' "${model[*]}"; do
  # shellcheck disable=SC2086
  ps-train job.json --job test --init-model model/pass-00001 --data held_out.txt --log-level warning --json $options |
    grep -oE '"cost":[0-9.]*' | cut -d: -f2 >"$([[ -n $options ]] && echo device.txt || echo plain.txt)"
done
expect_close tests
predict() { ps-train job.json --job predict --init-model model/pass-00001 --data held_out.txt --log-level warning "$@"; }
predict >plain.txt
predict "${model[@]}" >device.txt
[[ $(wc -l <device.txt) == 60 ]] || fail "predictions: $(wc -l <device.txt)"
expect_close predictions
train job.json --passes 1 --init-model plain/pass-00001 --save-dir plain_more
train job.json --passes 1 --init-model plain/pass-00001 --save-dir device_more "${model[@]}"
close {plain,device}_more/pass-00000/model.safetensors

# trains_close NAME OPTIONS...: the layers in layers.json train to the same model there; the job's messages are in NAME.err.
trains_close() {
  local name=$1
  shift
  local job=(job.json --passes 1 --set model.layers="$(cat layers.json)" "$@")
  train "${job[@]}" --save-dir "plain_$name"
  timeout 300 ps-train "${job[@]}" --data train.txt --save-dir "$name" "${model[@]}" 2>"$name.err" ||
    fail "$(cat "$name.err")"
  close "plain_$name/pass-00000/model.safetensors" "$name/pass-00000/model.safetensors"
}

echo "a network of convolutions trains there, all of it"
cat >layers.json <<'JSON'
[{"name": "hidden", "type": "fc", "input": "features", "size": 60, "sparse_update": true, "activation": "tanh"},
 {"name": "first", "type": "conv2d", "input": "hidden", "filters": 4, "kernel": 3, "padding": 1, "channels": 2, "height": 6,
  "width": 5, "activation": "tanh"},
 {"name": "pool", "type": "max_pool", "input": "first", "kernel": 2},
 {"name": "second", "type": "conv2d", "input": "pool", "filters": 6, "kernel": 3, "stride": 2, "groups": 2},
 {"name": "output", "type": "fc", "input": "second", "size": 2, "activation": "softmax"}]
JSON
trains_close convolutions
expect_text convolutions.err "the model runs on device $device"
! grep -q 'run on the processor' convolutions.err || fail "$(cat convolutions.err)"

echo "so do products of vectors, recurrent layers, attention and a pool over the ids of an example, and sampled costs"
cat >layers.json <<'JSON'
[{"name": "rows", "type": "fc", "input": "features", "size": 8, "sparse_update": true, "activation": "tanh"},
 {"name": "pairs", "type": "bi_interaction", "input": "rows", "size": 4},
 {"name": "other", "type": "fc", "input": "features", "size": 4, "sparse_update": true},
 {"name": "angle", "type": "cosine", "input": ["pairs", "other"], "scale": 4},
 {"name": "distance", "type": "translation", "input": ["pairs", "other", "pairs"]},
 {"name": "output", "type": "fc", "input": ["angle", "distance", "pairs"], "size": 2, "activation": "softmax"}]
JSON
trains_close vectors
! grep -q 'run on the processor' vectors.err || fail "$(cat vectors.err)"
cat >layers.json <<'JSON'
[{"name": "words", "type": "embedding", "input": "features", "size": 6, "pooling": "none", "sparse_update": true},
 {"name": "placed", "type": "position_encoding", "input": "words"},
 {"name": "read", "type": "gru", "input": "placed", "size": 5, "direction": "both", "output": "all"},
 {"name": "again", "type": "lstm", "input": "read", "size": 4, "output": "all"},
 {"name": "seen", "type": "attention", "input": "again", "size": 4, "heads": 2},
 {"name": "pool", "type": "sequence_pool", "input": "seen", "pooling": "attention"},
 {"name": "output", "type": "fc", "input": "pool", "size": 2, "activation": "softmax"}]
JSON
trains_close sequences
! grep -q 'run on the processor' sequences.err || fail "$(cat sequences.err)"
for cost in '"type": "nce", "num_neg_samples": 3' '"type": "hsigmoid"'; do
  cat >layers.json <<JSON
[{"name": "hidden", "type": "fc", "input": "features", "size": 6, "sparse_update": true, "activation": "tanh"},
 {"name": "output", "input": "hidden", "num_classes": 2, $cost}]
JSON
  trains_close "sampled${#cost}" --set model.cost='{"type": "sum", "input": "output"}' --set model.evaluators='[]'
  ! grep -q 'run on the processor' "sampled${#cost}.err" || fail "$(cat "sampled${#cost}.err")"
done

echo "a layer that is divided over trainers runs on the processor, and the job says so"
cat >layers.json <<'JSON'
[{"name": "hidden", "type": "fc", "input": "features", "size": 8, "sparse_update": true},
 {"name": "norm", "type": "batch_norm", "input": "hidden", "activation": "tanh"},
 {"name": "wide", "type": "fc", "input": "norm", "size": 6, "parallel": "model"},
 {"name": "output", "type": "fc", "input": "wide", "size": 2, "activation": "softmax"}]
JSON
trains_close divided
expect_text divided.err "the model runs on device $device; layers that run on the processor, with copies: wide (fc)"

echo "what devices cannot do is refused"
expect_status 2 train job.json --passes 1 --save-dir '' --device cuda:99 --set device.trains=model
expect_text err "'cuda:99': "
expect_status 2 train job.json --passes 1 --save-dir '' --device "$device" --set device.trains=everything
expect_text err 'device.trains'
expect_status 2 train job.json --passes 1 --save-dir '' "${model[@]}" --set train.emulated_compute='"1ms"'
expect_text err 'train.emulated_compute computes nothing'
echo passed
