#!/bin/bash
# Models of other programs: safetensors files that a script writes by the page of that format, and the package safetensors
# too where it is there, are models of a job by a map of names; the script's own sums are what ps-train predicts.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH

cat >job.json <<'JSON'
{
  "data": {"format": "multislot", "label_slot": "label", "batch_size": 8, "shuffle": "none",
           "slots": [{"name": "a"}, {"name": "b"}, {"name": "label"}]},
  "model": {
    "layers": [
      {"name": "ids", "type": "embedding", "size": 3, "sparse_update": true, "input": ["a", "b"]},
      {"name": "hidden", "type": "fc", "input": "ids", "size": 6, "activation": "relu"},
      {"name": "score", "type": "fc", "input": "hidden", "size": 1}
    ],
    "cost": {"type": "binary_cross_entropy", "input": "score"}
  },
  "optimizer": {"type": "sgd", "learning_rate": 0.1}
}
JSON

# As torch has them: Linear weights [out, in], ids as int64 in the order of a dictionary; among them a square matrix, so
# that shapes tell nothing.
cat >theirs.py <<'PY'
import json, math, random, struct

random.seed(7)
ids = [2**63 + 12345, 17, 4, 2**64 - 1, 900000000000, 5]
random.shuffle(ids)
assert ids != sorted(ids)
floats = lambda *shape: [random.uniform(-1, 1) for _ in range(math.prod(shape))]
table, w1, b1, w2, b2 = floats(6, 3), floats(6, 6), floats(6), floats(1, 6), floats(1)

def f32(values): return struct.pack(f"<{len(values)}f", *values)
def f64(values): return struct.pack(f"<{len(values)}d", *values)
signed = [i - 2**64 if i >= 2**63 else i for i in ids]
tensors = {"net.0.bias": ("F64", [6], f64(b1)), "net.0.weight": ("F32", [6, 6], f32(w1)),
           "net.2.weight": ("F32", [1, 6], f32(w2)), "net.2.bias": ("F32", [1], f32(b2)),
           "emb.ids": ("I64", [6], struct.pack("<6q", *signed)), "emb.table": ("F32", [6, 3], f32(table)),
           "steps": ("I64", [], struct.pack("<q", 1))}

def write(path, tensors):
    header, buffer = {"__metadata__": {"format": "pt"}}, b""
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(buffer), len(buffer) + len(data)]}
        buffer += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + buffer)

write("theirs.safetensors", tensors)
write("twice.safetensors", {**tensors, "emb.ids": ("I64", [6], struct.pack("<6q", *signed[:5], signed[0]))})
write("narrow.safetensors", {**tensors, "emb.ids": ("I32", [6], struct.pack("<6i", 3, 2, 1, -7, 5, 6))})
bad = w1[:]
bad[2 * 6 + 5] = math.nan
write("nan.safetensors", {**tensors, "net.0.weight": ("F32", [6, 6], f32(bad))})
bad = table[:]
bad[1 * 3 + 2] = -math.inf
write("inf.safetensors", {**tensors, "emb.table": ("F32", [6, 3], f32(bad))})

open("ids", "w").writelines(f"{i}\n" for i in ids)

# Predictions, as torch would compute them: relu(x W1' + b1) w2' + b2.
row = {i: table[3 * n:3 * n + 3] for n, i in enumerate(ids)}
with open("data.txt", "w") as data, open("expected", "w") as expected:
    for a in ids:
        for b in ids:
            x = row[a] + row[b]
            h = [max(0, b1[o] + sum(w1[6 * o + i] * x[i] for i in range(6))) for o in range(6)]
            score = b2[0] + sum(u * v for u, v in zip(h, w2))
            data.write(f"1 {a} 1 {b} 1 0\n")
            expected.write(f"{1 / (1 + math.exp(-score))}\n")
PY
python3 theirs.py

cat >names <<'EOM'
# Theirs, and ours.
emb.ids=ids.weight.keys
emb.table=ids.weight.rows

net.0.weight.T=hidden.weight
net.0.bias=hidden.bias
EOM
rest=(--map net.2.weight.T=score.weight --map net.2.bias=score.bias)

# predicts FILE: the imported model predicts what the script computed.
predicts() {
  rm -f model.safetensors
  ps-ckpt2model "$1" --map names "${rest[@]}" --output model.safetensors 2>err
  expect_text err 'left out, since --map does not name them: steps'
  ps-train job.json --job predict --init-model model.safetensors --data data.txt --output predictions 2>predict.err
  paste expected predictions | awk '
    { difference = $1 > $2 ? $1 - $2 : $2 - $1; if (difference > largest) largest = difference; sum += $1 }
    END { printf "%d predictions, at most %.1e from those of the script\n", NR, largest; exit !(NR == 36 && largest < 1e-6) }'
}

echo "names, transposes and ids in any order, signed: the model predicts what the other program would"
predicts theirs.safetensors
ps-ckpt2model model.safetensors --format text --output - | grep -c '^ids.weight ' | grep -qx 6
ps-ckpt2model model.safetensors --verify
ps-ckpt2model theirs.safetensors --map emb.ids=e.keys --map emb.table=e.rows --format text --output - 2>/dev/null >rows.txt
cut -d' ' -f2 rows.txt | cmp - <(printf '%s\n' 4 5 17 900000000000 9223372036854788153 18446744073709551615)
ps-ckpt2model theirs.safetensors --map emb.ids=e.keys --map emb.table=e.rows --row 17 2>/dev/null >row
grep -q '^e 17: ' row

echo "without its transpose the square matrix is another model: shapes do not tell"
sed 's/weight.T=/weight=/' names >straight
ps-ckpt2model theirs.safetensors --map straight "${rest[@]}" --output straight.safetensors 2>/dev/null
if cmp -s straight.safetensors model.safetensors; then fail "the transpose is the same"; fi

echo "weights that are not finite are refused with their place in the file"
expect_status 3 ps-ckpt2model nan.safetensors --map names "${rest[@]}" --output bad.safetensors
expect_text err "nan.safetensors: tensor 'net.0.weight' has nan at [2, 5], in row 5 of 'hidden.weight'"
expect_status 3 ps-ckpt2model inf.safetensors --map names "${rest[@]}" --output bad.safetensors
expect_text err "tensor 'emb.table' has -inf at [1, 2], in row $(sed -n 2p ids) of 'ids.weight'"
[[ ! -e bad.safetensors ]] || fail "a model with weights that are not finite"

echo "what cannot be a model is refused"
expect_status 3 ps-ckpt2model twice.safetensors --map names --output x
expect_text err "'emb.ids' has the id $(sed -n 1p ids) twice"
expect_status 2 ps-ckpt2model narrow.safetensors --map names --output x
expect_text err "has the id -7 at 3"
expect_status 2 ps-ckpt2model theirs.safetensors --map net.0.wait=hidden.weight --output x
expect_text err "no tensor 'net.0.wait' (did you mean 'net.0.weight'?)"
expect_status 2 ps-ckpt2model theirs.safetensors --map emb.table=ids.weight.rows --output x
expect_text err "a sparse parameter has both 'ids.weight.keys' and 'ids.weight.rows'"
expect_status 2 ps-ckpt2model theirs.safetensors --map net.0.bias=a --map net.2.bias=a --output x
expect_text err "gives 'a' two tensors"
expect_status 2 ps-ckpt2model theirs.safetensors --map net.0.bias=ids.weight.keys --map emb.table=ids.weight.rows --output x
expect_text err "'net.0.bias' is F64, expected ids"
expect_status 2 ps-ckpt2model theirs.safetensors --map steps=a --output x
expect_text err "'steps' has 0 extents"
expect_status 2 ps-ckpt2model theirs.safetensors --map names --rows base --output x
expect_text err "does not go with --map"
echo "=x" >wrong
expect_status 2 ps-ckpt2model theirs.safetensors --map wrong --output x
expect_text err "wrong:1: '=x' is not THEIRS=OURS"
head -c 700 theirs.safetensors >cut.safetensors
expect_status 5 ps-ckpt2model cut.safetensors --map names --output x
[[ ! -e x ]] || fail "a model of what was refused"

if python3 -c 'import safetensors' 2>/dev/null; then
  echo "the package safetensors writes such a file too"
  python3 - <<'PY'
import safetensors
exec(open("theirs.py").read())
kinds = {"F32": "float32", "F64": "float64", "I64": "int64"}
safetensors.serialize_file({name: {"dtype": kinds[kind], "shape": shape, "data": data}
                            for name, (kind, shape, data) in tensors.items()}, "package.safetensors", {"format": "pt"})
PY
  predicts package.safetensors
else
  echo "not by the package safetensors, which is not installed"
fi
