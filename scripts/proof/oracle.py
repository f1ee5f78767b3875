"""Tests whether the simulation detects a missing sync: the model ignores the syncs of one kind of file at a time."""

import collections
import pathlib
import re
import tempfile

from disk import Directory
from powerloss import SCENARIOS, Explorer
from recording import Recording
from harness import work_directory

STATES = 250


def kind(node):
    """Groups files whose names differ only in numbers and random parts."""
    return "a directory" if isinstance(node, Directory) else re.sub(r"[0-9a-z]{12,}|\d+", "*", node.label)


def kinds_of(recording):
    """The kinds of files that a run syncs, and the number of syncs."""
    found = collections.Counter()

    def note_kind(node, event):
        found[kind(node)] += 1
        return False

    disk = recording.disk(note_kind)
    for event in recording.events:
        disk.apply(event)
    return found


def part(arguments):
    """One scenario: for each kind of file, its syncs, the states, and the number of bad states without them."""
    name, seed, states, library = arguments
    rows = []
    with tempfile.TemporaryDirectory(prefix="mediactl-oracle-", dir=work_directory()) as work:
        recording = Recording(SCENARIOS[name](), work, library, seed)
        try:
            for forgotten, count in sorted(kinds_of(recording).items()):
                explorer = Explorer(name, seed, states, library, lambda node, event: kind(node) == forgotten)
                result = explorer.run(pathlib.Path(work), recording)
                rows.append((name, forgotten, count, len(result.digests), len(result.bad_states), result.kinds))
        finally:
            recording.stop()
    return rows


def report(rows):
    """Prints the results; returns whether all missing syncs were detected."""
    print(f"{'scenario':10} {'ignored syncs of':32} {'syncs':>5} {'states':>7} {'bad':>6}")
    for name, forgotten, count, states, bad, kinds in rows:
        words = ", ".join(f"{number} {what}" for what, number in kinds.items())
        print(f"{name:10} {forgotten:32} {count:5} {states:7} {bad:6}  {words}")
    seen = sum(bad > 0 for *_, bad, _ in rows)
    print(f"powerloss: {seen} of {len(rows)} kinds of syncs are detected as missing when the model ignores them")
    return seen > 0
