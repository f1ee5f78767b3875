"""Does the simulation see a missing sync? Forgets, in the model, the syncs of one kind of file after the other."""

import collections
import pathlib
import re
import tempfile

from disk import Directory
from powerloss import SCENARIOS, Explorer
from recording import Recording
from stage import work_directory

STATES = 250


def kind(node):
    """Files whose names differ only in numbers and random parts are of one kind."""
    return "a directory" if isinstance(node, Directory) else re.sub(r"[0-9a-z]{12,}|\d+", "*", node.label)


def kinds_of(recording):
    """The kinds of files that a run synchronizes, and how often."""
    found = collections.Counter()

    def note_kind(node, event):
        found[kind(node)] += 1
        return False

    disk = recording.disk(note_kind)
    for event in recording.events:
        disk.apply(event)
    return found


def part(arguments):
    """One scenario: for each kind of file, its syncs, the states and those that were bad without them."""
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
    """Prints what was found; whether missing syncs were seen."""
    print(f"{'scenario':10} {'forgotten syncs of':32} {'syncs':>5} {'states':>7} {'bad':>6}")
    for name, forgotten, count, states, bad, kinds in rows:
        words = ", ".join(f"{number} {what}" for what, number in kinds.items())
        print(f"{name:10} {forgotten:32} {count:5} {states:7} {bad:6}  {words}")
    seen = sum(bad > 0 for *_, bad, _ in rows)
    print(f"powerloss: {seen} of {len(rows)} kinds of syncs are missed when the model forgets them")
    return seen > 0
