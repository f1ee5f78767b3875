#!/usr/bin/env python3
"""Checks the models of an upload (docs/models) with spin: every state satisfies every guarantee, and removing any one
guard violates a guarantee.

    scripts/proof/model.py [--long]

Requires spin and a C compiler. --long explores larger bounds (several minutes)."""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile
import time

MODELS = pathlib.Path(__file__).resolve().parents[2] / "docs/models"
# A model, and its maximum numbers of kills, power losses, full disks and requests.
BOUNDS = [
    ("finalize", 2, 0, 0, 2),
    ("finalize", 0, 1, 0, 2),
    ("finalize", 1, 0, 1, 2),
    ("upload", 1, 0, 0, 2),
    ("upload", 0, 1, 0, 2),
    ("upload", 1, 0, 1, 2),
]
LONG_BOUNDS = [
    ("finalize", 1, 1, 0, 2),
    ("finalize", 1, 0, 0, 3),
    ("upload", 2, 0, 0, 2),
    ("upload", 1, 1, 0, 2),
    ("upload", 1, 0, 0, 3),
]
# A guard, the bounds within which it is needed, and its implementation.
GUARDS = [
    ("finalize", "WITHOUT_ROW_LOCK", (0, 0, 0, 2), "the lock of the upload"),
    ("finalize", "WITHOUT_WAITING", (1, 0, 0, 2), "the wait until the server has finished"),
    ("finalize", "WITHOUT_MARK", (1, 0, 0, 2), "the time of the request, in the journal before it is sent"),
    ("finalize", "WITHOUT_UNKNOWN_BEFORE_A_REPEAT", (2, 0, 0, 2), "unknown_outcome, in the journal before a repeat"),
    ("finalize", "WITHOUT_ROW_LOCK_IN_ADOPTION", (1, 0, 0, 3), "the lock of the upload while its response is adopted"),
    ("finalize", "WITHOUT_RESCUE_LOCK WITHOUT_ROW_LOCK_IN_ADOPTION", (1, 0, 0, 2), "the locks of adoption"),
    ("finalize", "WITHOUT_RESCUE_SYNC", (0, 1, 0, 2), "the sync of the rescue log"),
    ("finalize", "WITHOUT_COMMIT_SYNC", (0, 1, 0, 2), "the sync of the commit"),
    ("finalize", "WITHOUT_SYNC_BEFORE_RELEASE", (1, 1, 0, 2), "the sync of an exited process's commit before its file is removed"),
    ("finalize", "RELEASE_BEFORE_COMMIT", (1, 0, 0, 2), "the commit before the response is removed"),
    ("upload", "WITHOUT_INTENT", (1, 0, 0, 2), "the row, in the journal before the request"),
    ("upload", "WITHOUT_SOURCE_LOCK", (0, 0, 0, 2), "the lock of the source file"),
    ("upload", "WITHOUT_ROW_LOCK", (0, 0, 0, 2), "the lock of the upload"),
    ("upload", "WITHOUT_ASKING", (0, 0, 0, 2), "the query after a lost response"),
    ("upload", "WITHOUT_WAITING", (0, 0, 0, 2), "the wait until the server has finished"),
    ("upload", "RETRY_AFTER_429", (0, 0, 0, 2), "the query after an ambiguous status"),
    ("upload", "WITHOUT_RESCUE_LOCK WITHOUT_ROW_LOCK_IN_ADOPTION", (1, 0, 0, 2), "the locks of adoption"),
    ("upload", "WITHOUT_RESCUE_SYNC", (0, 1, 0, 2), "the sync of the rescue log"),
    ("upload", "WITHOUT_COMMIT_SYNC", (0, 1, 0, 2), "the sync of the commit"),
    ("upload", "WITHOUT_SYNC_BEFORE_RELEASE", (1, 1, 0, 2), "the sync of an exited process's commit before its file is removed"),
    ("upload", "RELEASE_BEFORE_COMMIT", (1, 0, 0, 2), "the commit before the response is removed"),
]
# The beginning of each assertion of the model, after macro expansion.
PROMISES = [
    (r"acknowledged", "a stored response is adoptable"),
    (r"row\[0\]", "no token is lost silently"),
    (r"!\(stored\)&&|^ *!\(stored\) *$", "a file that is reported as failed is not on the server"),
    (r"work\[0\].*stored", "no retry without a query"),
    (r"work\[0\]", "no two finalizes at the same time"),
    (r"^\(?token", "a success is printed only for data on the disk"),
]
MEMORY_MEGABYTES = 6000


class Search:
    """One exhaustive search."""

    def __init__(self, model, bounds, guard=None):
        self.model, self.bounds, self.guard = model, bounds, guard
        self.states, self.broken, self.problem = 0, None, None

    def run(self):
        with tempfile.TemporaryDirectory(prefix="mediactl-model-") as place:
            for file in MODELS.glob("*.pml"):
                (pathlib.Path(place) / file.name).write_bytes(file.read_bytes())
            names = ("KILLS", "CUTS", "FULL_DISKS", "REQUESTS")
            defines = [f"-D{name}={value}" for name, value in zip(names, self.bounds)] + ["-DCOMMANDS=2"]
            if self.guard:
                defines += [f"-D{guard}" for guard in self.guard.split()]
            steps = (
                ["spin", "-a", *defines, f"{self.model}.pml"],
                ["cc", "-O1", "-DSAFETY", "-DCOLLAPSE", f"-DMEMLIM={MEMORY_MEGABYTES}", "-o", "pan", "pan.c"],
                ["./pan", "-m400000"],
            )
            for step in steps:
                result = subprocess.run(step, cwd=place, capture_output=True, text=True)
                if result.returncode != 0:
                    self.problem = (result.stdout + result.stderr).strip()[-400:]
                    return self
        self.read(result.stdout)
        return self

    def read(self, output):
        states = re.search(r"(\d[\d.e+]*) states, stored", output)
        self.states = int(float(states.group(1))) if states else 0
        violated = re.search(r"assertion violated (.*) \(at depth", output)
        if violated:
            text = violated.group(1)
            found = [name for pattern, name in PROMISES if re.search(pattern, text)]
            self.broken = found[0] if found else text
        elif "invalid end state" in output and "errors: 0" not in output:
            self.broken = "every command terminates"
        elif "errors: 0" not in output or "Search not completed" in output or "max search depth" in output:
            self.problem = output.strip()[-400:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", action="store_true", help="explore larger bounds")
    bounds = BOUNDS + (LONG_BOUNDS if parser.parse_args().long else [])
    searches = [Search(model, rest) for model, *rest in bounds]
    mutants = [(Search(model, within, guard), words) for model, guard, within, words in GUARDS]
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(Search.run, searches + [search for search, _ in mutants]))
    failures = 0
    print("| model | kills | power losses | full disks | requests | states | result |\n| --- | --- | --- | --- | --- | --- | --- |")
    for search in searches:
        result = search.problem or (f"broken: {search.broken}" if search.broken else "every promise holds")
        failures += result != "every promise holds"
        print(f"| {search.model} | {' | '.join(map(str, search.bounds))} | {search.states:,} | {result} |")
    print("\n| model | without | breaks |\n| --- | --- | --- |")
    for search, words in mutants:
        failures += search.broken is None
        print(f"| {search.model} | {words} | {search.problem or search.broken or 'nothing: FAILED'} |")
    states = sum(search.states for search in searches)
    print(f"\nmodel: {states:,} states, {len(mutants)} guards, {failures} failures, {time.monotonic() - began:.0f} s")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
