"""A photographer's machine: its files, its commands, and the records that those commands reported."""

import collections
import dataclasses
import os
import pathlib
import subprocess
import time

from photoserver import ALICE, KEYS, digest
from harness import Machine, Run, SetupError, mediactl

PARTIAL, UNVERIFIED = ".mediactl-part", ".unverified"
# Longer runs count as hung. During an outage, mediactl waits up to two minutes.
LIMIT_SECONDS = 200


@dataclasses.dataclass(frozen=True)
class File:
    """A file as stored on the disk."""

    digest: str
    size: int
    modified: int
    inode: int


@dataclasses.dataclass
class Copy:
    """The printed, and thus recorded, state of a local file."""

    id: str
    digest: str
    # A killed command may have changed the record since.
    is_certain: bool = True


class PhotoMachine(Machine):
    """One data directory; `pictures` contains the originals, `fetched` the downloads."""

    def __init__(self, path, server):
        super().__init__(path, None)
        self.server, self.url = server, server.url
        self.pictures, self.fetched = self.path / "pictures", self.path / "fetched"
        self.pictures.mkdir()
        self.fetched.mkdir()
        self.device = None
        self.copies = {}
        # Photos that a killed command may have recorded as the file at a path without printing it.
        self.possible = collections.defaultdict(set)
        # Photos shown to this machine by a complete listing; those whose deletion was accepted; those deleted by a
        # repair.
        self.seen, self.accepted, self.repaired = set(), set(), set()
        # Files created by mediactl under names that are not final.
        self.temporary = set()
        # Times of files that were damaged without changing size or time.
        self.rotten = {}
        self.durations = {}

    def environment(self):
        environment = super().environment()
        for name in ("LD_PRELOAD", "MEDIACTL_USER", "MEDIACTL_PASSWORD"):
            del environment[name]
        return environment

    def log_in(self, name):
        key = self.path / "key.txt"
        key.touch(mode=0o600)
        key.write_text(KEYS[ALICE] + "\n")
        run = self.perform("login", "--api-key-file", key, "--device-name", name)
        if run.code != 0:
            raise SetupError(f"cannot log in: {run}")
        self.device = run.last.get("device_id")

    def perform(self, *arguments, kill_at=None):
        """Runs a command; kill_at is a fraction of its earlier duration."""
        words = [*map(str, arguments), "--data-dir", str(self.data), "--no-input", "--json"]
        kind = " ".join(words[:2])
        began = time.monotonic()
        process = subprocess.Popen(
            [mediactl(), *words], env=self.environment(), cwd=self.path, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        usual = self.durations.get(kind, 0.1)
        try:
            output, errors = process.communicate(timeout=LIMIT_SECONDS if kill_at is None else usual * kill_at)
            is_hung = False
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            is_hung = kill_at is None
        if process.returncode >= 0:
            self.durations[kind] = 0.5 * usual + 0.5 * (time.monotonic() - began)
        return Run(arguments, process.returncode, *(part.decode(errors="replace") for part in (output, errors)), is_hung)

    # Files

    def files(self):
        """All of the photographer's files, by path."""
        found = {}
        for root in (self.pictures, self.fetched):
            for folder, _, names in os.walk(root):
                for name in names:
                    path = pathlib.Path(folder, name)
                    status = path.stat()
                    found[path] = File(digest(path.read_bytes()), status.st_size, status.st_mtime_ns, status.st_ino)
        return found

    def finals(self, files):
        """The files that a user would treat as photos."""
        return {path: file for path, file in files.items() if not self.is_temporary(path)}

    @staticmethod
    def is_temporary(path):
        return path.name.endswith((PARTIAL, UNVERIFIED))

    # Records

    def record(self, path, identifier, content):
        self.copies[path] = Copy(identifier, content)

    def doubt(self, files):
        """Marks files that a killed command may have recorded without printing it."""
        for copy in self.copies.values():
            copy.is_certain = False
        for path, file in files.items():
            photos = self.server.photos.items()
            self.possible[path] |= {identifier for identifier, photo in photos if file.digest in photo.genuine}
