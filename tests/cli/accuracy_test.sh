#!/bin/bash
# ps-bench accuracy: trains with strategies in processes, tells values and bytes as a table and as JSON, refuses mistakes.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
cd "$scratch"

small=(--samples 4000 --passes 1 --ranks 2)
ps-bench accuracy "${small[@]}" --strategies dgc,post_local_sgd --seeds 1,2 --json >accuracy.json 2>err
expect_text err "post_local_sgd k=16, seed 2: auc"
python3 - <<'PY' || fail "the JSON is not as it should be"
import json
result = json.load(open("accuracy.json"))
rows, summary = result["rows"], {each["strategy"]: each for each in result["summary"]}
names = ["all_reduce", "dgc"] + ["post_local_sgd k=%d" % k for k in (1, 2, 4, 8, 16)]
assert list(summary) == names, list(summary)
assert [(row["strategy"], row["seed"]) for row in rows] == [(name, seed) for name in names for seed in (1, 2)]
for name in names:
    values = [row["value"] for row in rows if row["strategy"] == name]
    each = summary[name]
    assert (each["lowest"], each["highest"]) == (min(values), max(values)) and 0 < min(values) <= max(values) < 1, (name, values)
    assert abs(each["mean"] - sum(values) / 2) < 1e-12
    assert abs(each["difference"] - (each["mean"] - summary["all_reduce"]["mean"])) < 1e-12
assert {row["steps"] for row in rows} == {20} and {row["measure"] for row in rows} == {"auc"}
assert summary["all_reduce"]["fewer_bytes"] == 1
assert summary["dgc"]["fewer_bytes"] > 1.5
fewer = [summary["post_local_sgd k=%d" % k]["fewer_bytes"] for k in (1, 4, 16)]
assert 0.9 < fewer[0] < fewer[1] < fewer[2], fewer
PY

echo "after more steps the models have learned, those of compressed gradients nearly as much"
ps-bench accuracy --samples 10000 --passes 5 --ranks 2 --strategies dgc,compressed_all_reduce --seeds 1 --json >learned.json 2>err
python3 - <<'PY' || fail "a strategy does not learn"
import json
summary = {each["strategy"]: each for each in json.load(open("learned.json"))["summary"]}
whole = summary["all_reduce"]["mean"]
assert 0.8 < whole < 0.9, summary
for name, each in summary.items():
    rough = name == "dgc" or name.endswith("one_bit")
    assert abs(each["mean"] - whole) < (0.05 if rough else 0.005), (name, summary)
assert len(summary) == 8, summary
PY

ps-bench accuracy "${small[@]}" --strategies parameter_server,hybrid --seeds 1 --json >served.json 2>err
python3 - <<'PY' || fail "the JSON of strategies with servers is not as it should be"
import json
summary = {each["strategy"]: each for each in json.load(open("served.json"))["summary"]}
for name in ("parameter_server f32", "hybrid f32"):
    assert summary[name]["mean"] == summary["all_reduce"]["mean"], (name, summary)
for name in ("int8", "int8 stochastic", "shared_scale_int", "one_bit", "low_rank"):
    each = summary["parameter_server " + name]
    assert 0 < each["mean"] < 1 and each["fewer_bytes"] > 1.2 * summary["parameter_server f32"]["fewer_bytes"], each
PY

ps-datagen sparse-binary --dim 5000 --samples 2000 --output train.txt
ps-datagen sparse-binary --dim 5000 --first 2000 --samples 500 --output test.txt
job=$PS_SOURCE/share/jobs/dense_clicks_dgc.json
ps-bench accuracy "$job" --data train.txt --test-data test.txt --ranks 2 --passes 1 --seeds 1 --strategies power_sgd \
  --markdown --save saved.jsonl >page 2>err
expect_text page "| strategy | mean | lowest | highest | from all_reduce | MB sent | fewer bytes |"
expect_text page "| power_sgd rank 2 |"
expect_text saved.jsonl '"strategy":"power_sgd rank 2"'

echo "rows do not depend on how many are trained at a time, and those that are known are not trained again"
some=(--samples 2000 --passes 1 --ranks 2 --strategies dgc,diloco,hybrid --seeds 1,2)
ps-bench accuracy "${some[@]}" --save one.jsonl >one 2>err
ps-bench accuracy "${some[@]}" --parallel 4 --save four.jsonl >four 2>err
diff one four
head -3 one.jsonl >cut.jsonl
sed -n 4p one.jsonl | head -c 20 >>cut.jsonl # of a run that was killed while it wrote
ps-bench accuracy "${some[@]}" --save cut.jsonl --resume >resumed 2>err
tail -n +2 one | diff - <(tail -n +2 resumed)
[[ $(grep -c ", seed" err) == 6 ]] || fail "two of eight rows were known"
ps-bench accuracy "${some[@]}" --save cut.jsonl --resume --json >resumed.json 2>err
[[ ! -s err ]] || fail "nothing was left to train"
python3 -c 'import json; assert len(json.load(open("resumed.json"))["rows"]) == 8'

echo "rows of several runs become tables"
grep '"seed":1' four.jsonl >first.jsonl
sed 's/generated clicks/others/' four.jsonl >others.jsonl
ps-bench accuracy --join first.jsonl,four.jsonl,others.jsonl >joined
[[ $(grep -c "2 trainers, 10 steps" joined) == 2 ]] || fail "there are two jobs"
diff <(tail -n +3 one) <(sed -n '/^generated/,/^others/p' joined | sed '1d;$d')
printf '%s\n' "$(tail -n 1 first.jsonl)" '{"suite":"dgc"}' >mixed.jsonl
expect_status 5 ps-bench accuracy --join mixed.jsonl
expect_text err "mixed.jsonl:2: this is no result of ps-bench accuracy"
expect_status 2 ps-bench accuracy --resume
expect_text err "needs --save FILE"
expect_status 2 ps-bench accuracy "$job" --join four.jsonl
expect_text err "give no job file with it"

echo "mistakes are refused"
expect_status 2 ps-bench accuracy --strategies dcg
expect_text err "there is no 'dcg' (did you mean 'dgc'?)"
expect_status 2 ps-bench accuracy --seeds one
expect_status 2 ps-bench accuracy --ranks 1
expect_status 2 ps-bench accuracy "$job"
expect_text err "give --data FILE"
expect_status 2 ps-bench accuracy --data train.txt
expect_text err "give a job file with it"
expect_status 2 ps-bench accuracy "$job" --data train.txt --test-data test.txt --ranks 2 --passes 1 --seeds 1 --measure acu
expect_text err "the job's evaluators give no 'acu'"
sed 's/"type": "momentum", "momentum": 0.9/"type": "adam"/' "$PS_SOURCE/share/jobs/dense_clicks.json" >adam.json
expect_status 2 ps-bench accuracy adam.json --data train.txt --test-data test.txt
expect_text err "train.strategy dgc compresses the moves of momentum"
ps-bench accuracy --help >help
expect_text help "--strategies"
