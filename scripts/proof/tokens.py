"""Scenarios with delete tokens, and the conditions that must hold after a power loss in them."""

import collections
import contextlib
import json
import pathlib
import shutil
import sqlite3

from harness import movie

# States that report that a file may be on the server, or that it is there without a token on this machine. With one of
# these, a token was not lost silently.
REPORTED = {"token_lost", "unknown_outcome", "sent", "sending", "finalized", "resumable"}
SHORT_TIMEOUT = ("--settle-timeout", "0.01")


def stored_tokens(directory):
    """IDs and tokens from a database in the directory, which saves a process for each of many states. None if no table
    contains tokens; mediactl is run instead."""
    for path in sorted(pathlib.Path(directory).rglob("*")):
        if not path.is_file() or path.open("rb").read(6) != b"SQLite":
            continue
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=30)) as database:
                for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                    columns = {row[1] for row in database.execute(f"PRAGMA table_info({table})")}
                    if {"file_id", "token"} <= columns:
                        return dict(database.execute(f"SELECT file_id, token FROM {table} ORDER BY created_at"))
        except sqlite3.Error:
            return None
    return None


class TokenScenario:
    """Uploads, and operations with their tokens."""

    server_options = ()
    file_count, file_size = 2, 3000
    known_tokens, kept_before = {}, frozenset()
    upload_options = ()
    # Whether determining the status of an upload may send modifying requests.
    status_changes = False

    def prepare(self, machine, seed):
        (machine.path / "files").mkdir()
        self.files = [f"files/f{number}.mp4" for number in range(self.file_count)]
        for number, name in enumerate(self.files):
            movie(machine.path / name, seed * 1000 + number, self.file_size)
        self.known_tokens, self.kept_before = {}, frozenset()
        self.set_up(machine)
        if self.kept_before:
            machine.run("uploads", "list")

    def set_up(self, machine):
        pass

    def upload_all(self, machine):
        """Uploads all files; their tokens are then known and on disk."""
        run = machine.run("upload", *self.files)
        self.kept_before = frozenset(item["file_id"] for item in run.items)

    def roots(self, machine):
        return [machine.data]

    @property
    def uploads(self):
        """The command that uploads the files again."""
        return ["upload", *self.files, *self.upload_options, *SHORT_TIMEOUT]

    # After a power loss

    def check(self, case):
        """Runs the next command on a state, and further commands if its result is new."""
        case.place()
        if case.chance < 0.03:
            self._upload_at_once(case)
            return
        status = case.run("uploads", "status", *SHORT_TIMEOUT)
        tokens = stored_tokens(case.recording.machine.data) if status.code >= 0 else None
        states = tuple(sorted((item["state"], item["path"]) for item in status.items))
        is_new = tokens is None or case.is_new((tuple(sorted(tokens.items())), states))
        if is_new:
            read, tokens = tokens, self._tokens(case)
            if tokens is None:
                return
            if read is not None and read != tokens:
                case.fail("silent loss", f"uploads list has {sorted(tokens)}, the store has {sorted(read)}")
        reported = {}
        for item in status.items:
            if item["state"] in REPORTED:
                reported |= {item["file_id"]: item["state"], item["checksum_sha256"]: item["state"]}
        self._compare(case, tokens, reported)
        case.count("next command: " + (", ".join(sorted({item["state"] for item in status.items})) or "nothing to do"))
        if is_new:
            self._go_on(case, status)
        if self.status_changes:
            case.refresh_server()

    def _tokens(self, case):
        listed = case.run("uploads", "list", "--show-token")
        if listed.code != 0:
            return None
        return {item["file_id"]: item["delete_token"] for item in listed.items}

    def _compare(self, case, tokens, reported):
        """No token may have a wrong ID, be lost silently, or reappear after it was discarded."""
        recording, duties = case.recording, case.duties
        for identity, token in tokens.items():
            if not case.is_token(identity, token):
                owners = [number for number, (other, _) in recording.issued.items() if other == token]
                case.fail("wrong token", f"file {identity} has the token of {owners or 'nothing'}")
        given_up = self.given_up(case)
        on_server = dict(case.assets)
        for identity, (token, stage) in recording.issued.items():
            if stage > duties.stage or identity not in on_server or identity in given_up:
                continue
            if identity in tokens and case.is_token(identity, tokens[identity]):
                continue
            if self.must_have(case, identity):
                case.fail("silent loss", f"the token of {identity} was on the disk and is missing; reported: {reported}")
            elif identity not in reported and on_server[identity] not in reported:
                case.fail("silent loss", f"the token of {identity} is missing, and nothing was reported")
            else:
                case.count("response not yet on the disk: reported, not lost silently")
        for identity in self.gone(case):
            if identity in tokens:
                case.fail("undone", f"{identity} was printed as removed, and its token is stored again")

    def must_have(self, case, identity):
        printed = {record.get("file_id") for record in case.printed if record.get("has_delete_token")}
        return identity in case.duties.kept or identity in printed

    def given_up(self, case):
        """Tokens that the user removes in this run."""
        return set()

    def gone(self, case):
        """Tokens that were printed as removed."""
        return set()

    def _go_on(self, case, status):
        """Uploads everything again and deletes it, with a separate server."""
        with case.own_server() as server:
            if any(item["resumable"] for item in status.items):
                case.run("uploads", "resume", "--all", *SHORT_TIMEOUT, server=server)
            again = case.run(*self.uploads, server=server)
            self._one_each(case, server, again)
            tokens = self._tokens(case) or {}
            present = dict(server.assets())
            numbers = [number for number in tokens if number in present]
            if not numbers:
                return
            deleted = case.run("uploads", "delete", *numbers, "--yes", server=server)
            left = set(dict(server.assets())) & set(numbers)
            if deleted.code != 0 or left:
                case.fail("wrong token", f"tokens do not delete {sorted(left)}: {deleted}")
            case.count("uploaded again, then deleted")

    def _upload_at_once(self, case):
        """The next command is an upload of the same files."""
        with case.own_server() as server:
            again = case.run(*self.uploads, server=server)
            self._one_each(case, server, again)
            tokens = self._tokens(case)
            if tokens is None:
                return
            lost = {item["file_id"] for item in again.items if item["state"] in REPORTED}
            for identity, digest in server.assets():
                if identity in case.recording.issued and identity not in self.given_up(case):
                    if tokens.get(identity) != case.recording.issued[identity][0] and (
                            identity not in lost and not any(item["checksum_sha256"] == digest for item in again.items)):
                        case.fail("silent loss", f"the token of {identity} is missing after an upload")
            case.count("next command: upload")

    def _one_each(self, case, server, again):
        counts = collections.Counter(digest for _, digest in server.assets())
        if any(count > 1 for count in counts.values()):
            case.fail("stored twice", f"{counts} after {again}")
        sent = {item["checksum_sha256"] for item in again.items if item["state"] in ("done", "duplicate", "linked")}
        if sent - set(counts):
            case.fail("false success", f"printed as stored, but not on the server: {sent - set(counts)}")


class Upload(TokenScenario):
    name = "upload"
    file_count = 3

    @property
    def commands(self):
        return [["upload", name] for name in self.files]


class Batch(TokenScenario):
    name = "batch"
    file_count = 9

    @property
    def commands(self):
        return [["upload", *self.files, "-j", "4"]]


class Tus(TokenScenario):
    name = "tus"
    file_size = 150_000
    status_changes = True
    upload_options = ("--transport", "tus", "--chunk-size", "64K")

    @property
    def commands(self):
        return [["upload", *self.files, *self.upload_options, "-j", "1"]]


class Delete(TokenScenario):
    name = "delete"
    file_count = 5
    set_up = TokenScenario.upload_all

    @property
    def commands(self):
        first, second, third, *_ = sorted(self.kept_before)
        return [["uploads", "delete", str(first), str(second), "--yes"], ["uploads", "delete", str(third), "--yes"]]

    def gone(self, case):
        return {record.get("file_id") for record in case.printed if record.get("state") == "deleted"}


class Clear(TokenScenario):
    name = "clear"
    file_count = 5
    set_up = TokenScenario.upload_all
    commands = [["uploads", "clear", "--all", "--yes"]]

    def given_up(self, case):
        return set(self.kept_before)

    def gone(self, case):
        return set(self.kept_before) if any(record.get("removed") for record in case.printed) else set()

    def check(self, case):
        super().check(case)
        if self.gone(case):
            # The disk content after the next command, in any file.
            tokens = [case.recording.issued[identity][0] for identity in self.kept_before]
            content = case.bytes_on_disk()
            if any(token.encode() in content for token in tokens):
                case.count("removed token still in a file (not counted as an error)")


class Import(TokenScenario):
    """Tokens from another machine are imported into one that has its own tokens."""

    name = "import"
    file_count = 6

    def set_up(self, machine):
        first, *others = self.files
        run = machine.run("upload", *others)
        machine.run("uploads", "export", "-o", "tokens.jsonl")
        for line in (machine.path / "tokens.jsonl").read_text().splitlines():
            entry = json.loads(line)
            if "delete_token" in entry:
                self.known_tokens[entry["file_id"]] = entry["delete_token"]
        self.imported = {item["file_id"] for item in run.items}
        shutil.rmtree(machine.data)
        machine.data.mkdir(mode=0o700)
        machine.run("upload", first)

    commands = [["uploads", "import", "tokens.jsonl"]]

    def given_up(self, case):
        """A token that is not imported yet is still in the export file."""
        has_ended = any(record.get("type") == "summary" for record in case.printed)
        return set() if has_ended else {number for number in self.imported if number not in case.duties.kept}


TOKEN_SCENARIOS = [Upload, Batch, Tus, Delete, Clear, Import]
