#!/usr/bin/env python3
"""Measures of recipes' models, in plain Python, for real_data_test.sh.

usage: recipe_measures.py purity VECTORS.txt        share of a word's nearest 5, among words of some kinds, that are of its kind
       recipe_measures.py neighbours VECTORS.txt N  share of these words that have one of their kind among the N nearest of all
       recipe_measures.py popularity BOUGHT.csv CANDIDATES.csv K    recall at K of the items that were bought most

Vectors are text of word2vec.  Kinds are those of share/bench/recipe_peers.py.
"""

import ast
import csv
import math
import os
import sys


def kinds():
    """The number of its kind for each word."""
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../share/bench/recipe_peers.py")
    with open(path) as file:
        values = [node.value for node in ast.parse(file.read()).body
                  if isinstance(node, ast.Assign) and node.targets[0].id == "KINDS"]
    lines = ast.literal_eval(values[0]).splitlines()
    return {word: kind for kind, line in enumerate(lines) for word in line.split()}


def unit_vectors(path):
    with open(path) as file:
        next(file)
        vectors = {name: [float(x) for x in values] for name, *values in map(str.split, file)}
    for vector in vectors.values():
        norm = math.hypot(*vector) or 1
        vector[:] = [x / norm for x in vector]
    return vectors


def nearest(word, among, vectors, count):
    own = vectors[word]
    cosine = lambda other: sum(map(float.__mul__, own, vectors[other]))
    return sorted((other for other in among if other != word), key=cosine, reverse=True)[:count]


def purity(path):
    vectors = unit_vectors(path)
    kind_of = {word: kind for word, kind in kinds().items() if word in vectors}
    same = [kind_of[other] == kind for word, kind in kind_of.items() for other in nearest(word, kind_of, vectors, 5)]
    return sum(same) / len(same)


def neighbours(path, count):
    vectors = unit_vectors(path)
    kind_of = {word: kind for word, kind in kinds().items() if word in vectors}
    found = [any(kind_of.get(other) == kind for other in nearest(word, vectors, vectors, int(count)))
             for word, kind in kind_of.items()]
    return sum(found) / len(found)


def popularity(bought, candidates, k):
    """The mean over queries of the share of their right items that are among the first k, in the order of fame."""
    fame, queries = {}, {}
    with open(bought) as file:
        for row in csv.DictReader(file):
            fame[row["item"]] = fame.get(row["item"], 0) + 1
    with open(candidates) as file:
        for row in csv.DictReader(file):
            queries.setdefault(row["query"], []).append((-fame.get(row["item"], 0), int(row["label"])))
    shares = []
    for items in queries.values():
        right = sum(label for _, label in items)
        first = sorted(items, key=lambda item: item[0])[:int(k)]
        if 0 < right < len(items):
            shares.append(sum(label for _, label in first) / right)
    return sum(shares) / len(shares)


if __name__ == "__main__":
    measures = {"purity": purity, "neighbours": neighbours, "popularity": popularity}
    if len(sys.argv) < 3 or sys.argv[1] not in measures:
        sys.exit(__doc__)
    print(measures[sys.argv[1]](*sys.argv[2:]))
