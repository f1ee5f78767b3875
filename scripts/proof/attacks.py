#!/usr/bin/env python3
"""Attacks mediactl with a hostile server, signals and broken connections, and verifies its reported results.

    scripts/proof/attacks.py [--only TABLE] [--row TEXT] [--every N] [--jobs N] [--seed N] [--verbose]

Environment: MEDIACTL_BINARY and MEDIACTL_SANDBOX are the programs. A row is "false" if a claim is wrong (a stored file
reported as failed, a token lost without a report, a secret printed, a crash), and "unmet" if a guarantee in the
documentation is violated. It is "denied" if the server responded with a status that the contract defines as a refusal,
although it had processed the request, and mediactl reported the refusal. Exit code 1: a row is false or unmet."""

import argparse
import collections
import concurrent.futures
import pathlib
import random
import signal
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "real"))

import resets  # noqa: E402
import signals  # noqa: E402
import statuses  # noqa: E402
from servers import SetupError  # noqa: E402
from trial import Server  # noqa: E402

TABLES = {"statuses": statuses, "signals": signals, "resets": resets}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=sorted(TABLES), help="run only this table; repeatable")
    parser.add_argument("--row", metavar="TEXT", help="run only rows whose name contains TEXT")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="run only every Nth row (default: 1)")
    parser.add_argument("--jobs", type=int, default=8, metavar="N", help="parallel rows (default: 8)")
    parser.add_argument("--seed", type=int, help="repeat the bytes of an earlier run")
    parser.add_argument("--verbose", action="store_true", help="print every row")
    return parser.parse_args()


class Outcome:
    """A row that could not be run."""

    def __init__(self, name, problem):
        self.name, self.wrong, self.unmet, self.claims, self.verdict = name, [], [problem], [], "unmet"


def run_row(row, sandbox, seed):
    name, function, arguments = row
    try:
        return function(sandbox, seed, name, *arguments)
    except Exception as problem:  # noqa: BLE001 - a row must not end the table
        traceback.print_exc()
        return Outcome(name, f"{type(problem).__name__}: {problem}")


def run_table(table, arguments, seed):
    """The rows of a table, in order."""
    rows = [row for row in TABLES[table].rows() if not arguments.row or arguments.row in row[0]][::arguments.every]
    sandbox = Server(*getattr(TABLES[table], "SANDBOX", ()))
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            return list(pool.map(lambda one: run_row(one[1], sandbox, seed + one[0]), enumerate(rows)))
    finally:
        sandbox.close()


def main():
    arguments = options()
    # nohup ignores SIGHUP, and child processes would inherit that.
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    seed = random.randrange(10**6) if arguments.seed is None else arguments.seed
    failures = 0
    print("| table | rows | ok | denied | false | unmet | seconds |\n| --- | --- | --- | --- | --- | --- | --- |")
    for table in arguments.only or TABLES:
        began = time.monotonic()
        found = run_table(table, arguments, seed)
        counts = collections.Counter(row.verdict for row in found)
        failures += counts["false"] + counts["unmet"]
        cells = [table, len(found), *(counts[each] for each in ("ok", "denied", "false", "unmet"))]
        cells.append(f"{time.monotonic() - began:.0f}")
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
        for row in found:
            if row.verdict != "ok" or arguments.verbose:
                claims = "; ".join(row.claims)
                print(f"  {row.verdict}: {row.name}: {claims}: {'; '.join(row.wrong + row.unmet)}", file=sys.stderr)
    print(f"\nattacks: seed {seed}, {failures} rows false or unmet")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as problem:
        sys.exit(f"attacks: {problem}")
