#!/bin/bash
# Servers and trainers as a user runs them: the same model as one process, bit for bit; mismatches; ends.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
job=$PS_SOURCE/share/jobs/quickstart.json
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; remove_scratch' EXIT

# serve NAME [flags...]: starts a server; its process is the last of $servers, its first port is in $address.
serve() {
  local name=$1
  shift
  rm -f "$name.ready"
  mkfifo "$name.ready"
  ps-serve "$job" --host 127.0.0.1 --port 0 --port-file "$name.port" "$@" >"$name.ready" 2>"$name.err" &
  servers+=($!)
  head -1 "$name.ready" >"$name.out"
  expect_text "$name.out" '"event":"ready"'
  address=127.0.0.1:$(head -1 "$name.port")
}

# serve_two [flags...]: two servers of 2 + 2 ports; $addresses names them.
serve_two() {
  serve one --ports-num 2 --ports-num-for-sparse 2 "$@"
  addresses=$address
  serve two --ports-num 2 --ports-num-for-sparse 2 "$@"
  addresses+=,$address
}

# train_three FOLDER [flags...]: three trainers of batches of 50.
train_three() {
  local folder=$1 rank trainers=() trainer
  shift
  for rank in 0 1 2; do
    ps-train "$job" --data train.txt --passes 2 --set data.batch_size=50 --save-dir "$folder" \
      --servers "$addresses" --trainers 3 --rank $rank --json "$@" >"$folder.$rank" 2>"$folder.$rank.err" &
    trainers+=($!)
  done
  for trainer in "${trainers[@]}"; do wait "$trainer" || fail "a trainer ended with $?: $(cat "$folder".*.err)"; done
}

ps-datagen ctr --samples 10000 --output train.txt
ps-datagen ctr --first 10000 --samples 1000 --output test.txt

echo "one trainer with two servers of four ports trains the model of one process, bit for bit"
ps-train "$job" --data train.txt --passes 2 --save-dir alone --json >alone.json 2>/dev/null
serve_two
ps-train "$job" --data train.txt --passes 2 --save-dir served --servers "$addresses" --json >served.json 2>/dev/null
for pass in 0 1; do cmp {alone,served}/pass-0000$pass/model.safetensors; done

echo "the servers' weights test and predict as the saved model does"
ps-train "$job" --job predict --init-model alone/pass-00001 --data test.txt >expected 2>/dev/null
ps-train "$job" --job predict --servers "$addresses" --data test.txt >predictions 2>/dev/null
cmp expected predictions

echo "a trainer with another job is refused, and told what differs"
expect_status 2 ps-train "$job" --data train.txt --servers "$addresses" --set job.seed=2
expect_text err 'job.seed is 2, not '

echo "SIGTERM ends a server with 0"
end_all_servers

echo "three trainers give the same bits from run to run, and what one process gives with the batches joined"
serve_two
! grep -qF "@pskit:$address" /proc/net/unix || fail "there is a Unix socket beside the port"
train_three three
end_all_servers
[[ ! -s three.1 && ! -s three.2 ]] || fail "a trainer beside the first wrote to standard output"
serve only --local-sockets
expect_text /proc/net/unix "@pskit:$address"
addresses=$address
train_three again
end_all_servers
cmp three/pass-00001/model.safetensors again/pass-00001/model.safetensors
ps-train "$job" --data train.txt --passes 2 --set data.batch_size=150 --save-dir joined --json >joined.json 2>/dev/null
need python3
python3 - <<'PY'
import json, struct

def tensors(path):
    data = open(path + "/pass-00001/model.safetensors", "rb").read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: (info, data[8 + size + info["data_offsets"][0]:8 + size + info["data_offsets"][1]])
            for name, info in header.items()}

joined, three = tensors("joined"), tensors("three")
assert joined.keys() == three.keys(), "parameters differ"
for name, (info, data) in joined.items():
    other = three[name][1]
    if info["dtype"] == "U64":
        assert data == other, name + " differs"
        continue
    worst = max(abs(a[0] - b[0]) for a, b in zip(struct.iter_unpack("<f", data), struct.iter_unpack("<f", other)))
    assert worst < 1e-5, f"{name} differs by {worst}"
one, many = (json.load(open(path))["passes"][1] for path in ("joined.json", "three.0"))
assert one["samples"] == many["samples"] == 10000, many
assert abs(one["evaluators"]["auc"] - many["evaluators"]["auc"]) < 1e-4, (one, many)
PY

echo "rows of 16 bits and of bytes give one model on any servers, and are part of what must agree"
types=(--set train.strategy.codec.pull=f16 --set train.strategy.codec.push=int8)
serve_two "${types[@]}"
train_three coarse "${types[@]}"
expect_status 2 ps-train "$job" --data train.txt --servers "$addresses"
expect_text err 'train.strategy.codec.pull is "f32", not "f16"'
end_all_servers
serve only "${types[@]}"
addresses=$address
train_three coarse_again "${types[@]}"
end_all_servers
cmp coarse/pass-00001/model.safetensors coarse_again/pass-00001/model.safetensors
python3 - <<'PY'
import json
coarse, exact = (json.load(open(path)) for path in ("coarse.0", "three.0"))
assert coarse["errors_dropped"] == 0, coarse
difference = abs(coarse["passes"][1]["avg_cost"] - exact["passes"][1]["avg_cost"])
assert 0 < difference < 0.002, (coarse["passes"], exact["passes"])
PY

echo "bounded staleness and asynchronous training learn too"
for strategy in '{"consistency":"staleness","staleness":2}' '{"consistency":"async"}'; do
  job_strategy="$scratch/strategy.json"
  python3 -c 'import json, sys
job = json.load(open(sys.argv[1])); job.setdefault("train", {})["strategy"] = json.loads(sys.argv[2])
json.dump(job, open(sys.argv[3], "w"))' "$PS_SOURCE/share/jobs/quickstart.json" "$strategy" "$job_strategy"
  job=$job_strategy
  rm -rf loose
  serve_two
  train_three loose
  end_all_servers
  python3 -c 'import json
passes = json.load(open("loose.0"))["passes"]
assert passes[1]["samples"] == 10000 and passes[1]["avg_cost"] < passes[0]["avg_cost"], passes'
done

echo "local SGD: one trainer gives the model of one process, bit for bit, and three learn as much as in step"
python3 -c 'import json, sys
job = json.load(open(sys.argv[1])); job.setdefault("train", {})["strategy"] = {"type": "local_sgd", "period": 5}
json.dump(job, open(sys.argv[2], "w"))' "$PS_SOURCE/share/jobs/quickstart.json" "$job_strategy"
serve_two
ps-train "$job" --data train.txt --passes 2 --save-dir geo_alone --servers "$addresses" 2>/dev/null
cmp alone/pass-00001/model.safetensors geo_alone/pass-00001/model.safetensors
ps-train "$job" --job predict --servers "$addresses" --data test.txt >predictions 2>/dev/null
cmp expected predictions
end_all_servers
for differences in mean sum; do
  python3 -c 'import json, sys
job = json.load(open(sys.argv[1])); job["train"]["strategy"] = {"type": "local_sgd", "period": 5, "differences": sys.argv[2]}
json.dump(job, open(sys.argv[1], "w"))' "$job_strategy" "$differences"
  serve_two
  train_three "geo_$differences"
  ps-train "$job" --job test --data test.txt --servers "$addresses" --json >"geo_$differences.test" 2>/dev/null
  end_all_servers
done
ps-train "$PS_SOURCE/share/jobs/quickstart.json" --job test --data test.txt --init-model three/pass-00001 --json >sync.test 2>/dev/null
python3 - <<'PY'
import json
sync, mean, added = (json.load(open(path + ".test"))["test"]["evaluators"]["auc"] for path in ("sync", "geo_mean", "geo_sum"))
print(f"AUC of held-out data: in step {sync:.4f}, local SGD with means {mean:.4f}, with sums {added:.4f}")
assert min(mean, added) > sync - 0.02, (sync, mean, added)
PY

echo "rows come and go on the servers by the shows that trainers of local SGD send: those of one process"
job=$PS_SOURCE/share/jobs/ctr_rows.json
ps-train "$job" --data train.txt --passes 2 --set data.batch_size=50 --save-dir rows_alone --json >rows_alone.json 2>/dev/null
python3 -c 'import json, sys
job = json.load(open(sys.argv[1])); job["train"]["strategy"] = {"type": "local_sgd", "period": 5}
json.dump(job, open(sys.argv[2], "w"))' "$job" "$job_strategy"
job=$job_strategy
serve_two
train_three geo_rows
end_all_servers
for model in rows_alone geo_rows; do
  ps-train --model $model/pass-00001 --job test --data test.txt --json >$model.test 2>/dev/null
done
python3 - <<'PY'
import json
alone, geo = ([p["rows"]["features.weight"] for p in json.load(open(path))["passes"]] for path in ("rows_alone.json", "geo_rows.0"))
# When trainer 0 asks for the counts of the first pass, others may be in the second one already.
assert alone[1] == geo[1] and alone[0]["waiting"] > 0 and alone[1]["created"] > alone[0]["created"], (alone, geo)
one, three = (json.load(open(path + ".test"))["test"]["evaluators"]["auc"] for path in ("rows_alone", "geo_rows"))
print(f"AUC of held-out data: alone {one:.4f}, three trainers with copies {three:.4f}; {alone[1]['rows']} rows")
assert three > one - 0.03, (one, three)
PY
job=$PS_SOURCE/share/jobs/quickstart.json

echo "more trainers than files deal the batches, as many deal the files; one without data ends with the others"
cp train.txt whole.txt
head -60 whole.txt >small.txt
cp small.txt train.txt
serve only
addresses=$address
train_three batches
end_all_servers
sed -n 61,75p whole.txt >second.txt
: >none.txt
serve only
addresses=$address
train_three files --data second.txt --data none.txt --log-level debug
end_all_servers
python3 - <<'PY'
import json
for name, samples in (("batches", 60), ("files", 75)):
    passes = json.load(open(name + ".0"))["passes"]
    assert [each["samples"] for each in passes] == 2 * [samples], (name, passes)
PY

echo "a server that is not there is named"
expect_status 4 ps-train "$job" --data small.txt --servers 127.0.0.1:1 --set cluster.server_timeout=0.5
expect_text err "127.0.0.1:1"

echo "what servers cannot do is refused"
expect_status 2 ps-train "$job" --job test --data small.txt --servers 127.0.0.1:1 --trainers 2
expect_text err 'only training is shared'
expect_status 2 ps-train "$job" --data small.txt --trainers 2
expect_text err '2 trainers need servers'
