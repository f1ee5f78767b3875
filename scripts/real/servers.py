"""The servers of a run, real ones from the environment or sandboxes, and their stored files."""

import base64
import contextlib
import json
import os
import pathlib
import secrets
import sqlite3
import subprocess
import tempfile
import time
import unicodedata
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RELEASES = ("d1", "d2", "d3", "d4")


class SetupError(Exception):
    """The run cannot start."""


def folded(name):
    """Equal for names that the servers treat as the same organization, ignoring case, accents and extra blanks.

    D2 also ignores apostrophes and the kind of dash.
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


class TusUpload:
    """One upload in the database of a server with tus in PHP."""

    def __init__(self, number, user, status, length, is_counted):
        self.number, self.user, self.status, self.length, self.is_counted = number, user, status, length, is_counted


class TusState:
    """The uploads of a server with tus in PHP, and a function that makes unfinished ones older than 24 hours."""

    def __init__(self, uploads, expire):
        self.uploads, self.expire = uploads, expire

    def counted(self):
        """Unfinished uploads of users with a password, who share the slots."""
        return {upload.number for upload in self.uploads() if upload.is_counted and upload.user == "0"}


class Server:
    """A running server. The listing is read over HTTP, and the rows are read with a command set by the operator."""

    def __init__(self, release, url, accounts, rows, guest_link=None, control=None, tus=None, files=None):
        self.release, self.url, self.accounts, self._rows = release, url.rstrip("/"), accounts, rows
        # A function of an event that returns a link to it; a function of a component and "stop" or "start".
        self.guest_link, self._control = guest_link, control
        # A TusState; a function that returns the names of the stored media files.
        self.tus, self.files = tus, files

    @property
    def gives_tokens_over_tus(self):
        """Whether a finished tus upload has a delete token (gighive-d4 contract 3)."""
        return self.release != "d4"

    @property
    def can_stop(self):
        return self._control is not None

    @contextlib.contextmanager
    def stopped(self, part):
        """Stops php, db or tus for the duration of a `with` block."""
        self._control(part, "stop")
        try:
            yield
        finally:
            self._control(part, "start")

    def request(self, path, role="user", body=None):
        """Status and body of a response; HTTP errors are also responses."""
        headers = {} if body is None else {"Content-Type": "application/json"}
        status, _, content = self.exchange("GET" if body is None else "POST", path, role, headers, body)
        return status, content

    def exchange(self, method, path, role="user", headers=None, body=None):
        """Status, headers and body of a response."""
        user, password = self.accounts[role]
        request = urllib.request.Request(self.url + path, data=body, headers=headers or {}, method=method)
        request.add_header("Authorization", "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode())
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def listing(self):
        """All rows of the server's listing."""
        rows, page, pages = [], 1, 1
        while page <= pages:
            # The changing query string prevents caching.
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
        status, content = self.request("/db/delete_media_files.php", "admin", body)
        return status == 200 and json.loads(content).get("deleted_count") == 1


def rows_of_command(command):
    """Rows printed by a shell command: date, organization, ID, SHA-256 and label, separated by tabs."""

    def rows():
        printed = subprocess.run(command, shell=True, check=True, capture_output=True, text=True).stdout
        found = []
        for line in printed.splitlines():
            date, org, number, digest, label = (line.split("\t") + [""] * 5)[:5]
            # A file without an event cannot be compared.
            if date not in ("", "NULL"):
                found.append(Row(date, org, int(number), digest, label))
        return found

    return rows


def tus_of_commands(uploads, expire):
    """The state of tus: a command that prints ID, user, status, length and 1 or 0 (whether the upload occupies a slot),
    separated by tabs, and a command that is run with the IDs of uploads that must no longer occupy one."""

    def read():
        printed = subprocess.run(uploads, shell=True, check=True, capture_output=True, text=True).stdout
        found = []
        for line in printed.splitlines():
            number, user, status, length, counted = line.split("\t")
            found.append(TusUpload(number, user, status, int(length), counted == "1"))
        return found

    def age(numbers):
        if numbers:
            subprocess.run(f"{expire} {' '.join(sorted(numbers))}", shell=True, check=True, stdout=subprocess.DEVNULL)

    return uploads and expire and TusState(read, age)


def files_of_command(command):
    """A function that returns the names printed by a shell command, one per line, without their directories."""
    return command and (lambda: [pathlib.Path(line).name for line in subprocess.run(
        command, shell=True, check=True, capture_output=True, text=True,
    ).stdout.splitlines()])


def link_of_command(command):
    """A function that runs a shell command with EVENT_DATE and EVENT_ORG, which prints an event link."""
    return command and (lambda event: subprocess.run(
        command, shell=True, check=True, capture_output=True, text=True,
        env={**os.environ, "EVENT_DATE": event[0], "EVENT_ORG": event[1]},
    ).stdout.strip())


def control_of_command(command):
    """A function that runs a shell command, followed by the component, and stop or start."""
    # The command's output is discarded, since a process that the command starts may keep it open.
    return command and (lambda part, action: subprocess.run(
        f"{command} {part} {action}", shell=True, check=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ))


def secret(name):
    """A password: from the variable, or from the file specified by the variable with _FILE."""
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
        servers[release] = Server(
            release, url, accounts, rows_of_command(command),
            link_of_command(os.environ.get(prefix + "GUEST_LINK_COMMAND")),
            control_of_command(os.environ.get(prefix + "CONTROL_COMMAND")),
            tus_of_commands(os.environ.get(prefix + "TUS_COMMAND"), os.environ.get(prefix + "EXPIRE_COMMAND")),
            files_of_command(os.environ.get(prefix + "FILES_COMMAND")),
        )
    return servers


class Sandbox:
    """The project's sandbox, in which overlapping uploads collide; used if no real server is specified."""

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
        self.server = Server(
            release, line.split()[-1], accounts, self.rows,
            self.guest_link if release in ("d3", "d4") else None, self.control,
            TusState(self.tus_uploads, self.expire) if release == "d4" else None,
        )

    def rows(self):
        uri = f"file:{self.data.name}/sandbox.sqlite?mode=ro"
        with sqlite3.connect(uri, uri=True, timeout=30) as database:
            found = database.execute(
                "SELECT event_date, org_name, asset.id, checksum, label FROM event_item"
                " JOIN event ON event.id = event_id JOIN asset ON asset.id = asset_id"
            ).fetchall()
        return [Row(*values) for values in found]

    def tus_uploads(self):
        uri = f"file:{self.data.name}/sandbox.sqlite?mode=ro"
        with sqlite3.connect(uri, uri=True, timeout=30) as database:
            found = database.execute(
                "SELECT id, ifnull(guest_token, '0'), state, length, state = 'pending' AND created_at > ?"
                " FROM block_upload", (time.time() - 86_400,)
            ).fetchall()
        return [TusUpload(*values) for values in found]

    def expire(self, numbers):
        with sqlite3.connect(f"{self.data.name}/sandbox.sqlite", timeout=30) as database:
            for number in numbers:
                database.execute("UPDATE block_upload SET created_at = created_at - 90000 WHERE id = ?", (number,))

    # The server's response while a component is stopped.
    STOPPED = {
        "php": ["php:status=503"],
        "tus": ["tus:status=503"],
        "db": ["upload:status=500", "finalize:status=500", "listing:status=500", "asset:status=500"],
    }

    def control(self, part, action):
        if action == "start":
            self.request("faults", "DELETE")
        else:
            self.request("faults", "POST", "\n".join(self.STOPPED[part]))

    def guest_link(self, event):
        token = secrets.token_urlsafe(32)
        self.request("event-links", "POST", f"{token}={event[0]},{event[1]},band")
        return f"{self.server.url}/upload/{token}"

    def request(self, path, method, body=None):
        """Sends a request to the sandbox's control interface."""
        data = body.encode() if body else None
        request = urllib.request.Request(f"{self.server.url}/__sandbox/{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.data.cleanup()
