#!/bin/bash
# The page of a trainer in a browser: it draws the run, and goes on drawing it; who may see it is as for servers.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need chromium curl openssl python3
cd "$scratch"
PATH=$PS_BIN:$PATH
exec 9>/dev/null
trap 'exec 9>&-; kill $(jobs -p) 2>/dev/null || true; wait; remove_scratch' EXIT

ps-datagen ctr --samples 4000 --output train.txt
ps-datagen ctr --first 4000 --samples 500 --output test.txt

# await TEXT FILE: until the file has the text.
await() {
  timeout 60 bash -c 'until grep -qF -- "$0" "$1" 2>/dev/null; do sleep 0.05; done' "$1" "$2" || fail "no '$1': $(cat err)"
}

# start [flags...]: a trainer with a page, $page, that reads the FIFO `data`, whose end the test holds open as file 9.
start() {
  rm -f data err metrics
  mkfifo data
  ps-train quickstart --data data --test-data test.txt --passes 1 --save-dir '' \
    --set data.batch_size=50 --set train.log_period=4 --metrics metrics --host 127.0.0.1 --status-port 0 "$@" >out 2>err &
  trainer=$!
  await 'The status page is at' err
  exec 9>data
  page=$(sed -n 's/^.*The status page is at \(.*\)\/$/\1/p' err)
}
end() {
  exec 9>&-
  wait "$trainer" || fail "the trainer ended with $?: $(cat err)"
}

# open_page FILE: what the page has become after some seconds of the browser's own time.
open_page() {
  timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scratch/browser" \
    --virtual-time-budget=3500 --dump-dom "$page/" >"$1" 2>browser.err || fail "$(cat browser.err)"
}

cat >page.py <<'PY'
import html.parser, json, sys

class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.updates, self.hidden, self.panels, self.panel, self.ids, self.inside = 0, {}, {}, None, {}, None
        self.feed(open(path).read())
    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "body": self.updates = int(a.get("data-updates", 0))
        if tag == "section": self.hidden[a["id"]] = "hidden" in a
        if tag == "figure": self.panel = self.panels[a["data-panel"]] = {"lines": [], "circles": 0, "names": []}
        if tag == "polyline": self.panel["lines"].append([list(map(float, p.split(","))) for p in a["points"].split()])
        if tag == "circle" and self.panel: self.panel["circles"] += 1
        self.inside = (tag, a.get("id"))
    def handle_data(self, data):
        if self.inside and self.inside[0] == "span" and self.panel: self.panel["names"].append(data)
        if self.inside and self.inside[1]: self.ids.setdefault(self.inside[1], data)
    def handle_endtag(self, tag): self.inside = None

page = Page(sys.argv[1])
batches = [e for e in map(json.loads, open("metrics")) if e["event"] == "batch"]
print(page.ids["state"], "|", {name: (len(p["lines"]), p["circles"], p["names"]) for name, p in page.panels.items()})
assert page.updates >= 2, page.updates
assert page.hidden == {"run": False, "server": True}, page.hidden
assert list(page.panels) == ["cost", "evaluators", "learning rate", "throughput"], list(page.panels)
assert f'{batches[-1]["samples"]:,} examples trained on' in page.ids["state"]
PY

echo "while it trains the page draws cost, evaluators, rate and throughput, a point for each report"
start
head -n 2050 train.txt >&9
await '"samples":2000' metrics
open_page running.html
cat page.py - >running.py <<'PY'
cost = page.panels["cost"]["lines"]
assert len(cost) == 1 and len(cost[0]) == len(batches) == 10, cost
# The line goes from left to right, and has the heights of the costs.
xs, ys = zip(*cost[0])
assert list(xs) == sorted(xs) and len(set(xs)) == 10
values = [e["current_cost"] for e in batches]
assert ys.index(min(ys)) == values.index(max(values)) and ys.index(max(ys)) == values.index(min(values)), (ys, values)
assert any(name.startswith("— auc, training") for name in page.panels["evaluators"]["names"])
assert len(page.panels["learning rate"]["lines"][0]) == 10
PY
python3 running.py running.html

echo "status.json has what is drawn; paths that are not there say which are"
curl -sf --max-time 30 "$page/status.json" >status.json
python3 - <<'END' || fail "$(cat status.json)"
import json
status = json.load(open("status.json"))
events = [e for e in map(json.loads, open("metrics"))]
curve = next(c for c in status["curves"] if c["name"] == "training")
assert curve["panel"] == "cost" and curve["joined"]
assert [x for x, _ in curve["points"]] == [e["samples"] for e in events]
assert all(abs(y - e["current_cost"]) < 1e-5 for (_, y), e in zip(curve["points"], events))
assert status["trained"] == 2000 and status["trainers"] == 1 and status["exposure"] == ""
END
[[ $(curl -s --max-time 30 "$page/livez") == ok ]] || fail "it does not live"
[[ $(curl -s --max-time 30 "$page/elsewhere") == *status.json* ]] || fail "it does not say what there is"

echo "more data, more points"
sed -n 2051,3050p train.txt >&9
await '"samples":3000' metrics
open_page later.html
cat page.py - >later.py <<'PY'
assert len(page.panels["cost"]["lines"][0]) == 15
PY
python3 later.py later.html
end
! curl -s --max-time 30 "$page/livez" >page || fail "the page is there after its trainer"

echo "with a token file it is for those who send a token for status, over TLS with a certificate"
umask 077
for role in status train; do echo "$role $(openssl rand -hex 32)"; done >tokens
secret() { sed -n "s/^$1 //p" tokens; }
self_signed page IP:127.0.0.1
start --token-file tokens --tls-cert page.crt --tls-key page.key
[[ $page == https://* ]] || fail "$page"
ask() { curl -s -o answer -w '%{http_code}' --max-time 30 --cacert page.crt "$@" "$page/status.json"; }
[[ $(ask) == 401 ]] || fail "a stranger is answered: $(cat answer)"
[[ $(ask -H "Authorization: Bearer $(secret train)") == 401 ]] || fail "a token for servers shows the page"
[[ $(ask -H "Authorization: Bearer $(secret status)") == 200 ]] || fail "the right token does not: $(cat answer)"
expect_text answer '"curves":[]'
cat train.txt >&9
end

echo "what would let in anybody, or nobody, is refused"
grep train tokens >none
refused=(ps-train --recipe fm --data train.txt --save-dir '' --status-port 0)
expect_status 2 "${refused[@]}" --token-file none
expect_text err "no token for 'status'"
expect_status 2 "${refused[@]}" --host 0.0.0.0
expect_text err "can be reached by others"
expect_status 2 "${refused[@]}" --tls-ca page.crt
expect_text err 'needs --tls-cert and --tls-key too'
expect_status 2 "${refused[@]}" --folds 3
expect_text err 'goes with none of'
