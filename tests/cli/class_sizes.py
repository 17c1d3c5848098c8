#!/usr/bin/env python3
"""Counts the methods and the data members of the classes in C++ headers.

usage: class_sizes.py [--methods MOST] [--members MOST] FILE...

Prints each class that has more, and then ends with 1.  Constructors, overloads and inline accessors count.  What counts is what
stands between the braces of the class itself: not what classes within it have, nor functions that are deleted or defaulted,
friends, aliases and constants.
"""

import argparse
import re
import sys


def without_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"//[^\n]*", "", text)
    return re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])\'', "0", text)


def closing(text, opening):
    """Returns the position of the brace that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at
    return len(text) - 1


def statements(body):
    """Yields the declarations of a class body; the braces of each, with all between them, have become "{}"."""
    statement, at = "", 0
    while at < len(body):
        letter = body[at]
        at += 1
        if letter == ";":
            yield statement
            statement = ""
        elif letter == "{":
            at = closing(body, at - 1) + 1
            statement += "{}"
            is_function = re.search(r"\)[\w\s]*(:.*)?\{\}$", without_templates(statement), re.S)
            ends_initializer = re.match(r"\s*[,{]", body[at:])
            if is_function and not ends_initializer:
                yield statement
                statement = ""
        else:
            statement += letter


def without_templates(text):
    before = None
    while before != text:
        before, text = text, re.sub(r"<[^<>]*>", "", text)
    return text


def kind(statement):
    """Returns "method", "member" or None."""
    text = re.sub(r"\b(public|private|protected)\s*:", "", statement)
    text = without_templates(re.sub(r"\[\[.*?\]\]", "", text)).strip()
    if not text or re.match(r"(using|friend|typedef|static_assert|enum|class|struct|union|static constexpr)\b", text):
        return None
    if re.search(r"=\s*(delete|default)\s*$", text):
        return None
    if "operator" in text or "(" in text.split("=")[0].split("{")[0]:
        return "method"
    return "member"


def classes(text):
    for match in re.finditer(r"\bclass\s+(\w+)\s*(final\s*)?(:[^;{()]*)?\{", text):
        if re.search(r"\benum\s*$", text[: match.start()]):
            continue
        opening = match.end() - 1
        kinds = [kind(statement) for statement in statements(text[opening + 1 : closing(text, opening)])]
        yield match.group(1), kinds.count("method"), kinds.count("member")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n")[2][7:])
    parser.add_argument("--methods", type=int, default=40)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    too_large = 0
    for file in arguments.files:
        with open(file, encoding="utf-8") as source:
            text = without_comments(source.read())
        for name, methods, members in classes(text):
            if methods > arguments.methods or members > arguments.members:
                print(f"{file}: class {name} has {methods} methods and {members} members")
                too_large += 1
    sys.exit(1 if too_large else 0)


if __name__ == "__main__":
    main()
