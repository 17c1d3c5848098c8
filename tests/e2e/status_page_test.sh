#!/bin/bash
# The page of a server in a browser: it shows the job, and goes on showing it as it changes.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
need chromium python3
source "$(dirname "$0")/half_done_job.sh"

# open_page FILE: what the page has become after some seconds of the browser's own time.
open_page() {
  chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scratch/browser" \
    --virtual-time-budget=4500 --dump-dom "$status/" >"$1" 2>browser.err || fail "$(cat browser.err)"
}

cat >page.py <<'PY'
import html.parser, sys

class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.tables, self.table, self.text, self.updates, self.inside = {}, None, {}, 0, None
        self.feed(open(path).read())
    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "body": self.updates = int(attributes.get("data-updates", 0))
        if tag == "table": self.table = self.tables[attributes["id"]] = []
        if tag == "tr" and self.table is not None: self.table.append([])
        self.inside = (tag, attributes.get("id"))
    def handle_data(self, data):
        if self.inside and self.inside[0] == "td": self.table[-1].append(data)
        elif self.inside and self.inside[1]: self.text[self.inside[1]] = data
    def handle_endtag(self, tag): self.inside = None

page = Page(sys.argv[1])
rows = {name: [row for row in table if row] for name, table in page.tables.items()}
print(page.text.get("job"), "|", page.text.get("state"), "|", *rows["shards"], *rows["trainers"], "| updates", page.updates)
assert page.text["job"] == "quickstart" and "pulls/s" in page.text["state"], page.text
assert list(page.tables) == ["trainers", "shards", "tables"], "trainers come before tables, of which there may be many"
assert page.updates >= 3, page.updates
assert len(rows["shards"]) == 2 and all(int(row[2].replace(",", "")) > 0 for row in rows["shards"])
assert {row[1] for row in rows["tables"]} >= {"sparse"}
assert [row[0] for row in rows["trainers"]] == ["0", "1"]
PY

echo "bytes are shown as people write them, up to the next unit"
sed -n '/^function bytes(n) {$/,/^}$/p' "$PS_SOURCE/lib/ps/status/status_page.cc" >bytes.js
[[ -s bytes.js ]] || fail "the page has no function bytes"
{
  echo '<!DOCTYPE html><body><p id="shown"></p><script>'
  cat bytes.js
  echo 'document.getElementById("shown").textContent ='
  echo '  [0, 1, 1023, 1024, 1536, 102297, 102400, 1047000, 1048575, 1048576, 2 ** 40, 2 ** 52].map(bytes).join("|");'
  echo '</script></body>'
} >bytes.html
chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$scratch/browser" --dump-dom \
  "file://$scratch/bytes.html" >shown.html 2>browser.err || fail "$(cat browser.err)"
expect_text shown.html '0 B|1 B|1023 B|1.00 KiB|1.50 KiB|99.9 KiB|100 KiB|1022 KiB|1024 KiB|1.00 MiB|1.00 TiB|4096 TiB'

echo "the page of a job"
start_job
wait_for_lag
open_page running.html
cat page.py - >running.py <<'PY'
assert [row[2] for row in rows["trainers"]] == ["0", "1"], rows["trainers"]
PY
python3 running.py running.html

end_job
open_page ended.html
cat page.py - >ended.py <<'PY'
assert [row[3] for row in rows["trainers"]] == ["gone", "gone"], rows["trainers"]
PY
python3 ended.py ended.html
