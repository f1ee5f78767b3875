"""Runs mediactl and compares its reported results with the server."""

import collections
import hashlib
import json
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

from servers import ROOT, SetupError, folded

# The file is in the specified event.
PRESENT = {"done", "linked", "duplicate", "token_lost", "finalized"}
# The event does not have the file.
ABSENT = {"failed", "cancelled", "canceled", "resumable", "pending", "not_started", "planned", "sending"}
# The server has the bytes, but the event does not.
ELSEWHERE = {"refused_duplicate"}
# No claim is made.
UNKNOWN = {"unknown_outcome", "sent"}


def mediactl():
    """The program under test."""
    program = os.environ.get("MEDIACTL_BINARY") or str(ROOT / "dist/mediactl")
    if not os.access(program, os.X_OK):
        raise SetupError(f"{program} is missing; build it with make release, or set MEDIACTL_BINARY")
    return program


class Item:
    """The reported result for one file."""

    def __init__(self, record):
        self.path = pathlib.Path(record["path"]).name
        self.state = record["state"]
        self.number = record.get("file_id")
        self.has_token = bool(record.get("has_delete_token"))
        self.exit_code = record.get("exit_code")
        self.bytes_sent = record.get("bytes_sent") or 0
        self.record = record
        # The state comes from the journal; according to the error, the server may have the file.
        self.is_unchanged = (record.get("error") or {}).get("code") == "not_resumable"


class Run:
    """A finished or terminated run of mediactl."""

    def __init__(self, machine, arguments, code, output, errors):
        self.machine, self.arguments, self.code, self.errors = machine, arguments, code, errors
        self.records = []
        for line in output.splitlines():
            try:
                self.records.append(json.loads(line))
            except ValueError:
                # A killed program leaves an incomplete line.
                continue
        self.items = [Item(record) for record in self.records if record.get("type") == "item" and "path" in record]

    def states(self):
        """For example "3 done, 1 linked"."""
        counts = collections.Counter(item.state for item in self.items)
        return ", ".join(f"{count} {state}" for state, count in sorted(counts.items())) or "no item"


class Machine:
    """A separate machine: a data directory, and its files."""

    # Long enough for a slow server, short enough to detect a hang.
    LIMIT_SECONDS = 240

    def __init__(self, url, account, transport="multipart"):
        self.url, self.account, self.transport = url, account, transport
        self.directory = tempfile.TemporaryDirectory(prefix="mediactl-real-")
        self.path = pathlib.Path(self.directory.name)
        (self.path / "data").mkdir(mode=0o700)

    def start(self, *arguments):
        """Starts mediactl with the account in the environment, never in the arguments."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MEDIACTL_")}
        user, password = self.account
        environment.update(MEDIACTL_SERVER=self.url, MEDIACTL_USER=user, MEDIACTL_PASSWORD=password)
        return subprocess.Popen(
            [mediactl(), *map(str, arguments), "--data-dir", str(self.path / "data"), "--no-input", "--json"],
            env=environment, cwd=self.path, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )

    def finish(self, process, limit=None):
        """Waits for the program to exit; kills it after the timeout, with the exit code of SIGKILL."""
        try:
            output, errors = process.communicate(timeout=limit or self.LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            errors += "\nkilled: it did not exit\n"
        return Run(self, process.args, process.returncode, output, errors)

    def run(self, *arguments, limit=None):
        return self.finish(self.start(*arguments), limit)

    def upload_arguments(self, files, event, *options, transport=None):
        date, org = event
        words = ["upload", *[file.name for file in files], "--event-date", date, "--org-name", org]
        return [*words, "--transport", transport or self.transport, "--settle-timeout", "10s", *options]

    def upload(self, files, event, *options, transport=None, limit=None):
        return self.run(*self.upload_arguments(files, event, *options, transport=transport), limit=limit)

    def uploads(self):
        """Numbers of the files with a stored delete token."""
        run = self.run("uploads", "list")
        return [record["file_id"] for record in run.records if record.get("type") == "item"]

    def kill(self, process):
        process.send_signal(signal.SIGKILL)
        return self.finish(process)

    def close(self):
        self.directory.cleanup()


class File:
    """A file on a machine; the harness computes its digest, not mediactl."""

    def __init__(self, path):
        self.path, self.name = path, path.name
        with path.open("rb") as source:
            self.digest = hashlib.file_digest(source, "sha256").hexdigest()


class Maker:
    """Generates new names and bytes, so that a run does not require an empty server."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        # Two runs with the same seed must not collide on one server.
        self.tag = f"{time.time_ns() % 16 ** 8:08x}"
        self.count = 0

    def event(self, name):
        """A date and an organization that no other scenario uses."""
        self.count += 1
        return "2026-06-15", f"Proof {self.tag} {self.count} {name}"

    def content(self, size):
        # The first bytes identify an MP3 file; the rest is arbitrary.
        return b"ID3\x04\x00\x00\x00\x00\x00\x00" + self.random.randbytes(max(1, size - 10))

    def file(self, machine, size=3000, content=None, suffix=".mp3"):
        """The name is the label; the older releases list a file under every event that uses its label."""
        self.count += 1
        path = machine.path / f"proof-{self.tag}-{self.count}{suffix}"
        path.write_bytes(self.content(size) if content is None else content)
        return File(path)

    def large(self, machine, size, suffix=".mp4"):
        """A file without repeated blocks, so that a spliced copy has a different digest."""
        self.count += 1
        path = machine.path / f"proof-{self.tag}-{self.count}{suffix}"
        block = self.random.randbytes(1 << 16)
        with path.open("wb") as file:
            while (left := size - file.tell()) > 0:
                file.write((file.tell().to_bytes(8, "big") + block)[:left])
        return File(path)

    def files(self, machine, count, size=3000):
        return [self.file(machine, size) for _ in range(count)]


class Truth:
    """The server's content at one time, as shown by its listing and by its rows."""

    def __init__(self, server):
        self.listed, self.stored = server.listing(), server.rows()
        self.keys = {row.key for row in self.stored}

    def disagreement(self, events):
        """The first event for which listing and rows differ; None if they agree."""
        for event in events:
            listed = {row.key for row in self.listed if (row.date, folded(row.org)) == place(event)}
            stored = {row.key for row in self.stored if (row.date, folded(row.org)) == place(event)}
            if listed != stored:
                return f"listing ({len(listed)}) and rows ({len(stored)}) of {event[1]} differ"
        return None

    def has(self, file, event):
        return (*place(event), file.digest) in self.keys

    def has_bytes(self, file):
        return any(row.digest == file.digest for row in self.stored)

    def numbers(self, file):
        return {row.number for row in self.stored if row.digest == file.digest}

    def rows(self, file, event):
        """Rows of the file in the event; two are a duplicate."""
        return [row for row in self.stored if row.key == (*place(event), file.digest)]

    def count(self, event):
        """Files in the event."""
        return len({row.digest for row in self.stored if (row.date, folded(row.org)) == place(event)})


def place(event):
    return event[0], folded(event[1])


def false_claims(run, files, event, truth):
    """The claims of a run that the server contradicts, as text."""
    by_name = {file.name: file for file in files}
    wrong = []
    for item in run.items:
        file = by_name.get(item.path)
        if file is None or item.is_unchanged:
            continue
        present = truth.has(file, event)
        if item.state in PRESENT and not present:
            wrong.append(f"{item.state} but not in the event")
        elif item.state in ABSENT and present:
            wrong.append(f"{item.state} but in the event")
        elif item.state in ELSEWHERE and (present or not truth.has_bytes(file)):
            wrong.append(f"{item.state} but {'in the event' if present else 'not on the server'}")
        elif item.state not in PRESENT | ABSENT | ELSEWHERE | UNKNOWN:
            wrong.append(f"unknown state {item.state}")
        elif present and item.state in PRESENT and item.number is not None and item.number not in truth.numbers(file):
            wrong.append(f"{item.state} as {item.number}, which is another file")
        elif item.state in PRESENT and item.exit_code not in (0, 11):
            wrong.append(f"{item.state} with exit code {item.exit_code}")
        elif item.state not in PRESENT and item.exit_code == 0 and item.state != "planned":
            wrong.append(f"{item.state} with exit code 0")
    return wrong
