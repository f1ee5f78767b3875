"""One row of an attack table: the actions, the results reported by mediactl, and the facts."""

import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import tempfile
import time
import urllib.request

import hostile
from client import Machine, Maker, Truth, false_claims
from servers import ROOT, Row, SetupError

# docs/exit-codes.md
EXIT_CODES = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13}
PASSWORD = "canary-pass word/#42"
LOGIN = ("uploader", PASSWORD)
HUNG = "killed: it did not exit"
# Seconds that mediactl waits by default after a lost response, plus a margin.
PROCESSING_SECONDS = 340
# settle_timeout of the commands: how long mediactl waits for a server that may still be working on a request.
SETTLE_SECONDS = 1
SETTLE_OPTIONS = ("--settle-timeout", f"{SETTLE_SECONDS}s")
# The output of a crashed program.
CRASH = re.compile(r"Fatal error|Illegal instruction|fatalError|Assertion failed|AddressSanitizer")


class Server:
    """A sandbox with the password of these tables."""

    def __init__(self, *options):
        program = os.environ.get("MEDIACTL_SANDBOX") or str(ROOT / ".build/debug/mediactl-sandbox")
        if not os.access(program, os.X_OK):
            raise SetupError(f"{program} is missing; build it, or set MEDIACTL_SANDBOX")
        self.data = tempfile.TemporaryDirectory(prefix="mediactl-attack-")
        self.process = subprocess.Popen(
            [program, "--listen", "127.0.0.1:0", "--data", self.data.name, "--user", f"{LOGIN[0]}:{PASSWORD}", *options],
            stdout=subprocess.PIPE, text=True,
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise SetupError("the sandbox did not start")
        self.url = line.split()[-1]

    def rows(self):
        """The stored files."""
        uri = f"file:{self.data.name}/sandbox.sqlite?mode=ro"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=30)) as database:
            found = database.execute(
                "SELECT event_date, org_name, asset.id, checksum, label FROM event_item"
                " JOIN event ON event.id = event_id JOIN asset ON asset.id = asset_id"
            ).fetchall()
        return [Row(*values) for values in found]

    def control(self, path, body, method="POST"):
        request = urllib.request.Request(f"{self.url}/__sandbox/{path}", body.encode(), method=method)
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.read()

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.data.cleanup()


class Facts(Truth):
    """The contents of the sandbox, from its database."""

    def __init__(self, sandbox):
        self.stored = sandbox.rows()
        self.listed, self.keys = self.stored, {row.key for row in self.stored}


class Trial:
    """A machine behind a hostile server, with a separate file and event."""

    def __init__(self, name, sandbox, seed, *rules, front=hostile.Hostile, options=()):
        self.name, self.sandbox = name, sandbox
        self.maker = Maker(seed)
        self.proxy = front(sandbox.url, *rules)
        # Options of every command that connects to the server.
        self.options = options
        self.machine = Machine(self.proxy.url, LOGIN)
        self.event = self.maker.event(name[:40].replace(",", ""))
        self.runs, self.wrong, self.unmet, self.claims = [], [], [], []
        # Whether the server responds with a refusal although it has processed the request.
        self.is_denied = False
        # Stages whose responses mean that nothing was processed, so a retry does not require a query.
        self.retryable = set()
        self.removed = set()
        # Whether the program may have exited before it read a completely sent response.
        self.may_lose = False
        # When the commands so far ended, and when no server can still be working on their last finalize request, in
        # seconds since 1970: after that, the request may be sent again without a query.
        self.pause = None

    def file(self, size=3000):
        return self.maker.file(self.machine, size)

    def upload(self, file, *options, transport="multipart", limit=60):
        return self.took(self.machine.finish(self.start_upload(file, *options, transport=transport), limit))

    def start_upload(self, file, *options, transport="multipart"):
        """A running upload."""
        options = ("--retries", "1", *SETTLE_OPTIONS, *self.options, *options)
        return self.machine.start(*self.machine.upload_arguments([file], self.event, *options, transport=transport))

    def command(self, *words, limit=60):
        return self.took(self.machine.run(*words, *self.options, limit=limit))

    def took(self, run, codes=None):
        """Adds a finished command; codes: its allowed exit codes."""
        run.codes = codes
        self.runs.append(run)
        self.claims.append(f"{run.states()}, exit {run.code}")
        return run

    def numbers(self):
        """Numbers of the files with a stored token, and the tokens."""
        run = self.machine.run("uploads", "list", "--show-token")
        return {
            record["file_id"]: record["delete_token"]
            for record in run.records if record.get("type") == "item"
        }

    def expect(self, what, is_met):
        if not is_met:
            self.unmet.append(what)

    def check(self, run, file):
        """Verifies the reported results of an upload on the server."""
        truth = Facts(self.sandbox)
        self.wrong += false_claims(run, [file], self.event, truth)
        if run.code == 0 and not truth.has(file, self.event):
            self.wrong.append("exit 0, and the file is not in the event")
        return truth

    def finish(self, file=None, codes=None):
        """Performs the checks of every row, which completes the row."""
        held = self.numbers()
        truth = Facts(self.sandbox)
        for run in self.runs:
            allowed = run.codes or codes or EXIT_CODES
            if HUNG in run.errors:
                self.wrong.append("did not exit")
            elif CRASH.search(run.errors):
                self.wrong.append("trap")
            elif run.code < 0 and run.code not in allowed:
                self.wrong.append(f"terminated by signal {-run.code}")
            elif run.code not in allowed:
                self.unmet.append(f"exit code {run.code}")
            text = "".join(map(str, run.records)) + run.errors
            if PASSWORD in text or any(token in text for token in self.proxy.tokens):
                self.wrong.append("a secret is printed")
        if file and truth.has(file, self.event) and not self.removed:
            self.check_token(file, truth, held)
        for stage in {"upload", "finalize"} - self.retryable:
            if self.proxy.unqueried(stage, self.pause if stage == "finalize" else None):
                self.unmet.append(f"{stage} sent again without a query")
        self.proxy.close()
        self.machine.close()
        return self

    def check_token(self, file, truth, held):
        """The token of a stored file must be stored, or its loss must be reported."""
        numbers = truth.numbers(file)
        if numbers & held.keys():
            number = min(numbers & held.keys())
            if self.proxy.tokens and held[number] not in self.proxy.tokens:
                self.wrong.append("the stored token is not the one that the server sent")
            return
        if self.proxy.tokens and not self.may_lose:
            self.wrong.append("the server sent a token, but it is not stored")
        states = self.journal()
        if not states & {"token_lost", "unknown_outcome", "sent", "sending", "finalized"}:
            warned = any(
                warning["code"] in ("no_delete_token", "token_lost_earlier", "token_may_be_lost")
                for run in self.runs for item in run.items for warning in item.record.get("warnings") or []
            )
            if not warned:
                self.wrong.append(f"the token is lost, and the journal has {', '.join(sorted(states)) or 'nothing'}")

    def age_journal(self):
        """Sets the times in the journal back, since the server has finished and mediactl need not wait for it. The
        times of finalize requests are kept: on a loaded machine, the next command may run later than settle_timeout,
        and may then send such a request again without a query."""
        database = pathlib.Path(self.machine.path, "data/tokens.sqlite")
        if database.exists():
            with contextlib.closing(sqlite3.connect(database, timeout=30)) as connection, connection:
                newest, = connection.execute("SELECT max(updated_at) FROM uploads").fetchone()
                unit = 1000 if (newest or 0) > 10**11 else 1
                connection.execute("UPDATE uploads SET updated_at = updated_at - ?", (PROCESSING_SECONDS * unit,))
                started, = connection.execute("SELECT max(finalize_started_at) FROM tus_uploads").fetchone()
                if started is not None:
                    self.pause = time.time(), started / unit + SETTLE_SECONDS

    def journal(self):
        database = pathlib.Path(self.machine.path, "data/tokens.sqlite")
        if not database.exists():
            return set()
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
            return {state for state, in connection.execute("SELECT state FROM uploads")}

    @property
    def verdict(self):
        if self.is_denied and self.wrong and all("failed" in text or "the token is lost" in text for text in self.wrong):
            return "unmet" if self.unmet else "denied"
        return "false" if self.wrong else "unmet" if self.unmet else "ok"
