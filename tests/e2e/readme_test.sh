#!/bin/bash
# The commands of README.md do what it says, on fewer examples: those of the first page with a table and with rows to
# predict, and the pipeline.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
PATH=$PS_BIN:$PATH
cd "$scratch"
readme=$PS_SOURCE/README.md

# commands FIRST LAST: the indented lines of README.md from the one that has FIRST to the one that has LAST.
commands() {
  awk -v first="$1" -v last="$2" 'index($0, first) {on = 1}
    on && /^    / {print substr($0, 5)}
    on && index($0, last) {exit}' "$readme"
}

echo "what the first command builds"
built=$(sed -n 's/^cmake --build --preset release --target //p' "$PS_SOURCE/examples/quickstart.sh")
told=$(grep -o 'the first only .*;' "$readme" | grep -o '`ps-[a-z0-9]*`' | tr -d '`' | xargs)
[[ -n $built && $built == "$told" ]] || fail "quickstart.sh builds '$built', README.md says '$told'"

echo "the pipeline"
commands "ps-datagen ctr --samples 400000" "--job test --init-model" >pipeline
[[ $(wc -l <pipeline) == 3 ]] || fail "README.md has another pipeline: $(cat pipeline)"
sed -i 's/400000/20000/; s/50000/5000/' pipeline
timeout 300 bash -euo pipefail pipeline >out 2>err || fail "$(cat pipeline err)"
cat out err >told
expect_text told auc
[[ -s truth.json && -s output/pass-00000/model.safetensors ]] || fail "it has not written what README.md says: $(ls -R)"

echo "the first page"
rm -rf output
awk 'BEGIN {srand(1); print "click,age,city"
  for (i = 0; i < 2000; ++i) {age = int(60 * rand()); city = int(5 * rand()); print (rand() < age / 90 + city / 20 ? 1 : 0) "," age ",c" city}}' >train.csv
awk 'NR <= 501' train.csv >test.csv
cut -d, -f2- test.csv >rows.csv
commands "ps-train --recipe logistic" "ps-ckpt2model" >page
[[ $(wc -l <page) == 3 ]] || fail "README.md has another first page: $(cat page)"
timeout 300 bash -euo pipefail page >out 2>err || fail "$(cat page err)"
[[ $(grep -cE '^(0|1)(\.[0-9]+)?$|^[0-9.]+e-[0-9]+$' out) -ge 500 ]] || fail "it has not predicted 500 rows: $(head -c 2000 out)"
