#!/usr/bin/env python3
"""Writes the part of docs/json.md that lists the records of each command, from docs/schemas.

    scripts/json-docs.py           write docs/json.md
    scripts/json-docs.py --check   exit with 1 if it would be changed, or if a recorded session has different keys

Each kind of record lists its keys. The `description` of a key is printed once: for several groups of commands, for one
group, or for its record. A kind without descriptions is omitted; otherwise each of its keys needs one.
"""

import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "json.md"
MARK = "<!-- Written by scripts/json-docs.py from docs/schemas from here on. -->\n"
EVERYWHERE = ("schema", "type")
GROUPS = {"upload": "Uploads", "media": "Media", "sync": "Photos", "hash-only": "Captures", "tapes": "Tapes",
          "login": "Logins", "store": "The store", "doctor": "Checks of a server", "config": "Settings and help"}
ALIASES = {"uploads": "upload", "claim": "sync", "hash": "hash-only", "logout": "login", "smoke": "doctor",
           "help": "config", "error": "config"}


class Kind:
    """A kind of record: its type, and the descriptions of its keys."""

    def __init__(self, schema, properties):
        self.schema, self.name = schema, properties["type"]["const"]
        self.intro = schema.kind_intros.get(self.name)
        keys = {key: value.get("description") for key, value in properties.items() if key not in EVERYWHERE}
        if any(keys.values()) and not all(keys.values()):
            missing = ", ".join(f"`{key}`" for key, value in keys.items() if not value)
            sys.exit(f"json-docs: {schema.path.name}: `{self.name}`: no description of {missing}")
        self.keys = keys if all(keys.values()) else {}


class Schema:
    def __init__(self, path, document):
        self.path, self.title = path, document["title"]
        self.name = document["$id"].removesuffix("-1.json") + "/1"
        self.intro = document.get("description")
        first = path.name.removesuffix("-1.json").split("-")[0]
        self.group = ALIASES.get(first, first)
        self.kind_intros = {kind["properties"]["type"]["const"]: kind.get("description") for kind in document["oneOf"]}
        self.kinds = [Kind(self, kind["properties"]) for kind in document["oneOf"]]


def shared(kinds, scope, known):
    """The most frequent description of each key, if records of at least two scopes have it and it is not known."""
    scopes = collections.defaultdict(set)
    for kind in kinds:
        for entry in kind.keys.items():
            if entry not in known:
                scopes[entry].add(scope(kind))
    common = {}
    for (key, meaning), found in sorted(scopes.items(), key=lambda entry: (-len(entry[1]), entry[0])):
        if len(found) > 1:
            common.setdefault(key, meaning)
    return dict(sorted(common.items()))


def table(title, keys):
    rows = [f"| `{key}` | {meaning.replace('|', chr(92) + '|')} |" for key, meaning in keys.items()]
    return [f"| {title} | meaning |", "| --- | --- |", *rows, ""] if rows else []


def section(schema, known):
    """The records of a command. Keys whose description is in `known` are omitted."""
    lines = [f"### {schema.title}", "", f"Schema [`{schema.name}`](schemas/{schema.path.name}). {schema.intro or ''}".strip()]
    lines.append("")
    for kind in schema.kinds:
        if kind.intro or kind.keys:
            keys = ", ".join(f"`{key}`" for key in kind.keys)
            lines += [" ".join(part for part in (f"**{kind.name}**:", kind.intro, keys) if part), ""]
            lines += table(f"key of `{kind.name}`", {key: meaning for key, meaning in kind.keys.items() if known.get(key) != meaning})
    return lines


def titles(schemas):
    """The title of each group, in the order of the document. A group that is not in GROUPS is titled with its name."""
    others = sorted({schema.group for schema in schemas} - GROUPS.keys())
    return GROUPS | {group: group.replace("-", " ").capitalize() for group in others}


def records(schemas):
    kinds = [kind for schema in schemas for kind in schema.kinds]
    everywhere = shared(kinds, lambda kind: kind.schema.group, set())
    lines = ["## Keys of several groups of commands", "", *table("key", everywhere)]
    for group, title in titles(schemas).items():
        members = sorted((schema for schema in schemas if schema.group == group), key=lambda schema: schema.title)
        kinds = [kind for schema in members for kind in schema.kinds]
        common = shared(kinds, lambda kind: (kind.schema.name, kind.name), everywhere.items())
        lines += [f"## {title}", "", *table("key of several records", common)]
        for schema in members:
            lines += section(schema, everywhere | common)
    return "\n".join(lines).rstrip() + "\n"


def require_recorded_keys(documents):
    """Exits with 1 if the keys of a record in fixtures/golden differ from its schema, or are in a different order."""
    keys = {}
    for document in documents:
        for kind in document.get("oneOf", []):
            properties = kind["properties"]
            keys[properties["schema"]["const"], properties["type"]["const"]] = list(properties)
    for path in sorted((ROOT / "fixtures" / "golden" / "transcripts").glob("*.txt")):
        for line in path.read_text().splitlines():
            record = json.loads(line) if line.startswith('{"schema":') else None
            if record and list(record) != keys.get((record["schema"], record["type"])):
                sys.exit(f"json-docs: {path.name}: the keys of {record['schema']} `{record['type']}` are not those of its schema")


def main():
    head, mark, _ = DOCUMENT.read_text().partition(MARK)
    if not mark:
        sys.exit("json-docs: docs/json.md has no mark")
    documents = {path: json.loads(path.read_text()) for path in sorted((ROOT / "docs" / "schemas").glob("*.json"))}
    schemas = [Schema(path, document) for path, document in documents.items() if "oneOf" in document]
    text = head + MARK + "\n" + records(schemas)
    if "--check" not in sys.argv:
        DOCUMENT.write_text(text)
    elif text != DOCUMENT.read_text():
        sys.exit("json-docs: docs/json.md differs from docs/schemas; run scripts/json-docs.py")
    else:
        require_recorded_keys(documents.values())


if __name__ == "__main__":
    main()
