#!/bin/bash
# The cost at powers of two of examples, each before the step that learns from it.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need python3
cd "$scratch"
PATH=$PS_BIN:$PATH

ps-datagen ctr --samples 1000 --output train.txt
# Steps of one example, so that the table has every power.
train=(ps-train --recipe logistic --set data.batch_size=1 --set data.shuffle=none --threads 1)

echo "rows come at powers of two, instead of lines of batches"
"${train[@]}" --data train.txt --passes 2 --progressive --save-dir '' --set train.log_period=1 --metrics metrics >out 2>err
grep -E '^( *[^ ]+){3}$' err | grep -E 'since-last|[0-9]$' | awk '{ print $3 }' | head -n 11 >examples
cmp examples <(printf '%s\n' examples 1 2 4 8 16 32 64 128 256 512) || fail "rows: $(cat err)"
[[ $(grep -c since-last err) == 1 ]] || fail "the heading comes once: $(cat err)"
! grep -q ' Batch=1 samples=1 ' err || fail "there are lines of batches: $(cat err)"
[[ $(grep -c ' Pass=' err) == 2 ]] || fail "there are no lines of passes: $(cat err)"

echo "they are means of the costs of batches, in both passes"
python3 - <<'END' || fail "$(cat err)"
import json, math
events = [json.loads(line) for line in open("metrics")]
for number in (0, 1):
    costs = [e["current_cost"] for e in events if e["event"] == "batch" and e["pass"] == number]
    rows = [e for e in events if e["event"] == "progressive" and e["pass"] == number]
    assert len(costs) == 1000 and [row["samples"] for row in rows] == [2 ** i for i in range(10)], rows
    before = 0
    for row in rows:
        n = row["samples"]
        assert math.isclose(row["avg_cost"], sum(costs[:n]) / n, rel_tol=1e-9), row
        assert math.isclose(row["since_last_cost"], sum(costs[before:n]) / (n - before), rel_tol=1e-9), row
        before = n
END

echo "the first row is of a model that has learnt nothing, and each cost is that of the model before the step"
expect_text err "     0.693147     0.693147            1"
head -n 63 train.txt >before.txt
sed -n 64p train.txt >next.txt
"${train[@]}" --data before.txt --passes 1 --save-dir before >out 2>err
ps-train --model before/pass-00000 --job test --data next.txt --json >tested 2>err
python3 - <<'END' || fail "$(cat tested)"
import json
tested = json.load(open("tested"))["test"]["cost"]
batch = next(e for line in open("metrics") for e in [json.loads(line)] if e["event"] == "batch" and e["batch"] == 64)
assert batch["current_cost"] == tested, (batch, tested)
END

echo "what has no training has no table"
ps-train --model before/pass-00000 --job test --data next.txt --progressive >out 2>err
expect_text err '--progressive is ignored: --job test has no use for it'
expect_status 2 "${train[@]}" --data train.txt --progressive --folds 3
expect_text err 'goes with none of --resume, --metrics, --progressive'
