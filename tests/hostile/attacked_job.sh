# The beginning of a test that attacks servers: goes to the scratch folder, which gets their job, job.json, and its data.
# Sourced after lib.sh.
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH

# attack SCRIPT ARGUMENTS...: runs a script of this folder, which is given the scratch folder first.
attack() { PYTHONDONTWRITEBYTECODE=1 python3 "$PS_SOURCE/tests/hostile/$1" "$scratch" "${@:2}"; }

# Each parameter of 65536 x 8 has 2 MiB; attacks.py knows their numbers.
cat >job.json <<'JSON'
{
  "job": {"name": "attacked", "seed": 1},
  "data": {"format": "paddle_sparse_binary", "dim": 65536, "batch_size": 100},
  "model": {
    "layers": [
      {"name": "deep", "type": "fc", "input": "features", "size": 8, "sparse_update": true},
      {"name": "wide", "type": "fc", "input": "features", "size": 8},
      {"name": "score", "type": "fc", "input": ["deep", "wide"], "size": 2, "activation": "softmax"}
    ],
    "cost": {"type": "cross_entropy", "input": "score"}
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.1}
}
JSON
ps-datagen sparse-binary --dim 65536 --samples 2000 --nnz 20:20 --output train.txt
