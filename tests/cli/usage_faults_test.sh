#!/bin/bash
# Messages for mistakes of new users lead to the way out: flags, variables, job files, labels, counts, names of jobs.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
ps-datagen ctr --samples 1k --output train.txt
train=(ps-train quickstart --data train.txt --save-dir '')

echo "counts may be short"
for count in 1500 1.5k 1.5e3; do ps-datagen ctr --samples $count | wc -l; done | sort -u >counts
[[ $(cat counts) == 1500 ]] || fail "$(cat counts)"
expect_status 2 ps-datagen ctr --samples 1.5
expect_text err "is not a whole number, such as 1000, 1M or 1e6"
expect_status 0 "${train[@]}" --passes 1e0 --log-level warning

echo "who gave a wrong value is told"
expect_status 2 "${train[@]}" --passes two
expect_text err "ps-train: --passes: found string 'two', expected an integer"
expect_status 2 env PS_PASSES=two "${train[@]}"
expect_text err "PS_PASSES: found string 'two'"
expect_status 2 "${train[@]}" --set optimizer.learning_rate=fast
expect_text err "--set optimizer.learning_rate: found string 'fast'"
expect_status 2 ps-train quickstart --set data.batch_size=0 --passes 1
expect_text err "--set data.batch_size: 0 is too small"

echo "text where a list belongs is no internal error"
for key in layers evaluators; do
  expect_status 2 "${train[@]}" --set model.$key=auc
  expect_text err "model.$key: found string 'auc', expected an array"
done
expect_status 2 "${train[@]}" --set 'model.layers=["fc"]'
expect_status 2 "${train[@]}" --set 'model.evaluators=[3]'

echo "variables that mean nothing are named, those of other programs are not"
expect_status 0 env PS_BATCH_SIZE=3 PS_PASES=2 ps-datagen --list-kinds
expect_text err 'warning: PS_BATCH_SIZE in the environment is no variable of ps-datagen, and ignored'
expect_status 0 env PS_SAMPELS=3 ps-datagen --list-kinds
expect_text err "(did you mean 'PS_SAMPLES'?)"
for program in $(programs); do
  "$program" --dump-completion fish | grep -o -- ' -l [a-z0-9-]*' | cut -c5- | grep -vxE \
    'help|help-all|version|model|recipe|sweep|sweep-samples|sweep-halving|find-rate|folds|set|print-config|dry-run|list|list-kinds|print-schema|insecure' | tr a-z- A-Z_ | sed 's/^/PS_/'
done | sort -u >variables
(($(wc -l <variables) > 40)) || fail "$(cat variables)"
sed 's/$/=0/' variables | grep -vxE 'PS_(SAMPLES|FIRST|DIM|NNZ|ZIPF|SLOTS|CLASSES|POSITIVE_RATE|INTERACTION|FORMAT|OUTPUT|COMPRESS|RATE|TRUTH|THREADS|SEED|LOG_LEVEL)=0' >settings
mapfile -t settings <settings
expect_status 0 env "${settings[@]}" ps-datagen --list-kinds
[[ ! -s err ]] || fail "variables of other programs are not known: $(cat err)"

echo "a flag whose variable was not set does not train alone, or from the first weights, without a word"
for flag in --servers --peers --init-model --metrics; do
  expect_status 0 "${train[@]}" "$flag" ''
  expect_text err "$flag names nothing"
done
expect_status 0 env PS_SERVERS= PS_INIT_MODEL= "${train[@]}" --log-level warning

echo "flags that a task ignores are named"
expect_status 0 "${train[@]}" --output predictions --log-level warning
expect_text err '--output is ignored: --job train has no use for it'

echo "a job is found by its name, and a slip is told"
ps-train --list jobs >jobs
for name in quickstart alexnet; do grep -qx $name jobs || fail "$name is not listed: $(cat jobs)"; done
! grep -qx nets jobs || fail "a folder is listed as a job"
expect_status 0 ps-train lenet --data train.txt --dry-run
expect_status 0 "${train[@]}" --dry-run
expect_status 2 ps-train quikstart
expect_text err "cannot open 'quikstart': no such file, and no ready-made job of that name (did you mean 'quickstart'?)"

echo "a label that cannot be is a bad line with its number, also in a shuffle"
{
  for i in {1..30}; do echo "$((i % 2)) 1:1 2:0.5"; done
  echo '7 1:1'
  for i in {1..30}; do echo "$((i % 2)) 1:1 2:0.5"; done
} >labels.libsvm
cat >two.json <<'JSON'
{
  "data": {"format": "libsvm", "dim": 4, "batch_size": 8, "shuffle": "full"},
  "model": {
    "layers": [{"name": "score", "type": "fc", "input": "features", "size": 1}],
    "cost": {"type": "binary_cross_entropy", "input": "score"},
    "evaluators": ["auc", "log_loss"]
  },
  "train": {"save_dir": "two"}
}
JSON
expect_status 3 ps-train two.json --data labels.libsvm
expect_text err 'labels.libsvm:31: label 7 is not 0, 1 or -1'
expect_status 0 ps-train two.json --data labels.libsvm --max-bad-lines 1 --log-level warning
expect_text err 'labels.libsvm:31: label 7 is not 0, 1 or -1'

echo "predictions need no labels, neither right ones nor any"
predict=(ps-train two.json --job predict --init-model two/pass-00000 --log-level warning)
printf '1 1:1 2:1\n0 1:2\n' | "${predict[@]}" >expected
printf '7.5 1:1 2:1\n-3 1:2\n' | "${predict[@]}" | cmp - expected
printf '1:1 2:1\n1:2\n' | "${predict[@]}" --set data.labels=false | cmp - expected
printf '1:1 2:1\n1:2\n' >unlabelled.libsvm
expect_status 2 "${predict[@]}" --data unlabelled.libsvm
expect_text err "'1:1' at the beginning of a line is a label with its weight, or the first feature"
expect_status 2 ps-train two.json --data unlabelled.libsvm --set data.labels=false --save-dir ''
expect_text err 'to train and to test takes labels'

echo "weights count in the cost as they do in evaluators"
printf '1:3 1:1\n0:1 2:1\n1:0.5 1:2\n' >weighted.libsvm
ps-train two.json --job test --init-model two/pass-00000 --data weighted.libsvm --json --log-level warning >tested
python3 - <<'PY'
import json
test = json.load(open("tested"))["test"]
assert abs(test["cost"] - test["evaluators"]["log_loss"]) < 1e-6, test
PY

echo "what is undefined is called so"
printf '1 1:1\n1 2:1\n' >one_class.libsvm
expect_status 0 ps-train two.json --job test --init-model two/pass-00000 --data one_class.libsvm
expect_text err 'auc=undefined'
sed 's/^1/0/' one_class.libsvm >no_clicks.libsvm
expect_status 0 ps-train two.json --job test --init-model two/pass-00000 --data no_clicks.libsvm \
  --set 'model.evaluators=["calibration"]'
expect_text err ' calibration=undefined '
printf '1:0 1:1\n0:0 2:1\n' >weightless.libsvm
expect_status 0 ps-train two.json --job test --init-model two/pass-00000 --data weightless.libsvm --json
expect_text err ' cost=undefined '
expect_text out '"cost":null'
expect_status 0 ps-train two.json --data weightless.libsvm --save-dir '' --metrics weightless
expect_text err ' AvgCost=undefined '
! grep -i nan weightless || fail "a figure that is no number"

echo "escape sequences in a file's name do not reach the terminal"
expect_status 2 ps-train $'no\e[31mjob/x'
! grep -q $'\e' err || fail "an escape sequence is printed"

echo "of a fast run few reports are shown, and all are in the metrics"
ps-datagen ctr --samples 30k --output long.txt
ps-train quickstart --data long.txt --save-dir '' --set data.batch_size=10 --metrics metrics 2>err
[[ $(grep -c '"event":"batch"' metrics) == 30 ]]
(($(grep -c ' Batch=.* CurrentCost=' err) <= 1 + $(sed -n 's/.*"seconds":\([0-9]*\).*/\1/p' metrics | tail -1) + 1)) ||
  fail "$(cat err)"

echo "--help fits a screen, --help-all has every flag"
for program in $(programs); do
  "$program" --help >help
  (($(wc -l <help) <= 24)) || fail "$program --help has $(wc -l <help) lines"
  expect_text help "All flags: $program --help-all."
  "$program" --help-all >help
  for flag in $("$program" --dump-completion fish | grep -o -- ' -l [a-z0-9-]*' | cut -c5-); do
    expect_text help "--$flag"
  done
done

echo "completion knows the keys of --set"
ps-train --dump-completion bash >complete
bash -c 'source ./complete; COMP_WORDS=(ps-train --set train.pas); COMP_CWORD=2
  compopt() { :; }; _ps_train; printf "%s\n" "${COMPREPLY[@]}"' >offered
[[ $(cat offered) == train.passes= ]] || fail "$(cat offered)"
ps-train --dump-completion fish >complete
grep -q -- '-l set.*optimizer\.momentum=' complete || fail "no keys of optimizers for fish"
if command -v zsh >/dev/null; then
  # A shell at a terminal that completes one line as soon as it asks for one, writes down what the line is then, and ends.
  mkdir zsh
  ps-train --dump-completion zsh >zsh/_ps-train
  cat >zsh/.zshrc <<'ZSH'
fpath=($ZDOTDIR $fpath)
autoload -Uz compinit && compinit -u -D
zle-line-init() {
  BUFFER='ps-train --set train.pas' CURSOR=24
  zle complete-word
  print -r -- "$BUFFER" >$ZDOTDIR/line
  exit
}
zle -N zle-line-init
ZSH
  ZDOTDIR=$scratch/zsh timeout 120 zsh -fc 'zmodload zsh/zpty && zpty shell zsh -i && while zpty -r shell said; do :; done' </dev/null
  [[ $(cat zsh/line) == 'ps-train --set train.passes=' ]] || fail "zsh completes to $(cat zsh/line)"
else
  echo "skipped: zsh is not installed, so that nobody knows what it completes"
fi
if command -v fish >/dev/null; then
  ps-train --dump-completion fish >ps-train.fish
  HOME=$scratch timeout 120 fish -c "source ps-train.fish; complete -C 'ps-train --set train.pas'" | cut -f1 >offered
  [[ $(cat offered) == train.passes= ]] || fail "fish completes to $(cat offered)"
else
  echo "skipped: fish is not installed, so that nobody knows what it completes"
fi
echo passed
