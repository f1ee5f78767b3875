#!/usr/bin/env python3
"""Fails on phrases that have a standard term: in strings, comments and names of the sources, documents and schemas.

    scripts/check-phrases.py [DIRECTORY]

Run by `make lint`. scripts/phrases.tsv has one phrase per line, with its replacement. A phrase is a regular expression
of whole words, ignoring case; a space in it also matches a hyphen, a line break, and the boundary between two words of
a Swift name (`goOn`). scripts/phrases-exceptions.tsv lists the places that keep a phrase: a file, or a directory with a
trailing slash; the phrase as in phrases.tsv, or *; the reason. Only phrases are listed, since common words also have
correct uses. Tests and recorded files are not checked.
"""

import bisect
import pathlib
import re
import sys

CHECKED = (
    "Sources/**/*.swift", "Sources/**/*.[ch]", "Sandbox/Sources/**/*.swift", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md",
    "docs/schemas/**/*.json", "docs/models/*.pml", "Dockerfile", ".github/workflows/*.yml", "scripts/*.sh", "scripts/proof/*.py", "scripts/real/*.py",
)
WORDS_OF_NAME = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# The characters before the text of a line: a comment marker, a quotation mark or a table delimiter.
PREFIX = re.compile(r"\s*(?:///?|>|\|)?\s*")


def rows(path, count):
    """The columns of each row."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line and not line.startswith("#"):
            columns = line.split("\t")
            if len(columns) != count or not all(columns):
                sys.exit(f"phrases: {path.name}:{number}: expected {count} columns")
            yield columns


def compiled(phrases):
    return re.compile(r"\b(?:" + "|".join(phrases).replace(" ", r"[- \n]") + r")\b", re.IGNORECASE)


def checked_lines(path):
    """(line number, text) of each checked line. Code continues in the next line only in comments and strings."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = re.sub(r"\s+", " ", line[PREFIX.match(line).end():].removesuffix("\\").rstrip())
        if path.suffix == ".swift":
            text = WORDS_OF_NAME.sub(" ", text)
            if not line.lstrip().startswith("//") and not line.endswith("\\"):
                text += "\n"
        yield number, text


def findings(path, phrases):
    """(line number, text found, phrase) of each phrase in a file."""
    numbers, starts, whole = [], [], ""
    for number, text in checked_lines(path):
        numbers.append(number)
        starts.append(len(whole))
        whole += text + "\n"
    for match in phrases[""].finditer(whole):
        phrase = next(each for each, pattern in phrases.items() if each and pattern.match(whole, match.start()))
        yield numbers[bisect.bisect_right(starts, match.start()) - 1], match.group().replace("\n", " "), phrase


def complaints(root, scripts):
    replacements = dict(rows(scripts / "phrases.tsv", 2))
    # Search for all phrases at once, which is faster; each single phrase is only used to identify a match.
    phrases = {"": compiled(replacements)} | {phrase: compiled([phrase]) for phrase in replacements}
    exceptions = root / "scripts/phrases-exceptions.tsv"
    kept = {(place, phrase) for place, phrase, _ in rows(exceptions, 3)} if exceptions.exists() else set()
    unused = set(kept)
    for path in sorted({path for pattern in CHECKED for path in root.glob(pattern)}):
        name = path.relative_to(root).as_posix()
        for line, found, phrase in findings(path, phrases):
            uses = {
                (place, each) for place, each in kept
                if each in (phrase, "*") and (name == place or place.endswith("/") and name.startswith(place))
            }
            unused -= uses
            if not uses:
                yield f"{name}:{line}: {found} → {replacements[phrase]}"
    for place, phrase in sorted(unused):
        yield f"scripts/phrases-exceptions.tsv: {place} does not contain '{phrase}'"


def main():
    scripts = pathlib.Path(__file__).resolve().parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else scripts.parent
    found = list(complaints(root, scripts))
    for complaint in found:
        print(f"phrases: {complaint}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
