#!/usr/bin/env python3
"""Compares the results reported by mediactl with GigHive servers, scenario by scenario.

    scripts/real/run.py [--release d1] [--only TEXT] [--batches N] [--seed N] [--write docs/proof.md]

Servers come from the environment, for each of d1 to d4 (here D1):

    MEDIACTL_REAL_D1_URL             http://HOST[:PORT]; with https, scenarios with broken connections are skipped
    MEDIACTL_REAL_D1_USER, _PASSWORD                an account that may upload
    MEDIACTL_REAL_D1_ADMIN_USER, _ADMIN_PASSWORD    an administrator
    MEDIACTL_REAL_D1_VIEWER_USER, _VIEWER_PASSWORD  an account that may not upload (optional)
    MEDIACTL_REAL_D1_ROWS_COMMAND    a shell command that prints the rows of the database, one per line, separated by
                                     tabs: date, organization, id, SHA-256, label
    MEDIACTL_REAL_D1_GUEST_LINK_COMMAND    prints a link to the event that EVENT_DATE and
                                           EVENT_ORG in its environment specify (optional)
    MEDIACTL_REAL_D1_CONTROL_COMMAND       run with "php stop", "php start", and likewise for db and tus (optional)
    MEDIACTL_REAL_D4_TUS_COMMAND     prints the rows of tus_uploads, separated by tabs: ID, user, status, length, and 1 if
                                     it is pending and younger than 24 hours, otherwise 0 (optional, d4 only)
    MEDIACTL_REAL_D4_EXPIRE_COMMAND  run with such IDs; makes them older than 24 hours (optional, d4 only)
    MEDIACTL_REAL_D4_FILES_COMMAND   prints the paths of the stored media files, one per line (optional, d4 only)

A password can be in a file: _PASSWORD_FILE in place of _PASSWORD. Without any server, the project's sandbox is used for
all releases, with uploads that collide as on the real servers. Events and bytes are new in every run, so servers need
not be empty; files without a token and files from random batches stay there. A server with release d4 must have no
other users during a run, since they would occupy its five slots. MEDIACTL_BINARY specifies a different mediactl, and
MEDIACTL_SANDBOX specifies a different sandbox.

The truth is the server's listing, requested by this program, and the rows of the database; both must agree. Digests are
computed here. Nothing that mediactl prints is an expected value. Exit code 1: a claim was false, or a scenario did not
reach its required state.
"""

import argparse
import concurrent.futures
import contextlib
import csv
import datetime
import fcntl
import pathlib
import re
import subprocess
import sys
import time

import interruptions  # noqa: F401 - it adds its scenarios, and those of large.py
from batches import Batches, BatchStatistics
from client import mediactl
from operations import can_run, stops_server
from scenarios import NEEDS_VIEWER, needs_plain_http
from servers import RELEASES, Sandbox, SetupError, real_servers
from context import SCENARIOS, VERDICTS, Context

START, END = "<!-- real servers: begin -->", "<!-- real servers: end -->"


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="append", choices=RELEASES, help="run only this release; repeatable")
    parser.add_argument("--only", action="append", metavar="TEXT", help="run scenarios whose name contains TEXT; repeatable")
    parser.add_argument("--list", action="store_true", help="print the names of the scenarios")
    parser.add_argument("--batches", type=int, default=200, metavar="N", help="random batches per release (default: 200)")
    parser.add_argument("--seed", type=int, help="repeat the random batches of an earlier run")
    parser.add_argument("--lock", metavar="FILE", help="hold a shared lock on FILE during each scenario and batch")
    parser.add_argument("--write", metavar="FILE", help="replace the section between the marks in this Markdown file, and write each row to"
                        " real-servers.csv beside it")
    return parser.parse_args()


@contextlib.contextmanager
def locked(path, operation=fcntl.LOCK_SH):
    """A lock for servers that another process may reset or stop."""
    if not path:
        yield
        return
    with open(path, "rb") as file:
        fcntl.flock(file, operation)
        yield


def run_release(server, chosen, arguments, seed):
    """The rows of the scenarios that can run in parallel with others, and the statistics of the batches."""
    rows = [run_scenario(server, *one, arguments, seed) for one in chosen if not stops_server(one[0])]
    return [row for row in rows if row], run_batches(server, arguments, seed)


def run_alone(servers, chosen, arguments, seed):
    """The rows of the scenarios that stop a component of the server, one at a time: servers may share a component."""
    rows = [
        run_scenario(server, *one, arguments, seed, fcntl.LOCK_EX)
        for server in servers for one in chosen if stops_server(one[0])
    ]
    return [row for row in rows if row]


def run_scenario(server, name, function, arguments, seed, operation=fcntl.LOCK_SH):
    """The row of a scenario; None if the server does not provide its requirements."""
    if needs_plain_http(name) and not server.url.startswith("http://"):
        return None
    if name == NEEDS_VIEWER and "viewer" not in server.accounts or not can_run(name, function, server):
        return None
    with locked(arguments.lock, operation):
        context = Context(server, name, f"{seed} {server.release} {name}")
        try:
            function(context)
            row = context.finish()
        except (SetupError, OSError, KeyError, IndexError, subprocess.CalledProcessError) as error:
            # A server that makes the harness fail proves nothing.
            context.row.unmet.append(f"not finished: {error}")
            context.close()
            row = context.row
    reasons = [f"    {text}" for text in dict.fromkeys(row.wrong + row.unmet)]
    print("\n".join([f"{server.release}  {row.verdict:11}  {name}", *reasons]), flush=True)
    return row


def run_batches(server, arguments, seed):
    batches = Batches(server, seed)
    for number in range(1, arguments.batches + 1):
        with locked(arguments.lock):
            wrong = batches.run(number)
        if wrong:
            print(f"{server.release}  false claim  {batches.stats.failures[-1]}", flush=True)
        elif number % 20 == 0:
            print(f"{server.release}  ok           {number} of {arguments.batches} batches", flush=True)
    return batches.stats


def version():
    return subprocess.run([mediactl(), "--version"], capture_output=True, text=True).stdout.split("\n")[0].strip()


def totals(rows, statistics):
    """The table of the releases: scenarios by result, and random batches."""
    lines = [
        "| release | scenarios | ok | false claim | unmet | random batches | files | claimed | stored | batches with a false claim |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    statistics = {stats.release: stats for stats in statistics}
    for release in sorted({row.release for row in rows} | statistics.keys()):
        verdicts = [row.verdict for row in rows if row.release == release]
        stats = statistics.get(release, BatchStatistics(release))
        counts = [
            len(verdicts), *map(verdicts.count, VERDICTS),
            stats.batches, stats.files, stats.claimed, stats.stored, stats.false_batches,
        ]
        lines.append(f"| {release} | " + " | ".join(map(str, counts)) + " |")
    return lines


def section(rows, statistics, servers, kind, seed):
    today = datetime.datetime.now(datetime.timezone.utc).date()
    head = f"{version()} against {kind} {', '.join(servers)}, {today}, seed {seed}."
    return "\n".join([head, "", *totals(rows, statistics)])


def write_rows(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["scenario", "release", "claims", "on the server", "result"])
        for row in rows:
            result = "; ".join([row.verdict, *dict.fromkeys(row.wrong + row.unmet)])
            writer.writerow([row.name, row.release, "; ".join(row.claims), row.truth, result])


def write(path, text):
    """Writes the section between its marks; the rest of the file is kept."""
    file = pathlib.Path(path)
    old = file.read_text()
    if START not in old or END not in old:
        raise SetupError(f"{path} has no lines {START} and {END}")
    pattern = re.compile(re.escape(START) + ".*" + re.escape(END), re.DOTALL)
    file.write_text(pattern.sub(lambda _: f"{START}\n{text}\n{END}", old))


def main():
    arguments = options()
    if arguments.list:
        print("\n".join(name for name, _ in SCENARIOS))
        return 0
    seed = arguments.seed if arguments.seed is not None else time.time_ns() % 10**9
    chosen = [
        (name, function) for name, function in SCENARIOS
        if not arguments.only or any(text in name for text in arguments.only)
    ]
    mediactl()
    sandboxes, servers = [], real_servers()
    kind = "the real servers"
    if not servers:
        sandboxes = [Sandbox(release) for release in RELEASES if release in (arguments.release or RELEASES)]
        servers, kind = {sandbox.server.release: sandbox.server for sandbox in sandboxes}, "the sandbox's"
    servers = {release: servers[release] for release in servers if release in (arguments.release or RELEASES)}
    if not servers:
        raise SetupError("no server for the selected releases")
    try:
        print(f"{version()}, {kind} {', '.join(servers)}, seed {seed}", flush=True)
        # The releases are independent, and most of the time is spent waiting.
        with concurrent.futures.ThreadPoolExecutor(len(servers)) as pool:
            results = list(pool.map(lambda server: run_release(server, chosen, arguments, seed), servers.values()))
        rows = [row for some, _ in results for row in some]
        rows += run_alone(servers.values(), chosen, arguments, seed)
        statistics = [stats for _, stats in results if stats.batches]
        print(*totals(rows, statistics), sep="\n")
        if arguments.write:
            write(arguments.write, section(rows, statistics, servers, kind, seed))
            write_rows(pathlib.Path(arguments.write).with_name("real-servers.csv"), rows)
    finally:
        for sandbox in sandboxes:
            sandbox.stop()
    return 1 if any(row.wrong or row.unmet for row in rows) or any(stats.failures for stats in statistics) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        print(f"real: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
