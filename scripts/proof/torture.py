#!/usr/bin/env python3
"""Makes each open, write, sync, rename, connect and send call of mediactl fail, one at a time.

    scripts/proof/torture.py [--only upload,batch,delete,download] [--jobs N] [--every N]

Each k-th call fails once; calls affected by a full or broken disk also fail from the k-th on. Then the next command
runs without faults. There must be no crash or hang, every exit code must be in docs/exit-codes.md, a reported
success must be true, and each token issued by the server must be in the store or reported. Environment: as for
powerloss.py.
"""

import argparse
import collections
import errno
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import struct
import sys
import tempfile
import time
import traceback

from harness import (
    Machine, Sandbox, SetupError, assets, build_library, control, documented_exit_codes, mediactl, movie, note,
    sandbox_program, token_hashes, work_directory,
)
from tokens import REPORTED

CLASSES = ("open", "write", "sync", "rename", "connect", "send")
ONCE = {
    "open": ("EMFILE", "EIO", "ENOSPC"), "write": ("EIO", "ENOSPC"), "sync": ("EIO", "ENOSPC"), "rename": ("EIO", "ENOSPC"),
    "connect": ("ECONNREFUSED", "ENETUNREACH", "ENOBUFS", "ETIMEDOUT"), "send": ("ECONNRESET", "EPIPE", "ENOBUFS"),
}
LASTING = {"open": ("EMFILE",), "write": ("ENOSPC", "EIO"), "sync": ("EIO",), "rename": ("ENOSPC",)}
# Longer runs count as hung: one retry takes seconds.
LIMIT_SECONDS = 60
OPTIONS = ("--retries", "1", "--settle-timeout", "1")
SERVER_LIFE = 200


class Operation:
    """A tested command, on a machine with a separate server."""

    def __init__(self, path, library):
        self.path, self.library = pathlib.Path(path), library
        self.server, self.number, self.problems = None, random.Random(str(path)).randrange(10**9), []

    def start_server(self):
        self.stop()
        data = self.path / f"server{self.number}"
        self.server = Sandbox(data)
        self.ready = False

    def stop(self):
        if self.server:
            self.server.stop()
            shutil.rmtree(self.server.data, ignore_errors=True)

    def machine(self):
        """A new machine."""
        place = self.path / "machine"
        shutil.rmtree(place, ignore_errors=True)
        machine = Machine(place, self.library)
        machine.url = self.server.url
        return machine

    def one(self, fault, counts=None):
        """Runs the operation with a fault; returns the exit code and the problems."""
        if self.server is None or self.number % SERVER_LIFE == 0:
            self.start_server()
        self.number += 1
        self.problems = []
        environment = ({"PROOF_FAIL": fault} if fault else {}) | ({"PROOF_COUNTS": str(counts)} if counts else {})
        run = self.perform(environment)
        if run.is_hung or run.code < 0:
            self.problems.append(f"crash or hang: {run}")
        elif run.code not in documented_exit_codes():
            self.problems.append(f"exit code {run.code} is not documented: {run}")
        return run.code, self.problems

    def clean(self, run):
        """Runs the next command, without faults."""
        if run.is_hung or run.code < 0 or run.code == 12 or run.error in ("store_unusable", "internal_error"):
            self.problems.append(f"the next command fails: {run}")
        return run

    def digest_of(self, number):
        return dict(assets(self.server.data)).get(number)


class Upload(Operation):
    name = "upload"
    files = ("clip.mp4",)
    options = ()

    def perform(self, environment):
        machine = self.machine()
        digests = {}
        for index, name in enumerate(self.files):
            movie(machine.path / name, self.number * 100 + index, 3000)
            digests[hashlib.sha256((machine.path / name).read_bytes()).hexdigest()] = name
        run = machine.run("upload", *self.files, *self.options, *OPTIONS, limit=LIMIT_SECONDS, **environment)
        stored = [(number, digests[checksum]) for number, checksum in assets(self.server.data) if checksum in digests]
        if len({name for _, name in stored}) != len(stored):
            self.problems.append(f"stored twice: {stored}, {run}")
        reported = {pathlib.Path(item["path"]).name: item for item in run.items if item["state"] == "done"}
        for name in set(reported) - {name for _, name in stored}:
            self.problems.append(f"{name} is printed as stored, but not on the server: {run}")
        if not stored:
            return run
        status = self.clean(machine.run("uploads", "status", "--settle-timeout", "0.01"))
        listed = self.clean(machine.run("uploads", "list", "--show-token"))
        tokens = {item["file_id"]: item["delete_token"] for item in listed.items}
        right = token_hashes(self.server.data)
        for number, token in tokens.items():
            if right.get(number) != hashlib.sha256(token.encode()).hexdigest():
                self.problems.append(f"wrong token of {number}: {run}")
        reports = {
            pathlib.Path(item["path"]).name for item in run.items + status.items if item["state"] in REPORTED
        }
        for number, name in stored:
            if number in tokens:
                continue
            if name not in reports:
                self.problems.append(f"the token of {name} is lost without a report: {run}; then {status}")
            if name in reported and reported[name]["has_delete_token"]:
                self.problems.append(f"{name} is printed with a token, but the token is missing: {run}; then {status}")
        return run


class Batch(Upload):
    """Small files in parallel, with intents and tokens that are committed in groups."""

    name = "batch"
    files = tuple(f"clip{number}.mp4" for number in range(6))
    options = ("--jobs", "4")


class Delete(Operation):
    name = "delete"

    def perform(self, environment):
        machine = self.machine()
        movie(machine.path / "clip.mp4", self.number, 3000)
        uploaded = machine.run("upload", "clip.mp4")
        number = uploaded.items[0]["file_id"]
        run = machine.run("uploads", "delete", number, "--yes", *OPTIONS, limit=LIMIT_SECONDS, **environment)
        is_there = self.digest_of(number) is not None
        if is_there and any(item["state"] in ("deleted", "gone") for item in run.items):
            self.problems.append(f"printed as deleted, but on the server: {run}")
        listed = self.clean(machine.run("uploads", "list", "--show-token"))
        if is_there and number not in [item["file_id"] for item in listed.items]:
            self.problems.append(f"not deleted, but its token is missing: {run}")
        if listed.items:
            again = self.clean(machine.run("uploads", "delete", number, "--yes"))
            if again.code not in (0, 5) or self.digest_of(number) is not None:
                self.problems.append(f"cannot be deleted afterwards: {run}; then {again}")
        return run


class Download(Operation):
    name = "download"
    COUNT = 3

    def prepare(self):
        """Creates a machine that is logged in, and keeps a copy of it."""
        self.photos = {}
        for number in range(self.COUNT):
            content = random.Random(self.number * 10 + number).randbytes(1200 + 3000 * number).hex()
            self.photos[hashlib.sha256(content.encode()).hexdigest()] = number
            body = {"content": content, "originalFilename": f"photo{number}.jpg"}
            control(self.server.url, "photosync/photos", "POST", json.dumps(body))
        machine = self.machine()
        key = machine.path / "key.txt"
        key.touch(mode=0o600)
        key.write_text("a11ce".ljust(64, "0") + "\n")
        for words in (("login", "--api-key-file", key, "--device-name", "proof"), ("sync",)):
            run = machine.run(*words)
            if run.code != 0:
                raise SetupError(f"cannot prepare a download: {run}")
        shutil.rmtree(self.path / "kept", ignore_errors=True)
        shutil.copytree(machine.path, self.path / "kept")
        self.ready = True

    def found(self, machine):
        """The photos in the directory by name: the photo of each file, or None."""
        files = [path for path in machine.out.rglob("*.jpg") if not path.name.startswith(".")]
        return {path.name: self.photos.get(hashlib.sha256(path.read_bytes()).hexdigest()) for path in files}

    def perform(self, environment):
        if not self.ready:
            self.prepare()
        machine = self.machine()
        shutil.rmtree(machine.path)
        shutil.copytree(self.path / "kept", machine.path)
        words = ("sync", "download", "--missing", "--output", "out")
        run = machine.run(*words, "--retries", "1", limit=LIMIT_SECONDS, **environment)
        found = self.found(machine)
        if None in found.values():
            self.problems.append(f"an incomplete file has a final name: {found}, {run}")
        reported = [pathlib.Path(item["path"]).name for item in run.items if item["state"] in ("verified", "present")]
        if set(reported) - set(found):
            self.problems.append(f"printed as downloaded, but missing: {run}")
        again = self.clean(machine.run(*words))
        if again.code != 0 or sorted(self.found(machine).values(), key=str) != list(range(self.COUNT)):
            self.problems.append(f"not complete afterwards: {self.found(machine)}, {run}; then {again}")
        return run


OPERATIONS = {operation.name: operation for operation in (Upload, Batch, Delete, Download)}


def part(arguments):
    """Some faults of one operation, in a separate process."""
    name, library, faults = arguments
    ends, failures = collections.Counter(), []
    with tempfile.TemporaryDirectory(prefix="mediactl-torture-", dir=work_directory()) as work:
        operation = OPERATIONS[name](work, library)
        try:
            for fault in faults:
                code, problems = operation.one(fault)
                ends[fault.split(":")[0] + " " + fault.split(":")[2], code] += 1
                failures += [f"{name}, {fault}: {problem}" for problem in problems]
        except Exception:
            failures.append(f"{name}: the run itself failed: {traceback.format_exc()}")
        finally:
            operation.stop()
    return name, ends, failures


def count_calls(name, library):
    """The number of calls of each class without faults, the maximum of several runs."""
    highest = [0] * len(CLASSES)
    with tempfile.TemporaryDirectory(prefix="mediactl-torture-", dir=work_directory()) as work:
        operation = OPERATIONS[name](work, library)
        try:
            for _ in range(3):
                path = pathlib.Path(work) / "counts"
                path.unlink(missing_ok=True)
                code, problems = operation.one(None, path)
                if code != 0 or problems:
                    raise SetupError(f"{name} fails without a fault: exit {code}, {problems}")
                counts = struct.unpack(f"<{len(CLASSES)}Q", path.read_bytes())
                highest = [max(pair) for pair in zip(highest, counts)]
        finally:
            operation.stop()
    return dict(zip(CLASSES, highest))


def faults_of(counts, every):
    """All faults: class, number of the call, errno."""
    found = []
    for which, count in counts.items():
        for lasting, table in (("", ONCE), ("+", LASTING)):
            for name in table.get(which, ()):
                found += [f"{which}:{k}{lasting}:{getattr(errno, name)}" for k in range(1, count + 1)]
    return found[::every]


def main():
    parser = argparse.ArgumentParser(description="Make each open, write, sync, connect and send call fail.")
    parser.add_argument("--only", help="operations, comma-separated: " + ", ".join(OPERATIONS))
    parser.add_argument("--every", type=int, default=1, help="run only every Nth fault")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="parallel processes (default: one per core)")
    arguments = parser.parse_args()
    mediactl(), sandbox_program()
    names = arguments.only.split(",") if arguments.only else list(OPERATIONS)
    began, failures, total = time.monotonic(), [], 0
    with tempfile.TemporaryDirectory(prefix="mediactl-proof-") as directory:
        library = build_library(directory)
        parts, calls = [], {}
        for name in names:
            calls[name] = count_calls(name, library)
            faults = faults_of(calls[name], arguments.every)
            parts += [(name, library, faults[start:start + 60]) for start in range(0, len(faults), 60)]
        ends = collections.defaultdict(collections.Counter)
        with multiprocessing.Pool(arguments.jobs) as pool:
            for name, found, problems in pool.imap_unordered(part, parts, chunksize=1):
                ends[name] += found
                failures += problems
                for problem in problems:
                    note(problem)
    for name in names:
        print(f"{name}: " + ", ".join(f"{count} {which}" for which, count in calls[name].items()) + " calls")
        by_kind = collections.defaultdict(collections.Counter)
        for (kind, code), count in ends[name].items():
            word, number = kind.split()
            by_kind[f"{word} {errno.errorcode[int(number)]}"][code] += count
            total += count
        for kind, codes in sorted(by_kind.items()):
            words = ", ".join(f"exit {code}: {count}" for code, count in sorted(codes.items()))
            print(f"  {kind:22} {sum(codes.values()):5}  {words}")
    print(f"torture: {total} faults, {time.monotonic() - began:.0f} s: {len(failures)} bad")
    return 1 if failures else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as problem:
        sys.exit(f"torture: {problem}")
