#!/bin/bash
# ps-bench plan: what it prints as a table and as JSON agrees, advice follows the link, a cluster on simulated time
# equals the formulas, and mistakes are refused.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
nets=$PS_SOURCE/share/jobs/nets
cd "$scratch"

ps-bench plan "$nets/alexnet.json" --ranks 8 --bandwidth 1G --compute 300ms >slow
expect_text slow "249.5 MB of dense weights"
expect_text slow "compression pays here"
expect_text slow "model parallel would exchange less than data parallel for"
ps-bench plan "$nets/alexnet.json" --ranks 8 --bandwidth 400G --compute 300ms >fast
expect_text fast "compression does not pay"
ps-bench plan "$nets/alexnet.json" --ranks 8 --bandwidth 1G --compute 300ms --markdown >page
expect_text page "| strategy | latency |"

ps-bench plan "$nets/resnet50.json" --ranks 5 --servers 3 --ports 2 --compute 0.2 --simulate --steps 16 --json >plan.json
ps-bench plan "$nets/lenet.json" --ranks 300 --servers 40 --simulate --steps 4 --stragglers 0.01 --link-failures 0.01 \
  --seed 5 --json >noisy.json
ps-bench plan "$nets/lenet.json" --ranks 300 --servers 40 --simulate --steps 4 --stragglers 0.01 --link-failures 0.01 \
  --seed 5 --json >again.json
cmp noisy.json again.json || fail "the same seed gives another run"
python3 - <<'PY' || fail "plan.json is not as it should be"
import json
plan, noisy = json.load(open("plan.json")), json.load(open("noisy.json"))
assert abs(plan["weight_bytes"] - 4 * 25557032) < 1, plan["weight_bytes"]
assert abs(plan["weight_bytes"] / plan["packed_bytes"] - 277) < 3
for entry, run in zip(plan["strategies"], plan["simulated"], strict=True):
    assert entry["name"] == run["name"]
    assert abs(run["mean_seconds"] / entry["step_seconds"] - 1) < 0.001, (entry, run["mean_seconds"])
server = noisy["simulated"][0]
assert server["stragglers"] > 0 and server["link_failures"] > 0
assert server["mean_seconds"] > server["formula_seconds"]
PY

# Connections that carry a quarter of a link: three trainers have two others each, so two connections fill the link.
flows=(plan "$nets/resnet50.json" --ranks 3 --bandwidth 10G --flow-bandwidth 2500M --compute 0.1)
ps-bench "${flows[@]}" >flows
expect_text flows "links of 10 Gbit/s (2.5 Gbit/s a connection, 1 between each two)"
expect_text flows "- cluster.connections: 2 makes a step of direct"
ps-bench "${flows[@]}" --flow-bandwidth 5G >enough
expect_text enough "one connection between each two trainers is enough for direct"
for connections in 1 2; do ps-bench "${flows[@]}" --connections $connections --simulate --steps 4 --json >"flows$connections.json"; done
python3 - <<'PY' || fail "connections are planned wrong"
import json
one, two = (json.load(open(f"flows{connections}.json")) for connections in (1, 2))
assert one["connections"] == two["connections"] == 2, one["connections"]
step = [{each["name"]: each["step_seconds"] for each in plan["strategies"]} for plan in (one, two)]
assert step[1]["direct"] < 0.75 * step[0]["direct"] and step[1]["server"] == step[0]["server"], step
for run in one["simulated"] + two["simulated"]:
    assert abs(run["mean_seconds"] / run["formula_seconds"] - 1) < 0.001, run
PY
expect_status 2 ps-bench "${flows[@]}" --connections 17

# FireCaffe compares a trainer that is the server of the others with a tree: its link carries (W - 1) V, the tree's V log2 W.
for ranks in 5 64; do
  ps-bench plan "$nets/vgg16.json" --ranks $ranks --servers 0 --sum-rate 0 --compute 0.2 --simulate --json >"ranks$ranks.json"
done
ps-bench plan "$nets/vgg16.json" --ranks 5 --servers 0 --compute 0.2 >server
expect_text server "5 trainers, the first of which is the server, links of"
python3 - <<'PY' || fail "a trainer that is the server is planned wrong"
import json
for ranks, rounds in (5, 3), (64, 6):
    plan = json.load(open(f"ranks{ranks}.json"))
    bandwidth, exchange = 10e9 / 8, {each["name"]: each["step_seconds"] - 0.2 for each in plan["strategies"]}
    assert abs(exchange["server"] / (plan["weight_bytes"] / bandwidth * (ranks - 1)) - 1) < 0.01, exchange
    assert abs(exchange["tree"] / (plan["weight_bytes"] / bandwidth * rounds) - 1) < 0.01, exchange
    server = plan["simulated"][0]
    assert abs(server["mean_seconds"] / server["formula_seconds"] - 1) < 0.001, server
PY

# Strategies that are named are simulated alone, in their order, to the same steps as among all; local_sgd is that of each period.
few=(plan "$nets/lenet.json" --ranks 4 --periods 4,16 --simulate --steps 8 --jitter 0.2 --seed 3)
ps-bench "${few[@]}" --json >all.json
ps-bench "${few[@]}" --strategies tree,local_sgd,server --json >few.json
ps-bench "${few[@]}" --strategies tree >few
[[ $(sed -n '/^A step on simulated time/,$p' few | grep -cE '^(server|direct|chain|tree|ring|dgc|local_sgd)') == 1 ]] ||
  fail "tree was to be simulated alone: $(<few)"
python3 - <<'PY' || fail "the named strategies are simulated wrong"
import json
runs, few = (json.load(open(name + ".json"))["simulated"] for name in ("all", "few"))
of_all = {run["name"]: run for run in runs}
assert [run["name"] for run in few] == ["tree", "local_sgd, k = 4", "local_sgd, k = 16", "server"], few
assert len(of_all) == len(runs) == 9 and all(run == of_all[run["name"]] for run in few), (runs, few)
PY
expect_status 2 ps-bench "${few[@]}" --strategies tree,quick
expect_text err "--strategies: there is no 'quick'"

# Every id of a sequence passes through the weights of a gru.
for ids in 1 8; do ps-bench plan "$PS_SOURCE/share/jobs/gutenberg_gru.json" --ids $ids --json >"ids$ids.json"; done
python3 - <<'PY' || fail "sequences are not counted: $(cat ids8.json)"
import json
one, eight = ([l for l in json.load(open(f"ids{n}.json"))["layers"] if l["type"] == "gru"][0] for n in (1, 8))
assert one["weight_bytes"] == eight["weight_bytes"] == 4 * (64 * 192 + 64 * 192 + 192 + 64), one
assert eight["multiply_adds"] == 8 * one["multiply_adds"] and eight["activation_bytes"] == 8 * one["activation_bytes"]
PY

ps-bench plan --published >published
expect_text published "NiN, 128 GPUs, batch 1024"
ps-bench plan --published --json | python3 -c '
import json, sys
for table in json.load(sys.stdin):
    for figure in table["figures"]:
        assert abs(figure["error"]) <= table["tolerance"], figure'

cat >limits.json <<'JSON'
{"results": [{"name": "limits/tcp/rate", "threads": 1, "median_rate": 2.5e9},
             {"name": "limits/tcp/round-trip", "threads": 1, "median_rate": 20000}]}
JSON
ps-bench plan "$nets/lenet.json" --limits limits.json >limits
expect_text limits "links of 20 Gbit/s, L 15 us"

# A ready-made job is found by its name, as installed programs find it: a net, and a job beside the nets.
ps-bench plan alexnet --ranks 8 --bandwidth 1G --compute 300ms >named
cmp slow named || fail "alexnet is not $nets/alexnet.json"
ps-bench plan criteo_wide_deep --hetero --read 5ms --cpu-compute 40ms --compute 2ms >hetero
expect_text hetero "criteo"
expect_status 2 ps-bench plan alexnett
expect_text err "no ready-made job of that name (did you mean 'alexnet'?)"

expect_status 2 ps-bench plan "$nets/lenet.json" --bandwidth fast
expect_text err "--bandwidth: 'fast' is not a rate"
expect_status 2 ps-bench plan "$nets/lenet.json" --periods 1
expect_status 2 ps-bench plan "$nets/lenet.json" --set data.format=auto
expect_text err "data.format: 'auto' needs data to look at"
expect_status 2 ps-bench plan "$PS_SOURCE/share/jobs/a9a.json" --set model.layers.0.bias=false
expect_text err "nothing to plan"
echo '{}' >empty.json
expect_status 2 ps-bench plan "$nets/lenet.json" --limits empty.json
expect_status 0 ps-bench plan --help
if grep -nE '^.{81}' out; then fail "ps-bench plan --help is wider than 80 columns"; fi
echo "plans agree with the simulator and with what was published"
