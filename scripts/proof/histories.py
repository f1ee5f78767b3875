#!/usr/bin/env python3
"""Runs random histories of a photographer with two machines and a PhotoSync server, and verifies mediactl's results.

    scripts/proof/histories.py [--count N] [--seed N] [--jobs N] [--verbose] [--oracle]

In each history, photos are taken, edited, damaged, renamed, copied and deleted, on both machines and on the server's
disk; rows appear late; the server restarts or its database fails; and mediactl syncs, or is killed while it does.
After each command, its JSON records are compared with the files on both disks and the rows of the server's database.
--seed N repeats the history with the seed N and the --count - 1 after it, except for the times of kills. --oracle
falsifies claims and facts one at a time, each of which must be detected. Environment: as for powerloss.py.
"""

import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import traceback

import images
from photoclaims import Judge, Moment
from photofaults import PLANTED
from photomachine import PhotoMachine
from photoserver import ALICE, BOB, PhotoServer, digest, later
from harness import SetupError, mediactl, note, sandbox_program, work_directory

SHOWN_FAILURES = 12
NAMES = ("beach", "Garden party", "IMG_0001", "straße", "cat")
# The effect of the network or the server on one request (mediactl-sandbox --help).
REQUEST_FAULTS = (
    "photos-upload:drop-response,times=1", "photos-upload:reset,after=1000,times=1", "photos-upload:status-after=500,times=1",
    "photos-download:truncate=700,times=1", "photos-download:reset,after=response+400,times=1",
    "photos-download:corrupt-byte,times=1", "photos-list:status=500,times=1", "photos-check:drop-response,times=1",
)


class History:
    """One random history."""

    def __init__(self, work, seed, planted=None):
        self.chance, self.seed, self.planted = random.Random(seed), seed, planted
        self.work = pathlib.Path(work)
        rewrite = self.chance.choice(("0", "0", "0", "200", "off"))
        self.server = PhotoServer(self.work / "server", rewrite)
        self.steps = [f"stamps {rewrite}"]
        self.commands, self.kills, self.claims = collections.Counter(), 0, 0
        self.limits, self.failures = collections.Counter(), []
        self.machines = []

    def live(self):
        """Runs random steps, then undisturbed commands."""
        for name in ("laptop", "desktop"):
            machine = PhotoMachine(self.work / name, self.server)
            machine.log_in(name)
            self.machines.append(machine)
        for _ in range(self.chance.randrange(2, 6)):
            self.take_photo()
        for _ in range(self.chance.randrange(7, 15)):
            for _ in range(self.chance.randrange(0, 4)):
                self.change_something()
            self.command()
            if self.failures:
                return
        self.converge()

    def converge(self):
        """Runs undisturbed commands. Afterwards, the index must match the server's database."""
        for machine in self.machines:
            for words in (
                ("sync", "pull", "--full"), ("sync", "push", "pictures", "fetched"),
                ("sync", "download", "--missing", "--output", "fetched"), ("sync", "verify", "--server-content"),
                ("sync", "status"), ("sync", "pull", "--full"),
            ):
                self.run(machine, words)
            listed = self.run(machine, ("sync", "list"))
            own = {row.id: (row.hash, row.name, row.size) for row in self.server.rows().values() if row.email == ALICE}
            keys = ("checksum_sha256", "file_name", "size_bytes")
            found = {item["photo_id"]: tuple(item[key] for key in keys) for item in listed.items}
            self.expect(found == own, "the index does not match the server's database", (found, own))
            left = sorted(os.listdir(machine.data))
            is_clean = all(name.split("-")[0] in ("index.sqlite", "library.sqlite") or "lock" in name for name in left)
            self.expect(is_clean, "something is left in the data directory", left)

    def expect(self, is_true, what, about):
        self.claims += 1
        if not is_true:
            self.fail(f"{what}: {about}")

    def fail(self, problem):
        steps = "\n    ".join(self.steps)
        self.failures.append(f"seed {self.seed}: {problem}\n    {steps}")

    # MARK: Changes by users and on disks

    def change_something(self):
        changes = (
            (self.take_photo, 6), (self.copy_file, 2), (self.rename_file, 2), (self.delete_file, 2), (self.edit_file, 2),
            (self.damage_file, 3), (self.carry_file, 2), (self.phone_uploads, 2), (self.somebody_uploads, 1),
            (self.late_row, 1), (self.delete_on_server, 3), (self.damage_on_server, 3),
        )
        work = self.chance.choices([change for change, _ in changes], [weight for _, weight in changes])[0]
        step = work()
        if step:
            self.steps.append(f"{work.__name__} {step}")

    def machine(self):
        return self.chance.choice(self.machines)

    def name(self, extension):
        return f"{self.chance.choice(NAMES)}{self.chance.choice(('', '', ' 2', '-edit'))}{extension}"

    def free_path(self, folder, extension):
        path = folder / self.name(extension)
        while path.exists():
            path = folder / f"{self.chance.randrange(10**6)}{extension}"
        path.parent.mkdir(exist_ok=True)
        return path

    def some_file(self):
        """A photo of either machine."""
        machine = self.machine()
        paths = sorted(machine.finals(machine.files()))
        return machine, self.chance.choice(paths) if paths else None

    def take_photo(self):
        extension, content = images.photo(self.chance)
        folder = self.machine().pictures / self.chance.choice((".", "2026", "trip"))
        path = self.free_path(folder, extension)
        path.write_bytes(content)
        return self.shown(path)

    def copy_file(self):
        machine, path = self.some_file()
        if path:
            target = self.free_path(machine.pictures, path.suffix)
            shutil.copy2(path, target)
            return f"{self.shown(path)} to {self.shown(target)}"

    def rename_file(self):
        machine, path = self.some_file()
        if path:
            target = self.free_path(machine.pictures, path.suffix)
            path.rename(target)
            return f"{self.shown(path)} to {self.shown(target)}"

    def delete_file(self):
        _, path = self.some_file()
        if path:
            path.unlink()
            return self.shown(path)

    def edit_file(self):
        _, path = self.some_file()
        if path:
            content = images.photo(self.chance)[1]
            if self.chance.random() < 0.5:
                content = path.read_bytes() + b"edited"
                self.server.broken.add(digest(content))
            path.write_bytes(content)
            return self.shown(path)

    def damage_file(self):
        """Flips bits, truncates or empties a file; half of the time without a new modification time."""
        machine, path = self.some_file()
        if not path or not path.stat().st_size:
            return None
        status, how = path.stat(), self.chance.choice(("flip", "flip", "cut", "empty"))
        content = path.read_bytes()
        path.write_bytes({"flip": images.flipped, "cut": images.truncated}.get(how, lambda *_: b"")(content, self.chance))
        self.server.broken.add(digest(path.read_bytes()))
        is_silent = self.chance.random() < 0.5
        if is_silent:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            machine.rotten.setdefault(path, set()).add(status.st_mtime_ns)
        return f"{how} {self.shown(path)}{' silently' if is_silent else ''}"

    def carry_file(self):
        """Moves a file to the other machine."""
        machine, path = self.some_file()
        if path:
            other = self.machines[1 - self.machines.index(machine)]
            target = self.free_path(other.pictures, path.suffix)
            shutil.copyfile(path, target)
            return f"{self.shown(path)} to {self.shown(target)}"

    def shown(self, path):
        return str(path.relative_to(self.work)) + (f" ({digest(path.read_bytes())[:8]})" if path.exists() else "")

    # MARK: Changes on the server

    def some_row(self):
        rows = sorted((row for row in self.server.rows().values() if row.email == ALICE), key=lambda row: row.id)
        return self.chance.choice(rows) if rows else None

    def phone_uploads(self):
        extension, content = images.photo(self.chance)
        identifier = self.server.upload(self.name(extension), content)
        self.server.observe()
        return f"{identifier} ({digest(content)[:8]})"

    def somebody_uploads(self):
        """Another user uploads one of these photos."""
        _, path = self.some_file()
        content = path.read_bytes() if path else b""
        if content:
            identifier = self.server.upload(path.name, content, BOB)
            self.server.observe()
            return f"{identifier} {self.shown(path)}"

    def late_row(self):
        step = self.phone_uploads()
        self.server.make_late(step.split()[0])
        return step

    def delete_on_server(self):
        row = self.some_row()
        if row:
            self.server.delete(row.id)
            self.server.observe()
            return f"{row.id} {row.name} ({row.hash[:8]})"

    def damage_on_server(self):
        row = self.some_row()
        content = self.server.content(row) if row else None
        if not content:
            return None
        how = self.chance.choice(("remove", "empty", "cut", "flip", "flip", "page", "swap"))
        if how == "flip":
            wrong = images.flipped(content, self.chance)
            # A PNG has a checksum for every byte.
            if not content.startswith(b"\x89PNG"):
                self.server.flipped.add(digest(wrong))
            self.server.replace(row, wrong)
        elif how == "page":
            self.server.replace(row, b"<!doctype html><title>Sign in</title>")
        elif how == "cut":
            self.server.replace(row, images.truncated(content, self.chance))
        elif how == "swap":
            other = self.some_row()
            if self.server.content(other) is None:
                return None
            self.server.damage(row, "swap", **{"with": other.id})
            return f"swap {row.id} {other.id}"
        else:
            self.server.damage(row, how)
        return f"{how} {row.id} {row.name}"

    # MARK: Commands

    def command(self):
        machine = self.machine()
        kind = self.chance.choices(
            ("pull", "full", "push", "download", "some", "directory", "verify", "repair", "forget", "status", "claim"),
            (2, 2, 7, 5, 2, 3, 5, 3, 2, 1, 1),
        )[0]
        words = getattr(self, f"words_of_{kind}")(machine)
        if words is None:
            return
        if kind in ("download", "some", "verify", "push", "repair") and not machine.seen:
            self.run(machine, ("sync", "pull"))
        index = None
        if kind == "verify":
            index = {item["photo_id"] for item in self.run(machine, ("sync", "list")).items}
        disturbance = self.chance.choices(("none", "kill", "outage", "restart", "fault"), (60, 25, 3, 3, 9))[0]
        self.run(machine, words, disturbance, index)

    def words_of_pull(self, machine):
        return ("sync",)

    def words_of_full(self, machine):
        return ("sync", "pull", "--full")

    def words_of_push(self, machine):
        options = [option for option, share in (("--restore", 0.15), ("--changed", 0.15), ("--dry-run", 0.15))
                   if self.chance.random() < share]
        paths = sorted(machine.finals(machine.files()))
        targets = self.chance.choice((["pictures"], ["pictures"], ["pictures", "fetched"], ["file"]))
        if targets == ["file"]:
            if not paths:
                return None
            targets = [self.chance.choice(paths).relative_to(machine.path)]
        return ("sync", "push", *options, *targets)

    def words_of_download(self, machine):
        option = ["--dry-run"] if self.chance.random() < 0.1 else []
        return ("sync", "download", "--missing", "--output", "fetched", *option)

    def words_of_some(self, machine):
        rows = [self.some_row() for _ in range(2)]
        return ("sync", "download", *{row.id for row in rows}, "--output", "fetched") if all(rows) else None

    def words_of_directory(self, machine):
        return ("sync", "pictures", self.chance.choice(("--yes", "--yes", "--yes", "--dry-run")))

    def words_of_verify(self, machine):
        options = self.chance.choice(([], ["--read-content"], ["--server-files"], ["--server-content"], ["--server-content"]))
        return ("sync", "verify", *options)

    def words_of_repair(self, machine):
        content = self.chance.choice(([], ["--server-content"]))
        return ("sync", "repair", self.chance.choice(("--yes", "--yes", "--dry-run")), *content)

    def words_of_forget(self, machine):
        gone = sorted(
            photo.row.id for photo in self.server.photos.values() if photo.is_gone and photo.row.id in machine.seen
        )
        paths = sorted(machine.finals(machine.files()))
        targets = [*gone[:1], "pictures", *(path.relative_to(machine.path) for path in paths[:1])]
        return ("sync", "forget", self.chance.choice(targets))

    def words_of_status(self, machine):
        return ("sync", "status")

    def words_of_claim(self, machine):
        return ("claim-legacy", "--all", "--yes")

    def run(self, machine, words, disturbance="none", index=None):
        """Runs a command, and verifies its results."""
        before = Moment(self.server, machine)
        kill_at, thread = None, None
        if disturbance == "kill":
            kill_at = self.chance.uniform(0, 1.1)
        elif disturbance == "outage":
            thread = later(self.server.outage, self.chance.uniform(0.2, 1.5))
        elif disturbance == "restart":
            thread = later(self.server.restart, self.chance.uniform(0.1, 1))
        elif disturbance == "fault":
            fault = self.chance.choice(REQUEST_FAULTS)
            disturbance = f"fault {fault}"
            self.server.control("faults", "POST", fault)
        run = machine.perform(*words, kill_at=kill_at)
        if thread:
            thread.join()
        if fault_was_set := disturbance.startswith("fault"):
            self.server.control("faults", "DELETE")
        self.commands[" ".join(map(str, words[:2])) if words[0] == "sync" else words[0]] += 1
        self.kills += disturbance == "kill" and run.code < 0
        self.steps.append(f"{machine.path.name}$ {' '.join(map(str, words))} [{disturbance}]: exit {run.code}")
        if self.planted:
            self.planted.plant(self, machine, run, before)
        is_disturbed = bool(thread) or fault_was_set
        after = Moment(self.server, machine, is_disturbed or run.code < 0)
        judge = Judge(self.server, machine, run, before, after, is_disturbed, index).judge()
        self.claims += judge.claims
        self.limits += judge.limits
        for problem in judge.problems:
            self.fail(f"{problem}\n    {run.errors.strip()[-600:]}")
        return run


def one(arguments):
    """One history in a separate directory; a seed determines everything except the times of kills."""
    seed, plant = arguments
    with tempfile.TemporaryDirectory(prefix="mediactl-history-", dir=work_directory()) as work:
        planted = PLANTED[plant]() if plant else None
        history = None
        try:
            history = History(work, seed, planted)
            history.live()
        except Exception:
            if history is None:
                raise
            history.fail(f"the harness itself failed: {traceback.format_exc()}")
        finally:
            if history:
                history.server.stop()
        return (history.commands, history.kills, history.claims, history.limits, history.failures,
                planted.count if planted else 0)


def check(arguments, seed):
    """Random histories of the unmodified mediactl."""
    commands, limits, kills, claims, failures, done = collections.Counter(), collections.Counter(), 0, 0, [], 0
    began = time.monotonic()
    with multiprocessing.Pool(arguments.jobs) as pool:
        work = [(seed + number, None) for number in range(arguments.count)]
        for found in pool.imap_unordered(one, work, chunksize=1):
            commands += found[0]
            kills += found[1]
            claims += found[2]
            limits += found[3]
            failures += found[4]
            done += 1
            for failure in found[4]:
                if len(failures) <= SHOWN_FAILURES or arguments.verbose:
                    note(failure)
            if done % 100 == 0:
                note(f"{done} histories, {sum(commands.values())} commands, {claims} claims, {len(failures)} false")
    for name, count in sorted(commands.items()):
        print(f"  {count:6} {name}")
    for name, count in sorted(limits.items()):
        print(f"  {count:6} {name}")
    print(
        f"histories: {done} from seed {seed}, {sum(commands.values())} commands, {kills} kills, {claims} claims and facts "
        f"compared, {time.monotonic() - began:.0f} s: {len(failures)} false"
    )
    return 1 if failures else 0


def check_oracle(arguments, seed):
    """Each planted fault must be detected."""
    missed = []
    for plant in PLANTED:
        histories = planted = 0
        noticed = []
        while not noticed and histories < arguments.count:
            found = one((seed + histories, plant))
            histories += 1
            planted += found[5]
            noticed = [failure for failure in found[4] if PLANTED[plant].noticed in failure.splitlines()[0]]
        word = PLANTED[plant].noticed if noticed else "NOT DETECTED"
        print(f"{plant:28} planted {planted:3} times in {histories:3} histories: {word}", flush=True)
        if not noticed:
            missed.append(plant)
    print(f"histories: {len(PLANTED) - len(missed)} of {len(PLANTED)} planted faults were detected")
    return 1 if missed else 0


def main():
    parser = argparse.ArgumentParser(description="Compare each claim about photos with the truth, in random histories.")
    parser.add_argument("--count", type=int, default=1000, help="number of histories (default: 1000)")
    parser.add_argument("--seed", type=int, help="seed of the first history (default: random)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel processes (default: one per core)")
    parser.add_argument("--verbose", action="store_true", help="print every failure")
    parser.add_argument("--oracle", action="store_true", help="falsify claims and facts, which must be detected")
    arguments = parser.parse_args()
    mediactl(), sandbox_program()
    seed = random.randrange(10**9) if arguments.seed is None else arguments.seed
    return check_oracle(arguments, seed) if arguments.oracle else check(arguments, seed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as problem:
        sys.exit(f"histories: {problem}")
