#!/bin/bash
# A model read from Python: numpy and the 25 lines of read_model.py predict clicks with a model of ps-train, and with
# those that ps-ckpt2model makes of its checkpoint.  Prints how far they are from what ps-train itself predicts.
#   examples/read_model.sh [FOLDER]
set -euo pipefail
cd "$(dirname "$0")/.."

bin=${PS_BIN:-build/release/bin}
output=${1:-build/read_model}
python=${PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "numpy is missing: apt-get install python3-numpy" >&2; exit 1; }
for program in ps-datagen ps-train ps-ckpt2model; do
  [[ -x $bin/$program ]] || cmake --build --preset release --target $program
done
job=share/jobs/quickstart.json
rm -rf "$output"
mkdir -p "$output"

"$bin/ps-datagen" ctr --samples 20000 --output "$output/train.txt"
"$bin/ps-datagen" ctr --first 20000 --samples 1000 --output "$output/clicks.txt"
"$bin/ps-train" "$job" --data "$output/train.txt" --save-dir "$output" --checkpoint-dir "$output/checkpoints" --log-level warning
"$bin/ps-train" "$job" --job predict --init-model "$output/pass-00000" --data "$output/clicks.txt" --output "$output/expected" --log-level warning
cp "$output/pass-00000/model.safetensors" "$output/saved.safetensors"
for type in f32 f16 int8; do
  "$bin/ps-ckpt2model" "$output/checkpoints" --type $type --output "$output/$type.safetensors"
done

for model in saved f32 f16 int8; do
  "$python" examples/read_model.py "$output/$model.safetensors" "$output/clicks.txt" >"$output/predictions"
  paste "$output/expected" "$output/predictions" | awk -v model=$model '
    { difference = $1 > $2 ? $1 - $2 : $2 - $1; if (difference > largest) largest = difference }
    END { printf "%s.safetensors: %d predictions, at most %.1e from those of ps-train\n", model, NR, largest
          exit !(NR == 1000 && largest < (model == "saved" || model == "f32" ? 1e-6 : 1e-2)) }'
done
