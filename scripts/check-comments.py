#!/usr/bin/env python3
"""Fails on comments of initializers, properties and cases that only repeat the declaration.

    scripts/check-comments.py [DIRECTORY]

Run by `make lint`. A one-line comment repeats a declaration if each of its words is part of the declaration or of
the name of its type, in singular or plural, or is one of FILLERS. A number or a quoted value says more. The meanings of
outcome codes are not checked: docs/exit-codes.md is generated from them.
"""

import pathlib
import re
import sys

FILLERS = set(
    "a an and are as be been by create creates empty for from given had has have in is it its make makes new no of on or set that "
    "the these this to value values was were whether which with".split()
)
DECLARATION = re.compile(r"\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:\w+(?:\(set\))?\s+)*?(case|init|let|var)\b(.*)")
TYPE = re.compile(r"(\s*)(?:\w+\s+)*?(?:actor|class|enum|extension|protocol|struct)\s+([\w.]+)")
COMMENT = re.compile(r"(\s*)/// ([^0-9`]*)\.$")


def words(text):
    """The words of names and prose, each also without a plural ending."""
    found = {word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", text)}
    return found | {word.removesuffix("s") for word in found} | {re.sub("ies$", "y", word) for word in found}


def declaration_at(lines, index):
    """A declaration without its value, an initializer with its parameters; None for any other kind."""
    match = DECLARATION.match(lines[index])
    if not match:
        return None
    text = lines[index] if match[1] == "init" else lines[index].split(" = ")[0]
    while match[1] == "init" and not lines[index].rstrip().endswith(("{", "}")) and index + 1 < len(lines):
        index += 1
        text += " " + lines[index]
    return text


def type_around(lines, index, indentation):
    """The name of the type that has a member with this indentation."""
    for line in reversed(lines[:index]):
        match = TYPE.match(line)
        if match and len(match[1]) < indentation:
            return match[2]
    return ""


def repeating(path):
    """The numbers of the lines with a comment that repeats its declaration."""
    lines = path.read_text().split("\n")
    for index in range(1, len(lines) - 1):
        comment = COMMENT.match(lines[index])
        if not comment or lines[index - 1].lstrip().startswith("//") or lines[index + 1].lstrip().startswith("//"):
            continue
        declaration = declaration_at(lines, index + 1)
        if declaration is None or "OutcomeCode(" in lines[index + 1]:
            continue
        known = words(declaration) | words(type_around(lines, index, len(comment[1])))
        if all({word, word.removesuffix("s")} & known or word in FILLERS for word in re.findall("[a-z]+", comment[2].lower())):
            yield index + 1


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = [
        f"{path.relative_to(root)}:{number}: the comment only repeats the declaration"
        for path in sorted([*root.glob("Sources/**/*.swift"), *root.glob("Sandbox/Sources/**/*.swift")])
        for number in repeating(path)
    ]
    if found:
        sys.exit("\n".join(found))


main()
