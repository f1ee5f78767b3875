"""The environment of a recorded run: the preloaded library, a sandbox with a copy of its data per change, a machine."""

import contextlib
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT_SECONDS = 60


class SetupError(Exception):
    """The run cannot start."""


def program(variable, *candidates):
    """A program from the environment, or the first existing candidate."""
    named = os.environ.get(variable)
    found = [named] if named else [str(path) for path in candidates if os.access(path, os.X_OK)]
    if not found or not os.access(found[0], os.X_OK):
        raise SetupError(f"{candidates[0]} is missing; build it, or set {variable}")
    return os.path.abspath(found[0])


def mediactl():
    return program("MEDIACTL_BINARY", ROOT / "dist/mediactl")


def sandbox_program():
    return program("MEDIACTL_SANDBOX", ROOT / ".build/debug/mediactl-sandbox")


def build_library(directory):
    """Compiles the preloaded library."""
    library = pathlib.Path(directory) / "proof.so"
    sources = [str(HERE / name) for name in ("recorder.c", "names.c", "inodes.c", "faults.c")]
    options = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-U_FORTIFY_SOURCE", "-shared", "-fPIC"]
    subprocess.run([os.environ.get("CC", "cc"), *options, "-o", str(library), *sources, "-lpthread"], check=True)
    return library


def work_directory():
    """The directory for the states: in memory if there is enough, since the disk is simulated."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def documented_exit_codes():
    """The exit codes of docs/exit-codes.md, by number."""
    text = (ROOT / "docs/exit-codes.md").read_text()
    return {int(number) for number in re.findall(r"^\| (\d+) \|", text, re.M)}


def control(url, path, method="GET", body=None):
    """Sends a request to a sandbox's control interface."""
    request = urllib.request.Request(f"{url}/__sandbox/{path}", body and body.encode(), method=method)
    with urllib.request.urlopen(request, timeout=60) as response:
        return response.read()


class Sandbox:
    """The project's sandbox with a separate data directory. Port 0 selects any free port."""

    def __init__(self, data, *options, port=0):
        self.data = pathlib.Path(data)
        self.process = subprocess.Popen(
            [sandbox_program(), "--listen", f"127.0.0.1:{port}", "--data", str(data), *options], stdout=subprocess.PIPE,
            text=True,
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise SetupError("the sandbox did not start")
        self.url = line.split()[-1]
        self.port = int(self.url.rsplit(":", 1)[1])

    def writes(self):
        """The number of requests with possible side effects that the sandbox has received."""
        return sum(request["method"] not in ("GET", "HEAD", "OPTIONS") for request in json.loads(control(self.url, "requests")))

    def assets(self):
        return assets(self.data)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def token_hashes(data):
    """SHA-256 of the delete tokens that a sandbox accepts, by the ID of the file."""
    with contextlib.closing(sqlite3.connect(pathlib.Path(data) / "sandbox.sqlite", timeout=30)) as database:
        return dict(database.execute("SELECT id, delete_token_hash FROM asset"))


def assets(data):
    """The files of a sandbox: ID and SHA-256, one pair per file."""
    with contextlib.closing(sqlite3.connect(pathlib.Path(data) / "sandbox.sqlite", timeout=30)) as database:
        return [(int(number), digest) for number, digest in database.execute("SELECT id, checksum FROM asset")]


class Front:
    """A server in front of a sandbox that passes on one modifying request at a time and copies the sandbox's data after
    each, so that the server's state is known for every point of a run. Its address is independent of the sandbox."""

    def __init__(self, sandbox, copies):
        self.sandbox, self.copies = sandbox, pathlib.Path(copies)
        self.lock = threading.Lock()
        # The completion times of these requests in nanoseconds, and the responses to them.
        self.times, self.responses = [], []
        self._copy(0)
        front = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def handle_request(self):
                front.handle(self)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_request

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def _copy(self, number):
        shutil.copytree(self.sandbox.data, self.copies / str(number))

    def handle(self, request):
        body = self._body(request)
        if request.command in ("GET", "HEAD", "OPTIONS"):
            status, headers, content = self._forward(request, body)
        else:
            with self.lock:
                moment = time.monotonic_ns()
                status, headers, content = self._forward(request, body)
                self._copy(len(self.times) + 1)
                self.times.append(moment)
                self.responses.append((request.command, request.path, status, content))
        request.send_response_only(status)
        for name, value in headers:
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                request.send_header(name, value)
        if request.command == "HEAD":
            length = dict((name.lower(), value) for name, value in headers).get("content-length")
            if length is not None:
                request.send_header("Content-Length", length)
        elif status not in (204, 304):
            request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)

    @staticmethod
    def _body(request):
        if request.headers.get("Transfer-Encoding", "").lower() == "chunked":
            parts = []
            while size := int(request.rfile.readline().split(b";")[0], 16):
                parts.append(request.rfile.read(size))
                request.rfile.readline()
            request.rfile.readline()
            return b"".join(parts)
        return request.rfile.read(int(request.headers.get("Content-Length", 0)))

    def _forward(self, request, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.sandbox.port, timeout=60)
        connection.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "expect"):
                connection.putheader(name, value)
        if body or request.command in ("POST", "PUT", "PATCH"):
            connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Connection", "close")
        connection.endheaders(body or None)
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, response.getheaders(), content

    def stage(self, moment):
        """The number of these requests that the server had received at a point of the run."""
        return sum(time <= moment for time in self.times)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Run:
    """A finished command."""

    def __init__(self, arguments, code, output, errors, is_hung=False):
        self.arguments, self.code, self.errors, self.is_hung = arguments, code, errors, is_hung
        self.records = records(output)
        self.items = [record for record in self.records if record.get("type") == "item"]
        self.last = self.records[-1] if self.records else {}

    @property
    def error(self):
        """The code of the error with which the whole command failed."""
        return (self.last.get("error") or {}).get("code") if self.last.get("type") == "error" else None

    def __str__(self):
        text = "hung" if self.is_hung else f"exit {self.code}"
        return f"{' '.join(map(str, self.arguments))}: {text} {self.error or ''} {self.errors.strip()[-300:]}"


def records(output):
    """The complete records in the output of --json."""
    found = []
    for line in output.splitlines(keepends=True):
        try:
            found.append(json.loads(line) if line.endswith("\n") else {})
        except ValueError:
            found.append({})
    return [record for record in found if record]


class Machine:
    """A machine: a data directory, a cache, an output directory, files, and an account."""

    def __init__(self, path, library):
        self.path, self.library = pathlib.Path(path), library
        self.data, self.out, self.cache = (self.path / name for name in ("data", "out", "cache"))
        for directory in (self.path, self.data, self.out, self.cache):
            directory.mkdir(mode=0o700, exist_ok=True)
        self.url, self.account, self.extra = None, ("uploader", "uploader"), {}

    def environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("MEDIACTL_") and "proxy" not in name}
        user, password = self.account
        kept.update(
            HOME=str(self.path), XDG_CACHE_HOME=str(self.cache), XDG_CONFIG_HOME=str(self.path / "config"), LANG="C.UTF-8",
            MEDIACTL_SERVER=self.url, LD_PRELOAD=str(self.library), MEDIACTL_USER=user, MEDIACTL_PASSWORD=password,
        )
        return kept | self.extra

    def run(self, *arguments, limit=LIMIT_SECONDS, text=False, **environment):
        words = [*map(str, arguments), "--data-dir", str(self.data), "--no-input"] + ([] if text else ["--json"])
        process = subprocess.Popen(
            [mediactl(), *words], env=self.environment() | environment, cwd=self.path,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        try:
            output, errors = process.communicate(timeout=limit)
            is_hung = False
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            is_hung = True
        decoded = [part.decode(errors="replace") for part in (output, errors)]
        return Run(arguments, process.returncode, *decoded, is_hung)


def movie(path, number, size):
    """An ISO base media file (ISO/IEC 14496-12 section 4.3) that is unique for this number."""
    content = bytes([0, 0, 0, 24]) + b"ftypisom" + bytes([0, 0, 2, 0]) + b"isomiso2"
    content += random.Random(number).randbytes(size - len(content))
    pathlib.Path(path).write_bytes(content)


def note(text):
    print(text, file=sys.stderr, flush=True)
