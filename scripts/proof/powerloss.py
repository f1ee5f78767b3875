#!/usr/bin/env python3
"""Simulates power losses at every point of a recorded run of mediactl, in all ways that a file system allows.

    scripts/proof/powerloss.py [--states N] [--seed N] [--runs N] [--only NAME,…] [--jobs N] [--oracle]

Environment: MEDIACTL_BINARY and MEDIACTL_SANDBOX are the programs (default: dist/mediactl and the debug build of the
sandbox). --long means --states 140000 --runs 4. --oracle ignores one kind of sync at a time, to cause bad states.
"""

import argparse
import collections
import contextlib
import hashlib
import math
import multiprocessing
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

from disk import Choice, digest
from events import Op
from others import OTHER_SCENARIOS
from recording import Recording
from harness import (
    Sandbox, SetupError, assets, build_library, documented_exit_codes, mediactl, note, sandbox_program, token_hashes,
    work_directory,
)
from tokens import TOKEN_SCENARIOS

SCENARIOS = {scenario.name: scenario for scenario in TOKEN_SCENARIOS + OTHER_SCENARIOS}
# The distribution of the states.
WEIGHTS = {"upload": 3, "batch": 4, "tus": 3, "delete": 2, "clear": 2, "import": 2}
# Tried at every point, followed by random choices.
PLAIN = [("all", "all"), ("none", "none"), ("all", "none"), ("none", "all")]
SHOWN_FAILURES = 12
# The interval of the messages while a recording is explored.
REPORT_SECONDS = 60


class Result:
    """The results of a part of a run."""

    def __init__(self, name, seed):
        self.name, self.seed = name, seed
        self.digests, self.checks, self.counts = set(), 0, collections.Counter()
        self.kinds, self.failures, self.moments, self.harness = collections.Counter(), [], 0, None
        self.bad_states = set()


class Case:
    """One state: its origin, the conditions that must hold, and its server."""

    def __init__(self, explorer, number, state, key, chance):
        self.explorer, self.number, self.state, self.key, self.chance = explorer, number, state, key, chance
        self.recording, self.duties = explorer.recording, explorer.duties[number]
        self.printed = self.recording.printed(self.duties)
        self.assets = explorer.assets(self.duties.stage)

    def place(self):
        self.recording.place(self.state)

    def run(self, *words, server=None):
        """Runs a command; failing to use the store, a crash, or a hang is a failure."""
        port = (server or self.explorer.server(self.duties.stage)).port
        run = self.recording.machine.run(
            *words, PROOF_CONNECT=f"{self.recording.front.port}:{port}", PROOF_INODES=str(self.recording.inodes)
        )
        if run.is_hung or run.code < 0 or run.code not in self.explorer.exit_codes:
            self.fail("crash or hang", str(run))
        elif run.code == 12 or run.error in ("store_unusable", "internal_error"):
            self.fail("unusable store", str(run))
        elif run.error:
            self.count(f"{words[0]} {words[1] if words[0] in ('uploads', 'sync', 'tapes') else ''}: {run.error}")
        return run

    @contextlib.contextmanager
    def own_server(self):
        """A modifiable server in the state of that point."""
        with tempfile.TemporaryDirectory(dir=self.recording.work) as copy:
            data = pathlib.Path(copy) / "data"
            shutil.copytree(self.recording.work / "stages" / str(self.duties.stage), data)
            server = Sandbox(data, *self.recording.scenario.server_options)
            try:
                yield server
            finally:
                server.stop()

    def is_token(self, identity, token):
        """Whether the server issued this token for this file, in the recorded run or to the next command."""
        if self.recording.issued.get(identity, (None,))[0] == token:
            return True
        hashes = token_hashes(self.explorer.server(self.duties.stage).data)
        return hashes.get(identity) == hashlib.sha256(token.encode()).hexdigest()

    def refresh_server(self):
        """Restores the server if a command has changed it."""
        self.explorer.refresh(self.duties.stage)

    def bytes_on_disk(self):
        files = [path for root in self.recording.roots for path in pathlib.Path(root).rglob("*") if path.is_file()]
        return b"".join(path.read_bytes() for path in files)

    def is_new(self, outcome):
        """Whether the result of the next command is new for this server."""
        outcome = self.duties.stage, outcome
        is_new = outcome not in self.explorer.outcomes
        self.explorer.outcomes.add(outcome)
        return is_new

    def count(self, what):
        self.explorer.result.counts[what] += 1

    def fail(self, kind, what):
        self.explorer.fail(self, kind, what)


class Explorer:
    """Explores the states of one recording."""

    def __init__(self, name, seed, target, library, forgotten=None):
        self.result, self.target, self.exit_codes = Result(name, seed), target, documented_exit_codes()
        self.library, self.forgotten, self.outcomes = library, forgotten, set()
        self.servers, self.known_assets, self.random = {}, {}, random.Random(f"{name} {seed}")

    def run(self, work, recording=None):
        scenario = SCENARIOS[self.result.name]()
        self.recording = recording or Recording(scenario, work, self.library, self.result.seed)
        time.sleep(0.05)
        try:
            self.duties = self.recording.duties()
            self._explore()
        finally:
            for server in self.servers.values():
                server.stop()
            if not recording:
                self.recording.stop()
        return self.result

    def _explore(self):
        weights, disk = [], self.recording.disk(self._is_forgotten)
        for event in self.recording.events:
            disk.apply(event)
            pending = sum(len(node.pending) for node in disk.nodes.values() if hasattr(node, "pending"))
            weights.append(math.log2(2 + pending) if event.op != Op.SYNC else 0.5)
        left, disk = sum(weights), self.recording.disk(self._is_forgotten)
        seen, began = set(), time.monotonic()
        reported = began
        for number, event in enumerate(self.recording.events):
            if time.monotonic() - reported > REPORT_SECONDS:
                reported = time.monotonic()
                note(f"  {self.result.name} {self.result.seed}: {len(self.result.digests)} of about {self.target} states,"
                     f" {reported - began:.0f} s")
            disk.apply(event)
            wanted = (self.target - len(self.result.digests)) * weights[number] / left
            left -= weights[number]
            self._moment(number, disk, math.ceil(wanted), seen)

    def _moment(self, number, disk, wanted, seen):
        """Explores some states of one point: systematic ones, then random ones until enough are new."""
        self.result.moments += 1
        found, tried = 0, 0
        choices = [Choice(0, *rules) for rules in PLAIN]
        while choices or (found < wanted and tried < 4 * wanted + 4):
            seed = self.random.getrandbits(64)
            choice = choices.pop(0) if choices else Choice(seed)
            tried += 1
            state = disk.state(choice)
            key = digest(state)
            if (key, self.duties[number]) in seen:
                continue
            seen.add((key, self.duties[number]))
            if key not in self.result.digests:
                self.result.digests.add(key)
                found += 1
            self.result.checks += 1
            case = Case(self, number, state, key, random.Random(seed).random() if choice.rule is None else 0.5)
            self.recording.scenario.check(case)

    def _is_forgotten(self, node, event):
        return self.forgotten is not None and self.forgotten(node, event)

    def server(self, stage):
        """The server at that stage; the commands that use it only read."""
        if stage not in self.servers:
            for number in [number for number in self.servers if number != stage]:
                self._retire(number)
            data = self.recording.work / "alive" / str(stage)
            shutil.rmtree(data, ignore_errors=True)
            shutil.copytree(self.recording.work / "stages" / str(stage), data)
            self.servers[stage] = Sandbox(data, *self.recording.scenario.server_options)
        return self.servers[stage]

    def refresh(self, stage):
        if stage in self.servers and self.servers[stage].writes():
            self.servers.pop(stage).stop()

    def _retire(self, stage):
        server = self.servers.pop(stage)
        writes = server.writes()
        server.stop()
        if writes:
            raise ValueError(f"{writes} requests of a next command changed the server of stage {stage}")

    def assets(self, stage):
        if stage not in self.known_assets:
            self.known_assets[stage] = assets(self.recording.work / "stages" / str(stage))
        return self.known_assets[stage]

    def fail(self, case, kind, what):
        self.result.kinds[kind] += 1
        self.result.bad_states.add(case.key)
        if len(self.result.failures) < SHOWN_FAILURES:
            event = self.recording.events[case.number]
            self.result.failures.append(
                f"{kind}: {self.result.name}, seed {self.result.seed}, after event {case.number} ({event.op.name}"
                f" {event.name1}), stage {case.duties.stage}, state {case.key.hex()}: {what}"
            )


def part(arguments):
    """One recording and its states, in a separate process."""
    name, seed, target, library = arguments
    with tempfile.TemporaryDirectory(prefix="mediactl-powerloss-", dir=work_directory()) as work:
        explorer = Explorer(name, seed, target, library)
        try:
            return explorer.run(pathlib.Path(work))
        except (SetupError, OSError, ValueError, KeyError, AttributeError) as problem:
            import traceback

            explorer.result.harness = f"{name}, seed {seed}: {problem!r}\n{traceback.format_exc()}"
            return explorer.result


def report(results, seconds, seed):
    """Prints the results; returns whether there were no failures."""
    by_name = collections.defaultdict(list)
    for result in results:
        by_name[result.name].append(result)
    print(f"{'scenario':10} {'runs':>5} {'moments':>8} {'states':>8} {'checks':>8}  bad")
    total, kinds = set(), collections.Counter()
    for name, parts in by_name.items():
        digests = set().union(*(result.digests for result in parts))
        bad = sum((result.kinds for result in parts), collections.Counter())
        kinds += bad
        total |= {(name, key) for key in digests}
        moments, checks = (sum(getattr(result, field) for result in parts) for field in ("moments", "checks"))
        words = ", ".join(f"{count} {kind}" for kind, count in bad.items()) or "0"
        print(f"{name:10} {len(parts):5} {moments:8} {len(digests):8} {checks:8}  {words}")
        for what, count in sorted(sum((result.counts for result in parts), collections.Counter()).items()):
            print(f"    {count:7} {what}")
    for result in results:
        for failure in result.failures:
            note(failure)
        if result.harness:
            note(f"powerloss: the run itself failed: {result.harness}")
    verdict = ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "0 bad"
    print(f"powerloss: {len(total)} states, seed {seed}, {seconds:.0f} s: {verdict}")
    return not kinds and not any(result.harness for result in results)


def main():
    parser = argparse.ArgumentParser(description="Simulate power losses in recorded runs, and check the states.")
    parser.add_argument("--states", type=int,
                        help="maximum number of distinct states (default: 22000, with --only the share of its scenarios)")
    parser.add_argument("--long", action="store_true", help="up to 140,000 states, with 4 recordings of each scenario")
    parser.add_argument("--seed", type=int, default=1, help="seed, to repeat a run (default: 1)")
    parser.add_argument("--only", help="scenarios, comma-separated: " + ", ".join(SCENARIOS))
    parser.add_argument("--runs", type=int, default=2, help="recordings of each scenario (default: 2)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel processes (default: one per core)")
    parser.add_argument("--oracle", action="store_true", help="ignore the syncs of one kind of file at a time")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(SCENARIOS)
    states, runs = (140_000, 4) if arguments.long else (arguments.states or 22_000, arguments.runs)
    # Some recordings have fewer states than their share.
    unit = states * 1.05 / runs / sum(WEIGHTS.get(name, 1) for name in (names if arguments.states else SCENARIOS))
    began = time.monotonic()
    mediactl(), sandbox_program()
    with tempfile.TemporaryDirectory(prefix="mediactl-proof-") as directory:
        library = build_library(directory)
        parts = [(name, arguments.seed * 100 + run, math.ceil(unit * WEIGHTS.get(name, 1)), library)
                 for run in range(runs) for name in names]
        results = []
        with multiprocessing.Pool(arguments.jobs) as pool:
            if arguments.oracle:
                import oracle

                scenarios = [(name, arguments.seed * 100, oracle.STATES, library) for name in names]
                return 0 if oracle.report(sum(pool.map(oracle.part, scenarios, chunksize=1), [])) else 1
            for result in pool.imap_unordered(part, parts, chunksize=1):
                results.append(result)
                note(f"  {result.name} {result.seed}: {len(result.digests)} states, {sum(result.kinds.values())} bad,"
                     f" {time.monotonic() - began:.0f} s")
    return 0 if report(results, time.monotonic() - began, arguments.seed) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as problem:
        sys.exit(f"powerloss: {problem}")
