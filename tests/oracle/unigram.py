"""Perplexity on held-out text of the unigram model of another text.

usage: unigram.py TEXT HELD_OUT VOCABULARY_SIZE

Words are those of ps-data(5): runs of letters, digits and inner apostrophes, lowered; the most frequent ones have a
probability each, all others share one.  Prints the perplexity.
"""

import collections
import math
import re
import sys


def words(path):
    text = open(path, encoding="utf-8", errors="replace").read().lower()
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text)


text, held_out, size = sys.argv[1], sys.argv[2], int(sys.argv[3])
counts = collections.Counter(words(text))
total = sum(counts.values())
listed = dict(counts.most_common(size - 1))
rest = total - sum(listed.values())
costs = [-math.log((listed.get(word) or rest) / total) for word in words(held_out)]
print(math.exp(sum(costs) / len(costs)))
