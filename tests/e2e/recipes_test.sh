#!/bin/bash
# From data to a model without a job file: recipes, what they fill in, and a saved model that is enough to predict with.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
cd "$scratch"
PATH=$PS_BIN:$PATH
need python3

ps-datagen ctr --samples 20000 --output train.txt
ps-datagen ctr --first 20000 --samples 5000 --output test.txt
ps-datagen dense --dim 20 --classes 4 --samples 3000 --format libsvm --output classes.txt
ps-datagen sparse-float --samples 1000 --output numbers.txt
ps-datagen language --samples 30000 --output words.txt

# A user likes the items of a kind, and two people are friends, or not, by their kinds.  Half of the pairs are kept for
# testing, each beside others that are wrong; "query" says which candidates belong together.
python3 - <<'PYTHON'
import random
random.seed(3)

def write(name, columns, rows):
    with open(name, "w") as file:
        for row in [columns] + rows: file.write(",".join(map(str, row)) + "\n")

def split(pairs, wrong, columns, name):
    random.shuffle(pairs)
    half = len(pairs) // 2
    write(name + ".csv", columns + ["label"], [pair + (1,) for pair in pairs[:half]])
    rows = []
    for query, pair in enumerate(pairs[half:]):
        rows.append(pair + (1, query))
        rows += [pair[:-1] + (other, 0, query) for other in random.sample(wrong(pair), 9)]
    write(name + "_candidates.csv", columns + ["label", "query"], rows)

users, items = [f"u{i}" for i in range(200)], [f"i{i}" for i in range(60)]
kind = lambda name: int(name[1:]) % 5
split([(u, i) for u in users for i in items if kind(u) == kind(i)],
      lambda pair: [i for i in items if kind(i) != kind(pair[0])], ["user", "item"], "likes")

# Here all like the same: the law of fame alone tells what is bought next.
fame, draw = [1 / (i + 1) for i in range(60)], random.Random(5)
buy = lambda: draw.choices(items, fame)[0]
write("famous.csv", ["user", "item", "label"], [(draw.choice(users), buy(), 1) for _ in range(6000)])
rows = []
for query in range(500):
    user, item = draw.choice(users), buy()
    others = draw.sample([i for i in items if i != item], 9)
    rows += [(user, i, int(i == item), query) for i in [item] + others]
write("famous_candidates.csv", ["user", "item", "label", "query"], rows)

people = [f"p{i}" for i in range(40)]
relations = {"friend": lambda a, b: kind(a) == kind(b), "rival": lambda a, b: (kind(a) + kind(b)) % 5 == 0}
split([(a, r, b) for r, holds in relations.items() for a in people for b in people if a != b and holds(a, b)],
      lambda triple: [b for b in people if not relations[triple[1]](triple[0], b)],
      ["head", "relation", "tail"], "people")

# Only who clicks may buy; of the others nothing is known.
visits = [(f"page{i % 7}", i % 24, int(i % 7 < 3), int(i % 24 < 6) if i % 7 < 3 else "") for i in range(2000)]
write("visits.csv", ["page", "hour", "click", "conversion"], visits)

with open("mails.txt", "w") as file:
    for i in range(2000):
        first, second = random.choice("ab"), random.choice("cd")
        label = "even" if (first == "a") == (second == "c") else "odd"
        noise = f"word{random.randrange(9)}"
        file.write(f"__label__{label} {noise} {first} {second}\n")

# Every word but the noise has a tag of its own; some texts have none, but the first, by which the format is known.
for name, count in [("tagged.txt", 2000), ("tagged_test.txt", 400)]:
    with open(name, "w") as file:
        for i in range(count):
            words = random.sample(["sun", "sea", "snow", "ski", "rain"], random.randrange(4) if i else 2)
            text = words + [f"word{random.randrange(30)}" for _ in range(3)]
            random.shuffle(text)
            file.write("".join(f"__label__{word}_ " for word in words) + " ".join(text) + "\n")
PYTHON

echo "every recipe trains on data that suit it"
for recipe in $(ps-train --list recipes); do
  case $recipe in
    linear) data=numbers.txt ;;
    softmax | mlp) data=classes.txt ;;
    word2vec) data=words.txt ;;
    two_tower | two_tower_sampled) data=likes.csv ;;
    graph) data=people.csv ;;
    text) data=mails.txt ;;
    tags) data=tagged.txt ;;
    click_conversion) data=visits.csv ;;
    *) data=train.txt ;;
  esac
  ps-train --recipe "$recipe" --data $data --passes 1 --save-dir "model-$recipe" --log-level warning ||
    fail "$recipe does not train"
  [[ -s model-$recipe/pass-00000/model.safetensors ]] || fail "$recipe saved no model"
done

echo "logistic with no flag but the data learns the law of the clicks"
ps-train --recipe logistic --data train.txt --test-data test.txt --json >result 2>err
at_least "$(measure result auc)" 0.72
expect_text err 'Looked at 20000 examples of multislot: data.slots of 21 data.batch_size=64'
expect_text err 'train.passes=20'

echo "the counts of criteo become logarithms, without which nothing is learnt"
ps-datagen criteo --samples 20000 --output criteo.txt
ps-datagen criteo --first 20000 --samples 5000 --output criteo_test.txt
for recipe in logistic dcn; do
  ps-train --recipe $recipe --data criteo.txt --test-data criteo_test.txt --passes 2 --save-dir '' --json >result 2>err
  at_least "$(measure result auc)" 0.72  # 0.84 at best
  expect_text err 'data.log_counts=true'
done

echo "two_tower and graph rank what they have not seen, and text learns what pairs of words tell"
ps-train --recipe two_tower --data likes.csv --save-dir towers --log-level warning
ps-train --model towers/pass-00009 --job test --data likes_candidates.csv --set data.csv.group=query --json >result
at_least "$(measure result mrr)" 0.8  # by chance 0.29
at_least "$(measure result recall_at_10)" 0.99
ps-train --recipe two_tower --data famous.csv --save-dir famous --log-level warning
ps-train --model famous/pass-00009 --job test --data famous_candidates.csv --set data.csv.group=query --json >result
at_least "$(measure result mrr)" 0.45  # by true fame alone 0.61, by chance 0.29

echo "so do two towers whose negatives are sampled from all items: the recipe, and a job of one's own"
ps-train --recipe two_tower_sampled --data likes.csv --save-dir sampled_towers 2>err
expect_text err 'model.layers.3.num_classes=62'  # 60 items, one for all others, and one for none
ps-train --model sampled_towers/pass-00009 --job test --data likes_candidates.csv --set data.csv.group=query --json >result
at_least "$(measure result mrr)" 0.8
expect_status 2 ps-train --recipe two_tower_sampled --data likes.csv --save-dir '' --set 'data.csv.columns=[]'
expect_text err "num_classes: auto is the number of ids of slot 'item', which may be any number"
cat >sampled.json <<'JSON'
{
  "data": {"format": "multislot", "batch_size": 32, "shuffle": "full", "label_slot": "label",
           "slots": [{"name": "user", "dim": 200}, {"name": "item", "dim": 60}, {"name": "label"}]},
  "model": {
    "layers": [
      {"name": "user_vector", "type": "embedding", "input": "user", "size": 32, "sparse_update": true},
      {"name": "choice", "type": "nce", "input": ["user_vector", "item"], "num_classes": 60, "num_neg_samples": 20,
       "bias": false, "sparse_update": true},
      {"name": "item_vector", "type": "embedding", "input": "item", "size": 32, "share_with": "choice", "sparse_update": true},
      {"name": "match", "type": "dot", "input": ["user_vector", "item_vector"]}
    ],
    "cost": {"type": "sum", "input": "match", "factor": 0},
    "auxiliary_costs": [{"type": "sum", "input": "choice"}]
  },
  "optimizer": {"type": "adagrad", "learning_rate": 0.1},
  "train": {"passes": 10}
}
JSON
for name in likes likes_candidates; do
  sed '1d; s/[ui]//g' $name.csv | awk -F, '{ print 1, $1, 1, $2, 1, $3 }' >$name.slots
done
ps-train sampled.json --data likes.slots --save-dir sampled --log-level warning
ps-train --model sampled/pass-00009 --job predict --data likes_candidates.slots --log-level warning >matches
# The right item of each query comes first in its file, before nine others.
awk '{ if (NR % 10 == 1) { own = $1; rank = 1 } else if ($1 >= own) rank++ } NR % 10 == 0 { sum += 1 / rank }
  END { print 10 * sum / NR }' matches >mrr
at_least "$(cat mrr)" 0.8  # by chance 0.29
expect_status 2 ps-train sampled.json --data likes.slots --save-dir '' --set model.layers.1.num_classes=59
expect_text err "num_classes: found 59, but the ids of slot 'item', which are the classes, are below 60"
ps-train --recipe graph --data people.csv --save-dir graph --log-level warning
ps-train --model graph/pass-00009 --job test --data people_candidates.csv --set data.csv.group=query --json >result
at_least "$(measure result mrr)" 0.8
ps-train --recipe text --data mails.txt --save-dir mails --log-level warning
ps-train --model mails/pass-00009 --job test --data mails.txt --json >result
at_least 0.02 "$(measure result classification_error)"
cut -d' ' -f2- mails.txt | ps-train --model mails/pass-00009 --job predict >predictions 2>err
[[ $(wc -l <predictions) == 2000 ]] || fail "$(wc -l <predictions) predictions"

echo "word2vec knows words of a kind by the words before them alone, since it has the words behind its targets too"
python3 - <<'PYTHON'
import random
draw = random.Random(11)
filler = lambda count: [f"word{draw.randrange(20)}" for _ in range(count)]
with open("kinds.txt", "w") as file:  # a kind is told by the word five places before
    for _ in range(6000):
        kind = draw.choice("xyz")
        file.write(" ".join([f"{kind}cue"] + filler(4) + [f"{kind}{draw.randrange(4)}"] + filler(5)) + "\n")
PYTHON
kinds=(ps-train --recipe word2vec --data kinds.txt --passes 3 --log-level warning)
"${kinds[@]}" --save-dir around
"${kinds[@]}" --save-dir before --set data.text.context_after=0
for side in around before; do
  ps-ckpt2model $side/pass-00002 --format word2vec --tables words.weight --output $side.vec
done
python3 - <<'PYTHON'
import math
def alike(path):
    """How many of the 12 words of kinds are nearest to one of their kind."""
    rows = [line.split() for line in open(path)][1:]
    vectors = {name: [float(v) for v in values] for name, *values in rows if name[0] in "xyz" and len(name) == 2}
    cosine = lambda a, b: sum(x * y for x, y in zip(a, b)) / math.hypot(*a) / math.hypot(*b)
    nearest = {a: max((b for b in vectors if b != a), key=lambda b: cosine(vectors[a], vectors[b])) for a in vectors}
    assert len(nearest) == 12, nearest
    return sum(a[0] == b[0] for a, b in nearest.items())
around, before = alike("around.vec"), alike("before.vec")
assert around >= 11 and before <= 8, (around, before)
PYTHON

echo "tags learns which words have which of several labels, and predicts a probability for each"
ps-train --recipe tags --data tagged.txt --save-dir tagged --log-level warning
ps-train --model tagged/pass-00009 --job test --data tagged_test.txt --json >result
at_least "$(measure result micro_f1)" 0.95
at_least "$(measure result precision_at_1)" 0.7  # a quarter of the texts have no tag
at_least 0.1 "$(measure result log_loss)"
ps-train --model tagged/pass-00009 --job predict --data tagged_test.txt >predictions
[[ $(wc -l <predictions) == 400 ]] || fail "$(wc -l <predictions) predictions"
awk 'NF != 5' predictions | grep . && fail "there are 5 tags"
sed 's/__label__[a-z]*_ //g' tagged_test.txt | ps-train --model tagged/pass-00009 --job predict | cmp - predictions
# Tags in the order of their names: rain_, sea_, ski_, snow_, sun_.
printf 'word1 sea word2 snow\n' | ps-train --model tagged/pass-00009 --job predict >predictions
awk '$1 < 0.5 && $2 > 0.5 && $3 < 0.5 && $4 > 0.5 && $5 < 0.5' predictions | grep -q . || fail "$(<predictions)"
expect_status 2 ps-train --recipe text --data tagged.txt --set data.multi_label=true
expect_text err 'data.multi_label: examples have any number of labels, and the cost cross_entropy is of one'
expect_status 2 ps-train --recipe tags --data tagged.txt --set 'model.evaluators=["auc"]'
expect_text err 'model.evaluators.0: auc'

echo "--print-config shows the job that a recipe stands for, which trains to the same bits"
ps-train --recipe logistic --data train.txt --passes 2 --print-config >job.json 2>err
if grep '"auto"' job.json | grep -v '"cache"\|"algorithm"'; then fail "print-config left values open"; fi
ps-train job.json --save-dir printed --log-level warning
ps-train --recipe logistic --data train.txt --passes 2 --save-dir direct --log-level warning
cmp {printed,direct}/pass-00001/model.safetensors
ps-train --recipe logistic --print-config >open.json 2>err </dev/null
expect_text open.json '"batch_size": "auto"'
ps-train open.json --data train.txt --passes 2 --save-dir reopened --log-level warning
cmp {reopened,direct}/pass-00001/model.safetensors

echo "a pipe, plain or compressed, is looked at and read whole"
head -n 5000 train.txt >few.txt
(($(wc -c <few.txt) < 1 << 20)) || fail "the data are too large to be looked at whole"
ps-train --recipe logistic --data few.txt --passes 2 --save-dir filed --log-level warning
gzip -c few.txt | ps-train --recipe logistic --passes 2 --save-dir piped --log-level warning
cmp {piped,filed}/pass-00001/model.safetensors
ps-datagen ctr --samples 60000 >many.txt
(($(wc -c <many.txt) > 3 << 20)) || fail "the data are too small to show it"
for command in "cat many.txt" "gzip -c many.txt"; do
  $command | ps-train --recipe logistic --save-dir '' --json >out 2>err
  expect_text out '"samples":60000'
  expect_text err 'Looked at the first of examples of multislot'
done

echo "a recipe of one's own, with comments, patterns and an open value"
cat >own.json <<'JSON'
// My own.
{
  "data": {"slots": "auto", /* as they come */ "batch_size": 100},
  "model": {
    "layers": [
      {"name": "score", "type": "fc", "input": ["slot1*"], "size": 1, "sparse_update": true},
      {"name": "numbers", "type": "fc", "input": "dense:*", "size": 1},
      {"name": "sum", "type": "add", "input": ["score", "numbers"]}  // there are no numbers
    ],
    "cost": {"type": "binary_cross_entropy", "input": "sum"}
  }
}
JSON
ps-train --recipe ./own.json --data train.txt --save-dir own --log-level warning
# slot1 and slot10 to slot19 have a table each
[[ $(head -c 4000 own/pass-00000/model.safetensors | grep -ao 'score.weight[0-9]*.rows' | wc -l) == 11 ]] || fail "slot1* is not eleven slots"
if grep -aq 'numbers' <(head -c 4000 own/pass-00000/model.safetensors); then fail "a layer without inputs is there"; fi

echo "a saved model is enough to predict and to test with"
ps-train --model direct/pass-00001 --job predict <test.txt >predictions 2>err
[[ $(wc -l <predictions) == 5000 ]] || fail "$(wc -l <predictions) predictions"
ps-train job.json --job predict --init-model direct/pass-00001 --data test.txt >others 2>err
cmp predictions others
ps-train --model direct/pass-00001/model.safetensors --job predict --data test.txt --output by_file 2>err
cmp predictions by_file
ps-train --model direct/pass-00001 --job test --data test.txt --json >tested 2>err
at_least "$(measure tested auc)" 0.7
cut -d' ' -f1-40 test.txt >unlabelled.txt
ps-train --model direct/pass-00001 --job predict --set data.labels=false --data unlabelled.txt >others 2>err
cmp predictions others
ps-train --model direct/pass-00001 --data train.txt --passes 1 --save-dir further --log-level warning
[[ -s further/pass-00000/model.safetensors ]] || fail "training does not go on from a model"

echo "of the run that saved it, the model forgets the servers"
mkdir served
cp direct/pass-00001/* served
python3 - <<'PYTHON'
import json
job = json.load(open("served/job.json"))
job["cluster"]["servers"] = ["127.0.0.1:1"]
job["cluster"]["trainers"] = 4
json.dump(job, open("served/job.json", "w"))
PYTHON
timeout 60 ps-train --model served --job predict --data test.txt >others 2>err
cmp predictions others

echo "refusals"
expect_status 2 ps-train --recipe logistik --data train.txt
expect_text err "there is no recipe 'logistik' (did you mean 'logistic'?)"
expect_status 2 ps-train job.json --recipe logistic --data train.txt
expect_text err 'give a job file, a recipe or a model, one of them'
expect_status 2 ps-train --model direct/pass-00001 --init-model own/pass-00000 --job predict --data test.txt
expect_text err 'the weights are those of --model'
expect_status 2 ps-train --model direct --job predict --data test.txt
expect_text err "'direct' has no job.json beside its weights"
expect_status 2 ps-train --recipe logistic --job predict --init-model direct/pass-00001 --data test.txt
expect_text err 'data.slots is auto in this job, and was filled in when the model was trained: give --model DIR'
expect_status 2 ps-train
expect_text err 'missing JOB.json'
expect_status 2 ps-train --recipe softmax --data numbers.txt
expect_text err 'model.layers.0.size: auto is the number of classes, and labels of these data'
expect_status 3 ps-train --recipe logistic --data own.json
expect_text err 'own.json: '
: >empty.txt
expect_status 3 ps-train --recipe logistic --data empty.txt
mkfifo named
expect_status 2 ps-train --recipe logistic --data named
expect_text err "'named' is a pipe, which cannot be looked at and then read"
expect_status 2 ps-train --recipe logistic --data train.txt --set 'model.layers.0.input=["slots*"]' --save-dir ''
expect_text err "model.layers.0.input: no slot of the data matches 'slots*'"
expect_status 2 ps-serve open.json
expect_text err 'data.slots: auto is for ps-train'
printf '{\n  // one\n  "train": {"passes": 1},,\n}' >wrong.json
expect_status 2 ps-train wrong.json --data train.txt
expect_text err 'wrong.json:3:26: '
echo passed
