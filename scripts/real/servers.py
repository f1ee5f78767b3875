"""The servers of a run: real ones from the environment, or sandboxes; and what each of them has stored."""

import base64
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASES = ("d1", "d2", "d3")


class SetupError(Exception):
    """The run cannot start."""


def folded(name):
    """Equal for names that the servers take for the same organization: without case, accents and extra blanks.

    D2 stores plain dashes and no apostrophes as well.
    """
    plain = unicodedata.normalize("NFD", " ".join(name.split()).casefold())
    plain = plain.replace("\u2013", "-").replace("\u2014", "-")
    return "".join(letter for letter in plain if not unicodedata.combining(letter) and letter not in "'\u2018\u2019`\u2032")


class Row:
    """One stored file in one event."""

    def __init__(self, date, org, number, digest, label):
        self.date, self.org, self.number, self.digest, self.label = date, org, number, digest, label

    @property
    def key(self):
        return self.date, folded(self.org), self.digest


class Server:
    """A running server. Its listing is read over HTTP, its rows by a command that the operator provides."""

    def __init__(self, release, url, accounts, rows):
        self.release, self.url, self.accounts, self._rows = release, url.rstrip("/"), accounts, rows

    def request(self, path, role="user", body=None):
        """Status and body of a response; errors of HTTP are responses."""
        user, password = self.accounts[role]
        request = urllib.request.Request(self.url + path, data=body)
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())
        if body is not None:
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def listing(self):
        """All rows of the server's listing."""
        rows, page, pages = [], 1, 1
        while page <= pages:
            # The changing query keeps caches out of the way.
            status, body = self.request(f"/db/database.php?format=json&page={page}&t={time.time_ns()}")
            if status != 200:
                raise SetupError(f"{self.release}: the listing responds with {status}")
            listing = json.loads(body)
            pages = listing.get("pagination", {}).get("pageCount", 1)
            for entry in listing["entries"]:
                digest = entry["file_name"].split(".")[0]
                rows.append(Row(entry["date"], entry["org_name"], int(entry["id"]), digest, entry["song_title"]))
            page += 1
        return rows

    def rows(self):
        """All rows of the database."""
        return self._rows()

    def delete_as_admin(self, number):
        """Deletes a file as an administrator does."""
        body = json.dumps({"file_ids": [number], "asset_ids": [number]}).encode()
        status, answer = self.request("/db/delete_media_files.php", "admin", body)
        return status == 200 and json.loads(answer).get("deleted_count") == 1


def rows_of_command(command):
    """Rows that a shell command prints: date, organization, id, SHA-256 and label, separated by tabs."""

    def rows():
        printed = subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
        found = []
        for line in printed.splitlines():
            date, org, number, digest, label = (line.split("\t") + [""] * 5)[:5]
            # A file without an event has no place to compare.
            if date not in ("", "NULL"):
                found.append(Row(date, org, int(number), digest, label))
        return found

    return rows


def secret(name):
    """A password: from the variable, or from the file that the variable with _FILE names."""
    if os.environ.get(name):
        return os.environ[name]
    path = os.environ.get(name + "_FILE")
    return pathlib.Path(path).read_text().strip() if path else None


def real_servers():
    """The servers in the environment, by release."""
    servers = {}
    for release in RELEASES:
        prefix = f"MEDIACTL_REAL_{release.upper()}_"
        url = os.environ.get(prefix + "URL")
        if not url:
            continue
        accounts = {}
        for role, words in (("user", ("USER", "PASSWORD")), ("admin", ("ADMIN_USER", "ADMIN_PASSWORD")),
                            ("viewer", ("VIEWER_USER", "VIEWER_PASSWORD"))):
            user, password = os.environ.get(prefix + words[0]), secret(prefix + words[1])
            if user and password:
                accounts[role] = (user, password)
        command = os.environ.get(prefix + "ROWS_COMMAND")
        if "user" not in accounts or "admin" not in accounts or not command:
            raise SetupError(
                f"{prefix}USER, {prefix}PASSWORD, {prefix}ADMIN_USER, {prefix}ADMIN_PASSWORD and "
                f"{prefix}ROWS_COMMAND are required beside {prefix}URL"
            )
        servers[release] = Server(release, url, accounts, rows_of_command(command))
    return servers


class Sandbox:
    """The project's own server, in which overlapping uploads collide; used where no real one is named."""

    RACE_WINDOW = "0.02"

    def __init__(self, release):
        program = os.environ.get("MEDIACTL_SANDBOX") or str(ROOT / ".build/debug/mediactl-sandbox")
        if not os.access(program, os.X_OK):
            raise SetupError(f"{program} is missing; build it, or set MEDIACTL_SANDBOX")
        self.data = tempfile.TemporaryDirectory(prefix="mediactl-real-sandbox-")
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--data", self.data.name, "--dialect", release]
            + ["--races", self.RACE_WINDOW],
            stdout=subprocess.PIPE, text=True,
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise SetupError("the sandbox did not start")
        accounts = {"user": ("uploader", "uploader"), "admin": ("admin", "admin"), "viewer": ("viewer", "viewer")}
        self.server = Server(release, line.split()[-1], accounts, self.rows)

    def rows(self):
        uri = f"file:{self.data.name}/sandbox.sqlite?mode=ro"
        with sqlite3.connect(uri, uri=True, timeout=30) as database:
            found = database.execute(
                "SELECT event_date, org_name, asset.id, checksum, label FROM event_item"
                " JOIN event ON event.id = event_id JOIN asset ON asset.id = asset_id"
            ).fetchall()
        return [Row(*values) for values in found]

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.data.cleanup()
