#!/usr/bin/env python3
"""What other programs make of the data of recipes.sh, which runs this: by their defaults, and as the best of a sweep.

usage: recipe_peers.py DATA COMBINATIONS   in the working folder of recipes.sh
       recipe_peers.py words FILE          the measure of vectors of words, of a file of word2vec's text

Prints lines "name TAB measure TAB by default TAB swept TAB command".  A sweep draws that many combinations, and the
best on a tenth of the training data, kept from it, is tested as it is; 0: none.  Peers that are missing are named on
standard error.  All have one thread.
"""

import csv
import importlib
import os
import random
import shutil
import subprocess
import sys

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")


def module(name):
    """The module, or None, saying so."""
    try:
        return importlib.import_module(name)
    except Exception as error:  # some are installed and cannot be loaded
        print(f"{name} is left out: {error}", file=sys.stderr)
        return None


np = module("numpy")
metrics = module("sklearn.metrics")


def auc(labels, scores):
    return metrics.roc_auc_score(labels > 0, scores)


def accuracy(labels, classes):
    return float((np.asarray(labels) == np.asarray(classes)).mean())


def split(rows):
    """The rows without a random tenth, and that."""
    kept = [random.Random(i).random() < 0.1 for i in range(len(rows))]
    return [r for r, k in zip(rows, kept) if not k], [r for r, k in zip(rows, kept) if k]


def log(low, high):
    return lambda draw: low * (high / low) ** draw.random()


def one_of(*values):
    return lambda draw: draw.choice(values)


def compare(name, measure, run, ranges, command, combinations, train, test):
    """run(train, test, **keys) -> the measure on test; its defaults, and the best of a sweep."""
    default = run(train, test)
    swept = ""
    if combinations:
        draw = random.Random(1)
        part, kept = split(train)
        keys = [{key: pick(draw) for key, pick in ranges.items()} for _ in range(combinations)]
        best = max(keys, key=lambda k: run(part, kept, **k))
        swept = f"{run(part, test, **best):.4f}"
        command += "; swept " + " ".join(f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in best.items())
    print(f"{name}\t{measure}\t{default:.4f}\t{swept}\t{command}", flush=True)


# Rows of libsvm: a label, and ids with values.
def read_libsvm(path):
    rows = []
    for line in open(path):
        label, *features = line.split()
        pairs = [f.split(":") for f in features]
        rows.append((float(label), [int(i) for i, _ in pairs], [float(v) for _, v in pairs]))
    return rows


def unit(row):
    norm = sum(v * v for v in row[2]) ** 0.5 or 1
    return row[0], row[1], [v / norm for v in row[2]]


def liblinear(train, test, c=1.0, unit_length=False, classes=False):
    """Logistic regression; ids from 0 become LIBLINEAR's from 1."""
    def write(name, rows):
        with open(name, "w") as file:
            for label, ids, values in map(unit, rows) if unit_length else rows:
                pairs = sorted(dict(zip(ids, values)).items())
                file.write(f"{label:g} " + " ".join(f"{i + 1}:{v:g}" for i, v in pairs) + "\n")
    write("liblinear.train", train)
    write("liblinear.test", test)
    call = lambda *words: subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    call("liblinear-train", "-q", "-s", "0", "-B", "1", "-c", str(c), "liblinear.train", "liblinear.model")
    call("liblinear-predict", "-b", "1", "liblinear.test", "liblinear.model", "liblinear.out")
    header, *lines = open("liblinear.out").read().splitlines()
    labels = np.array([row[0] for row in test])
    if classes:
        return accuracy(labels, [float(line.split()[0]) for line in lines])
    names = [float(name) for name in header.split()[1:]]
    positive = 1 + names.index(max(names))
    return auc(labels, [float(line.split()[positive]) for line in lines])


def vw(train, test, l=0.5, l2=0.0, passes=1, flags="--loss_function logistic", classes=False):
    """train and test: lines of VW with the label first; classes begin at 1."""
    workspace = module("vowpalwabbit").Workspace(f"--quiet -b 24 -l {l} --l2 {l2} {flags}")
    examples = list(train)
    for number in range(passes):
        if number:
            random.Random(number).shuffle(examples)
        for line in examples:
            workspace.learn(line)
    predicted = [workspace.predict(line[line.index("|"):]) for line in test]
    workspace.finish()
    labels = np.array([float(line.split()[0]) for line in test])
    return accuracy(labels, predicted) if classes else auc(labels, predicted)


def vw_line(row, label=None):
    name = f"{row[0]:g}" if label is None else label(row[0])
    return f"{name} | " + " ".join(f"{i}:{v:g}" for i, v in zip(row[1], row[2]))


def matrix_of(train):
    """Makes rows of libsvm a sparse matrix, with a column for each id of the training rows."""
    from scipy.sparse import csr_matrix
    columns = {}
    for row in train:
        for i in row[1]:
            columns.setdefault(i, len(columns))

    def matrix(rows):
        ends, ids, values = [0], [], []
        for _, keys_of_row, values_of_row in rows:
            pairs = [(columns[i], v) for i, v in zip(keys_of_row, values_of_row) if i in columns]
            ids += [i for i, _ in pairs]
            values += [v for _, v in pairs]
            ends.append(len(ids))
        return csr_matrix((np.array(values, np.float32), ids, ends), shape=(len(rows), len(columns)))

    return matrix


def naive_bayes(train, test, **keys):
    """Multinomial naive Bayes of scikit-learn, on counts of words."""
    matrix = matrix_of(train)
    model = module("sklearn.naive_bayes").MultinomialNB(**keys).fit(matrix(train), [row[0] for row in train])
    return accuracy([row[0] for row in test], model.predict(matrix(test)))


def lightgbm(train, test, classes=False, categories="auto", **keys):
    """train and test: pairs of a label and a row of numbers, or rows of libsvm."""
    lgb = module("lightgbm")
    if len(train[0]) == 3:
        matrix = matrix_of(train)
    else:
        matrix = lambda rows: np.array([row[1] for row in rows])
    labels = lambda rows: np.array([row[0] for row in rows])
    model = lgb.LGBMClassifier(n_jobs=1, verbose=-1, random_state=1, **keys)
    model.fit(matrix(train), labels(train), categorical_feature=categories)
    if classes:
        return accuracy(labels(test), model.predict(matrix(test)))
    return auc(labels(test), model.predict_proba(matrix(test))[:, 1])


def fit_torch(model, cost, inputs, labels, lr=1e-3, epochs=5, weight_decay=0.0, batch=64):
    """Trains a module of torch on tensors with a row for each example."""
    torch = have["torch"]
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)
    for _ in range(epochs):
        for chosen in torch.randperm(len(labels)).split(batch):
            optimizer.zero_grad()
            cost(model(*(x[chosen] for x in inputs)), labels[chosen]).backward()
            optimizer.step()
    return model.eval()


def torch_wide_deep(train, test, num_ids, dropout=0.5, **keys):
    """The recipe's layers.  train and test: rows of a label, numbers, and ids below num_ids."""
    torch = have["torch"]
    nn = torch.nn
    torch.manual_seed(1)

    class WideDeep(nn.Module):
        def __init__(self, num_numbers, num_columns):
            super().__init__()
            self.wide = nn.EmbeddingBag(num_ids, 1, mode="sum")
            self.vectors, self.dropout = nn.Embedding(num_ids, 8), nn.Dropout(dropout)
            self.deep = nn.Sequential(nn.Linear(num_numbers + 8 * num_columns, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(),
                                      nn.Linear(32, 1))
            nn.init.zeros_(self.wide.weight)

        def forward(self, numbers, ids):
            vectors = self.dropout(self.vectors(ids).flatten(1))
            return (self.wide(ids) + self.deep(torch.cat([numbers, vectors], 1))).squeeze(1)

    def tensors(rows):
        return torch.tensor([r[1] for r in rows], dtype=torch.float32), torch.tensor([r[2] for r in rows])

    inputs = tensors(train)
    model = WideDeep(inputs[0].shape[1], inputs[1].shape[1])
    labels = torch.tensor([r[0] for r in train], dtype=torch.float32)
    fit_torch(model, nn.functional.binary_cross_entropy_with_logits, inputs, labels, **keys)
    with torch.no_grad():
        return auc(np.array([r[0] for r in test]), model(*tensors(test)).numpy())


def torch_mlp(train, test, hidden=512, **keys):
    """train and test: pairs of a class and an array of numbers."""
    torch = have["torch"]
    nn = torch.nn
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(len(train[0][1]), hidden), nn.ReLU(), nn.Linear(hidden, 10))
    numbers = lambda rows: torch.tensor(np.stack([x for _, x in rows]))
    classes = torch.tensor([int(y) for y, _ in train])
    fit_torch(model, nn.functional.cross_entropy, (numbers(train),), classes, **keys)
    with torch.no_grad():
        return accuracy([y for y, _ in test], model(numbers(test)).argmax(1).numpy())


ADAM = {"lr": log(3e-4, 3e-3), "epochs": one_of(2, 5, 10), "weight_decay": log(1e-7, 1e-4)}
TREES = {"num_leaves": one_of(7, 15, 31, 63), "learning_rate": log(0.02, 0.3), "n_estimators": one_of(50, 100, 200, 400),
         "min_child_samples": one_of(5, 20, 100)}
ONLINE = {"l": log(0.02, 2), "l2": log(1e-8, 1e-5), "passes": one_of(1, 3, 10, 20)}
have = {"liblinear": shutil.which("liblinear-train")}


def present(name):
    if name not in have:
        have[name] = module(name)
    elif not have[name]:
        print(f"{name} is left out: it is not installed", file=sys.stderr)
    return have[name]


def two_classes(name, n):
    train, test = read_libsvm(f"{name}/train.libsvm"), read_libsvm(f"{name}/test.libsvm")
    if present("liblinear"):
        compare("LIBLINEAR", "AUC", liblinear, {"c": log(0.01, 100)}, "liblinear-train -s 0 -B 1", n, train, test)
    if present("vowpalwabbit"):
        line = lambda row: vw_line(row, lambda label: "1" if label > 0 else "-1")
        compare("VW", "AUC", vw, ONLINE, "vw -b 24 --loss_function logistic", n, list(map(line, train)), list(map(line, test)))
    if present("lightgbm"):
        compare("LightGBM", "AUC", lightgbm, TREES, "LGBMClassifier()", n, train, test)


def adult(n):
    read = lambda path: list(csv.DictReader(open(path)))
    train, test = read("adult/train.csv"), read("adult/test.csv")
    words = [k for k, v in train[0].items() if v.startswith("w")]
    numbers = [k for k in train[0] if k not in words and k != "income"]
    ids = {}
    label = lambda row: float(row["income"] == "high")
    moments = {k: (np.mean([float(r[k]) for r in train]), np.std([float(r[k]) for r in train])) for k in numbers}
    code = lambda k, row: ids.setdefault((k, row[k]), len(ids))

    def one_hot(row):
        scaled = [(float(row[k]) - moments[k][0]) / moments[k][1] for k in numbers]
        return (label(row), list(range(len(numbers))) + [len(numbers) + code(k, row) for k in words],
                scaled + [1.0] * len(words))

    def trees(row):
        return label(row), [float(row[k]) for k in numbers] + [code(k, row) for k in words]

    def line(row):
        scaled = " ".join(f"{k}:{(float(row[k]) - moments[k][0]) / moments[k][1]:g}" for k in numbers)
        return f"{1 if label(row) else -1} | {scaled} " + " ".join(f"{k}={row[k]}" for k in words)

    if present("liblinear"):
        compare("LIBLINEAR", "AUC", liblinear, {"c": log(0.01, 100)}, "numbers scaled, words one-hot; liblinear-train -s 0 -B 1",
                n, list(map(one_hot, train)), list(map(one_hot, test)))
    if present("vowpalwabbit"):
        compare("VW", "AUC", vw, ONLINE, "numbers scaled; vw -b 24 --loss_function logistic", n, list(map(line, train)),
                list(map(line, test)))
    if present("lightgbm"):
        chosen = list(range(len(numbers), len(numbers) + len(words)))
        run = lambda a, b, **keys: lightgbm(a, b, categories=chosen, **keys)
        compare("LightGBM", "AUC", run, TREES, "LGBMClassifier(), words as categories", n, list(map(trees, train)),
                list(map(trees, test)))


    if present("torch"):
        rows = lambda table: [(label(r), [(float(r[k]) - moments[k][0]) / moments[k][1] for k in numbers],
                               [code(k, r) for k in words]) for r in table]
        a, b = rows(train), rows(test)
        run = lambda part, kept, **keys: torch_wide_deep(part, kept, len(ids), **keys)
        compare("torch", "AUC", run, {**ADAM, "dropout": one_of(0, 0.25, 0.5)}, "numbers scaled; the layers of wide_deep, Adam",
                n, a, b)


def news(n):
    train, test = read_libsvm("20news/train.libsvm"), read_libsvm("20news/test.libsvm")
    if present("liblinear"):
        run = lambda a, b, **keys: liblinear(a, b, classes=True, **keys)
        compare("LIBLINEAR", "accuracy", run, {"c": log(0.1, 1000), "unit_length": one_of(True, False)},
                "liblinear-train -s 0 -B 1", min(n, 4), train, test)
    if present("vowpalwabbit"):
        line = lambda row: vw_line(row, lambda label: f"{label + 1:g}")
        run = lambda a, b, **keys: vw(a, b, flags="--oaa 20 --loss_function logistic", classes=True, **keys)
        compare("VW", "accuracy", run, ONLINE, "vw -b 24 --oaa 20 --loss_function logistic", n, list(map(line, train)),
                list(map(line, test)))
    if present("sklearn"):
        compare("scikit-learn", "accuracy", naive_bayes, {"alpha": log(1e-3, 3)}, "MultinomialNB()", n, train, test)
    if present("fasttext"):
        compare("fastText", "accuracy", fasttext, {"lr": log(0.1, 2), "epoch": one_of(5, 10, 25), "wordNgrams": one_of(1, 2)},
                "fasttext supervised", n, list(open("20news/train.txt")), list(open("20news/test.txt")))


def fasttext(train, test, **keys):
    for name, rows in (("fasttext.train", train), ("fasttext.test", test)):
        with open(name, "w") as file:
            file.writelines(rows)
    model = have["fasttext"].train_supervised("fasttext.train", thread=1, verbose=0, **keys)
    return model.test("fasttext.test")[1]


def mnist(n):
    def read(path):
        rows = []
        for label, ids, values in read_libsvm(path):
            pixels = np.zeros(784, np.float32)
            pixels[ids] = values
            rows.append((label, pixels))
        return rows
    train, test = read("mnist/train.libsvm"), read("mnist/test.libsvm")
    if neural := module("sklearn.neural_network"):
        def run(a, b, **keys):
            model = neural.MLPClassifier(random_state=1, **keys).fit(np.stack([x for _, x in a]), [y for y, _ in a])
            return accuracy([y for y, _ in b], model.predict(np.stack([x for _, x in b])))
        compare("scikit-learn", "accuracy", run, {"hidden_layer_sizes": one_of((100,), (512,)), "max_iter": one_of(10, 20),
                "learning_rate_init": log(3e-4, 3e-3), "alpha": log(1e-5, 1e-2)}, "MLPClassifier()", min(n, 3), train, test)
    if present("torch"):
        compare("torch", "accuracy", torch_mlp, ADAM, "the layers of mlp, Adam", min(n, 3), train, test)
    if present("lightgbm"):
        run = lambda a, b, **keys: lightgbm(a, b, classes=True, **keys)
        compare("LightGBM", "accuracy", run, {}, "LGBMClassifier()", 0, train, test)


def ratings(n):
    from scipy.sparse import csr_matrix
    of_user, of_item = {}, {}
    place = lambda names, name: names.setdefault(name, len(names))
    bought = [(place(of_user, r["user"]), place(of_item, r["item"])) for r in csv.DictReader(open("ratings.csv"))]
    groups = {}
    for row in csv.DictReader(open("candidates.csv")):
        user, item = place(of_user, row["user"]), place(of_item, row["item"])
        groups.setdefault(user, []).append((item, int(row["label"])))

    def matrix(pairs):
        return csr_matrix((np.ones(len(pairs), np.float32), tuple(zip(*pairs))), shape=(len(of_user), len(of_item)))

    def recall(scores_of, groups, k=20):
        shares = []
        for user, candidates in groups.items():
            items, labels = (np.array(column) for column in zip(*candidates))
            if 0 < labels.sum() < len(labels):
                first = np.argsort(-scores_of(user)[items], kind="stable")[:k]
                shares.append(labels[first].sum() / labels.sum())
        return float(np.mean(shares))

    def fame(pairs, groups):
        counts = np.asarray(matrix(pairs).sum(0)).ravel()
        return recall(lambda user: counts, groups)

    print(f"popularity\trecall@20\t{fame(bought, groups):.4f}\t\tthe items bought most", flush=True)
    if not present("implicit"):
        return
    kept = {}
    part, held_out = split(bought)
    seen = {}
    for user, item in part:
        seen.setdefault(user, set()).add(item)
    for user, item in held_out:
        kept.setdefault(user, set()).add(item)
    inner = {user: [(i, int(i in items)) for i in range(len(of_item)) if i not in seen.get(user, ())]
             for user, items in kept.items()}

    def run(maker, pairs, groups, **keys):
        model = maker(random_state=1, num_threads=1, **keys)
        model.fit(matrix(pairs), show_progress=False)
        scores = model.user_factors @ model.item_factors.T
        return recall(lambda user: scores[user], groups)

    shapes = {"factors": one_of(16, 32, 64, 100), "regularization": log(1e-3, 1), "iterations": one_of(15, 30, 100)}
    for name, place_of, ranges in (("ALS", "implicit.als:AlternatingLeastSquares", {**shapes, "alpha": log(1, 40)}),
                                   ("BPR", "implicit.bpr:BayesianPersonalizedRanking",
                                    {**shapes, "learning_rate": log(0.01, 0.2)})):
        source, maker = place_of.split(":")
        maker = getattr(importlib.import_module(source), maker)
        default, swept, best = run(maker, bought, groups), "", {}
        if n:
            draw = random.Random(1)
            keys = [{key: pick(draw) for key, pick in ranges.items()} for _ in range(n)]
            best = max(keys, key=lambda k: run(maker, part, inner, **k))
            swept = f"{run(maker, part, groups, **best):.4f}"
        print(f"{name} of implicit\trecall@20\t{default:.4f}\t{swept}\t{maker.__name__}() {best or ''}", flush=True)


# Words of a kind, all of them frequent in old books.
KINDS = """one two three four five six seven eight nine ten twenty hundred
monday tuesday wednesday thursday friday saturday sunday
january february march april june july august september october november december
father mother brother sister son daughter uncle aunt husband wife cousin
red green blue white black yellow brown grey
head hand arm foot eye face hair nose mouth neck finger shoulder knee
horse dog cat cow sheep bird fish pig wolf lion
england france germany italy spain russia scotland ireland london paris
he she him her his they them we us
was were is are had has have been
good bad great small large little old young
house room door window wall floor roof stairs kitchen
spring summer autumn winter morning evening night day"""
SHOWN = ("king", "water", "seven", "mother", "london", "walked")


def words(path, shown=True):
    """The share of a word's nearest 5, among those of all kinds, that are of its kind, and prints some neighbours."""
    with open(path) as file:
        next(file)
        names, vectors = [], []
        for line in file:
            name, *numbers = line.split()
            names.append(name)
            vectors.append([float(x) for x in numbers])
    vectors = np.array(vectors)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9
    row = {name: i for i, name in enumerate(names)}
    kind_of = {word: kind for kind, line in enumerate(KINDS.splitlines()) for word in line.split() if word in row}
    listed = list(kind_of)
    chosen = vectors[[row[word] for word in listed]]
    near = chosen @ chosen.T
    np.fill_diagonal(near, -2)
    kinds = np.array([kind_of[word] for word in listed])
    share = float((kinds[np.argsort(-near, axis=1)[:, :5]] == kinds[:, None]).mean())
    for word in SHOWN if shown else ():
        if word in row:
            order = np.argsort(-(vectors @ vectors[row[word]]))
            print(f"  {word}: {' '.join(names[i] for i in order[1:8])}", file=sys.stderr)
    return share


def gutenberg(n):
    if not present("gensim"):
        return
    import re
    from gensim.models import Word2Vec
    text = re.findall(r"[a-z0-9]+(?:'[a-z0-9]+)*", open("corpus.txt", encoding="utf-8").read().lower())
    sentences = [text[i:i + 1000] for i in range(0, len(text), 1000)]
    # The recipe's settings: width, words around a word, vocabulary and negatives; and gensim's own passes.
    for passes in (1, 5):
        model = Word2Vec(sentences, vector_size=64, window=5, max_final_vocab=20000, min_count=1, negative=20, sample=0,
                         epochs=passes, workers=1, seed=1)
        model.wv.save_word2vec_format("gensim.txt")
        print(f"gensim\tpurity\t{words('gensim.txt'):.4f}\t\tWord2Vec(vector_size=64, negative=20, sample=0, epochs={passes})",
              flush=True)


if __name__ == "__main__":
    sets = {"a9a": lambda n: two_classes("a9a", n), "ctr10k": lambda n: two_classes("ctr10k", n), "adult": adult,
            "20news": news, "mnist": mnist, "ratings": ratings, "gutenberg": gutenberg}
    if len(sys.argv) != 3 or sys.argv[1] not in [*sets, "words"]:
        sys.exit(__doc__)
    if not (np and metrics):
        sys.exit(0)
    if sys.argv[1] == "words":
        print(f"{words(sys.argv[2]):.4f}")
    else:
        sets[sys.argv[1]](int(sys.argv[2]))
