#!/usr/bin/env python3
"""Writes the data of recipes.sh that are made of others, or generated, into the working folder.

usage: recipe_data.py KIND ARGUMENT...
  adult SOURCE.multislot TARGET.csv   Adult census as a raw table: ages, weeks' hours and dollars are whole numbers again,
                                      and the ids of words are words, without the crosses
  lines SOURCE.libsvm TARGET.txt      classes and ids as fastText's lines: an id as a word
  ratings SEED                        ratings.csv, candidates.csv: who bought what, by a law of tastes and fame
"""

import csv
import random
import sys

# Of the published set: of age, education and hours mean and deviation; of the others those of the logarithm, which
# follow from its most frequent values (77516 and 83311; 0 and 15024; 0 and 1902).
ADULT = (("age", 38.5816, 13.6404, False), ("weight", 11.9837, 0.6308, True), ("education_num", 10.0807, 2.5727, False),
         ("gain", 0.2993 * 2.4547, 2.4547, True), ("loss", 0.2211 * 1.58456, 1.58456, True),
         ("hours", 40.4375, 12.3474, False))
WORDS = ("workclass", "education", "marital", "occupation", "relationship", "race", "sex", "country")


def adult(source, target):
    from math import expm1
    with open(source) as lines, open(target, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow([name for name, *_ in ADULT] + list(WORDS) + ["income"])
        for line in lines:
            fields = line.split()
            numbers = [float(field) * deviation + mean for field, (_, mean, deviation, _) in zip(fields[1:7], ADULT)]
            numbers = [expm1(x) if scale[3] else x for x, scale in zip(numbers, ADULT)]
            words = ["w" + field for field in fields[8:8 + 2 * len(WORDS):2]]
            out.writerow([round(x) for x in numbers] + words + ["high" if fields[-1] == "1" else "low"])


def lines(source, target):
    with open(source) as rows, open(target, "w") as out:
        for row in rows:
            label, *features = row.split()
            words = (f.split(":") for f in features)
            text = " ".join(" ".join([word] * max(1, round(float(value)))) for word, value in words)
            out.write(f"__label__{label} {text}\n")


def ratings(seed, users=2000, items=1500, tested=500, taste=8):
    """Users draw items without replacement, with weights fame * exp(product of tastes); a fifth is held out."""
    import math
    draw = random.Random(int(seed))
    vector = lambda: [draw.gauss(0, 1) for _ in range(taste)]
    of_user, of_item = [vector() for _ in range(users)], [vector() for _ in range(items)]
    fame = [0.7 * -math.log(rank + 1) for rank in range(items)]
    draw.shuffle(fame)
    bought, held_out = [], []
    for user, u in enumerate(of_user):
        count = min(150, 10 + int(draw.paretovariate(1.3) * 10))
        # The largest of weight times exponential noise are a draw without replacement (Gumbel's trick).
        keys = [f + sum(a * b for a, b in zip(u, v)) * 0.7 - math.log(draw.expovariate(1))
                for f, v in zip(fame, of_item)]
        chosen = sorted(range(items), key=lambda item: -keys[item])[:count]
        draw.shuffle(chosen)
        kept = count // 5
        held_out.append(set(chosen[:kept]))
        bought += [(user, item) for item in chosen[kept:]]
    draw.shuffle(bought)
    seen = [set() for _ in range(users)]
    for user, item in bought:
        seen[user].add(item)
    with open("ratings.csv", "w") as file:
        file.write("user,item,label\n")
        file.writelines(f"u{user},i{item},1\n" for user, item in bought)
    with open("candidates.csv", "w") as file:
        file.write("user,item,label,query\n")
        for user in range(tested):
            file.writelines(f"u{user},i{item},{int(item in held_out[user])},{user}\n"
                            for item in range(items) if item not in seen[user])


if __name__ == "__main__":
    kinds = {"adult": adult, "lines": lines, "ratings": ratings}
    if len(sys.argv) < 3 or sys.argv[1] not in kinds:
        sys.exit(__doc__)
    kinds[sys.argv[1]](*sys.argv[2:])
