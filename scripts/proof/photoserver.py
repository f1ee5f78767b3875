"""A PhotoSync server with known state: the rows of the sandbox's database, the bytes on its disk, and all changes to
both. Does not use mediactl."""

import base64
import contextlib
import dataclasses
import hashlib
import json
import pathlib
import sqlite3
import threading
import time
import urllib.error
import urllib.request
import uuid

from harness import Sandbox, control

ALICE, BOB = "alice@example.test", "bob@example.test"
KEYS = {ALICE: "a11ce".ljust(64, "0"), BOB: "b0b".ljust(64, "0")}
# Each run relists the uploads of the five minutes before the last run; a row this much older is missed.
LATE_SECONDS = 3600


def digest(content):
    return hashlib.sha256(content).hexdigest()


@dataclasses.dataclass
class Row:
    """A row of the database."""

    id: str
    email: str | None
    device: str | None
    hash: str
    name: str
    path: str
    size: int


@dataclasses.dataclass
class Photo:
    """A photo that is or was on the server."""

    row: Row
    # Digests of the uploaded bytes, and of the server's own copy of them.
    genuine: set
    length: int
    is_late: bool = False
    is_gone: bool = False


class PhotoServer:
    """The sandbox, its uploads, and the changes to its files."""

    def __init__(self, data, rewrite):
        self.data, self.options = pathlib.Path(data), ("--photosync-rewrite", rewrite)
        self.sandbox = Sandbox(data, *self.options)
        self.url = self.sandbox.url
        self.photos = {}
        # Digests of files that were already damaged before the upload: their correct content is unknown.
        self.broken = set()
        # Digests of files with a flipped bit in a format without checksums (ADR 0037).
        self.flipped = set()

    def stop(self):
        self.sandbox.stop()

    def restart(self, seconds):
        """Kills the server (like kill -9), and restarts it after a while."""
        port = self.sandbox.port
        self.sandbox.stop()
        time.sleep(seconds)
        self.sandbox = Sandbox(self.data, *self.options, port=port)

    def control(self, path, method="GET", body=None):
        text = body if body is None or isinstance(body, str) else json.dumps(body)
        return control(self.url, path, method, text)

    def outage(self, seconds):
        self.control("photosync/outage", "POST")
        time.sleep(seconds)
        self.control("photosync/outage", "DELETE")

    # Actual state

    def rows(self):
        """All rows, by ID."""
        uri = f"file:{self.data}/photosync.sqlite?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=30)) as database:
            found = database.execute(
                "SELECT photo.id, email, device_id, hash, name, path, size FROM photo LEFT JOIN user ON user.id = user_id"
            ).fetchall()
        return {values[0]: Row(*values) for values in found}

    def content(self, row):
        """The bytes on the server's disk; None without a file."""
        try:
            return (self.data / "photos" / row.path).read_bytes()
        except FileNotFoundError:
            return None

    def observe(self, is_busy=False):
        """Records new photos, and returns all rows. `is_busy`: the server may still store data of a killed command."""
        rows, earlier = self.rows(), None
        while is_busy and rows != earlier:
            time.sleep(0.05)
            rows, earlier = self.rows(), rows
        self.control("photosync/rewrite", "POST")
        for row in rows.values():
            if row.id in self.photos:
                self.photos[row.id].row = row
                continue
            content = self.content(row) or b""
            self.photos[row.id] = Photo(row, {row.hash, digest(content)}, len(content))
        for photo in self.photos.values():
            photo.is_gone = photo.row.id not in rows
        return rows

    def state(self, row):
        """`missing`, `empty`, `genuine` or `damaged`."""
        content = self.content(row)
        if not content:
            return "missing" if content is None else "empty"
        return "genuine" if digest(content) in self.photos[row.id].genuine else "damaged"

    def is_verifiable(self, identifier):
        """Whether an intact file of the photo can be distinguished from a damaged one."""
        return identifier in self.photos and self.photos[identifier].row.hash not in self.broken

    # Changes

    def upload(self, name, content, email=ALICE):
        """Uploads as another device of the user; returns the ID."""
        boundary = uuid.uuid4().hex
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        request = urllib.request.Request(
            f"{self.url}/api/photos/upload", body,
            {"X-API-Key": KEYS[email], "Content-Type": f"multipart/form-data; boundary={boundary}"},
        )
        with urllib.request.urlopen(request, timeout=60) as response:
            return json.loads(response.read())["id"]

    def make_late(self, identifier):
        """The row appears before the position that listings have reached."""
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - LATE_SECONDS))
        self.control(f"photosync/photos/{identifier}", "PATCH", {"uploadedAt": moment})
        self.photos[identifier].is_late = True

    def delete(self, identifier):
        with contextlib.suppress(urllib.error.HTTPError):
            self.control(f"photosync/photos/{identifier}", "DELETE")

    def replace(self, row, content):
        body = {"action": "replace", "base64": base64.b64encode(content).decode()}
        self.control(f"photosync/photos/{row.id}/file", "POST", body)

    def damage(self, row, action, **options):
        with contextlib.suppress(urllib.error.HTTPError):
            self.control(f"photosync/photos/{row.id}/file", "POST", {"action": action, **options})


def later(work, *arguments):
    """Runs `work` while a command runs; wait for it with `join`."""
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread
