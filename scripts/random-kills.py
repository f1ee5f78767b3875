#!/usr/bin/env python3
"""Kills mediactl with SIGKILL at random times, lets it recover, and checks that nothing was lost.

    scripts/random-kills.py [KILLS] [multipart|tus]        (default 200 multipart)

Each round uploads a separate file to a slow sandbox and kills the upload at a random time, or when the first bytes of
the response have arrived. Then `uploads status` resolves the journal, and `upload` uploads the file again if required.
In the end, the server must have exactly one object of the file with the right bytes, and this machine must have its
delete token, which must be valid; or the upload must have been reported as token_lost. Over tus, the upload is resumed
alternately with `uploads resume --all` and with the same command, and at most the interrupted chunk may be sent again.
Environment: MEDIACTL_BINARY and MEDIACTL_SANDBOX are the programs (default: dist/mediactl if it exists, otherwise the
debug build); MEDIACTL_KILL_SEED repeats a run.
"""

import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from base64 import b64encode

ROOT = pathlib.Path(__file__).resolve().parent.parent
JOBS = 4
TRANSPORT = "multipart"
# Larger than the sockets' buffers, so that a kill can interrupt the body.
FILE_BYTES = 8_000_000
FAULTS = {
    "multipart": ["upload:slow=16000000", "upload:delay-response=0.2"],
    "tus": ["tus-patch:slow=8000000", "finalize:delay-response=0.2"],
}
# The time that mediactl waits after a lost response before it assumes that the server has finished.
PROCESSING_SECONDS = 330

# States of a connection (Linux, include/net/tcp_states.h).
ESTABLISHED, CLOSE_WAIT = "01", "08"

HELD_TOKEN = re.compile(rb'"delete_token":"[0-9a-f]{64}"')


class Failure(Exception):
    pass


def program(variable, *candidates):
    named = os.environ.get(variable)
    if named:
        return named
    return next((str(path) for path in candidates if path.exists()), str(candidates[-1]))


MEDIACTL = program("MEDIACTL_BINARY", ROOT / "dist/mediactl", ROOT / ".build/debug/mediactl")
SANDBOX = program("MEDIACTL_SANDBOX", ROOT / ".build/debug/mediactl-sandbox")


class Sandbox:
    """A server on a separate port."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="mediactl-kill-server-")
        faults = [word for fault in FAULTS[TRANSPORT] for word in ("--fault", fault)]
        self.process = subprocess.Popen(
            [SANDBOX, "--listen", "127.0.0.1:0", "--data", self.directory.name, *faults], stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line.startswith("listening on "):
            raise Failure("the sandbox did not start")
        self.url = line.split()[-1]

    def get(self, path):
        request = urllib.request.Request(self.url + path)
        request.add_header("Authorization", "Basic " + b64encode(b"viewer:viewer").decode())
        with urllib.request.urlopen(request) as response:
            return response.read()

    def requests(self):
        return json.loads(self.get("/__sandbox/requests"))

    def chunks(self):
        """Body bytes of the PATCH requests so far."""
        return [request["body_bytes_read"] for request in self.requests() if request["method"] == "PATCH"]

    def connections(self):
        """Client connections, open or closed by the client, that the server has not closed (proc(5), /proc/net/tcp)."""
        local = f":{int(self.url.rsplit(':', 1)[1]):04X}"
        lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
        fields = [line.split() for line in lines]
        return [field for field in fields if field[1].endswith(local) and field[3] in (ESTABLISHED, CLOSE_WAIT)]

    def wait_until_processed(self):
        """Waits until the server has read the buffered data of a killed client and has stored or discarded the file."""
        deadline = time.monotonic() + 120
        while self.connections() or not all(request["is_over"] for request in self.requests()):
            if time.monotonic() > deadline:
                raise Failure("the server is still busy with a disconnected client")
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.directory.cleanup()

    def objects(self, digest):
        """IDs of the stored files with this digest, after checking that each is served with the right bytes."""
        ids, page, pages = [], 1, 1
        while page <= pages:
            listing = json.loads(self.get(f"/db/database.php?format=json&view=librarian&page={page}"))
            pages = listing.get("pagination", {}).get("pageCount", 1)
            ids += [entry["id"] for entry in listing["entries"] if digest in json.dumps(entry)]
            page += 1
        if ids and hashlib.sha256(self.get(f"/video/{digest}.mp4")).hexdigest() != digest:
            raise Failure("the server has other bytes")
        return ids


class Client:
    """mediactl with a separate home directory."""

    def __init__(self, home, server):
        self.home = home
        self.server = server
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": home, "LANG": "C.UTF-8", "MEDIACTL_PASSWORD": "uploader"}
        self.environment |= {f"XDG_{name}_HOME": f"{home}/{name.lower()}" for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.data = pathlib.Path(home, "data/mediactl")

    def upload(self, path):
        """The command that uploads a file."""
        transport = ["--transport", TRANSPORT] + (["--chunk-size", "512K"] if TRANSPORT == "tus" else [])
        return ["upload", str(path), *transport]

    def start(self, *arguments):
        login = [] if arguments[:2] == ("uploads", "list") else ["--user", "uploader", "--server", self.server]
        return subprocess.Popen(
            [MEDIACTL, *arguments, *login, "--json"],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def run(self, *arguments):
        process = self.start(*arguments)
        output, errors = process.communicate(timeout=120)
        if process.returncode < 0:
            raise Failure(f"{arguments[0]} was terminated by signal {-process.returncode}: {errors}")
        records = [json.loads(line) for line in output.splitlines()]
        if not records or records[-1]["type"] not in ("summary", "error"):
            raise Failure(f"{arguments}: the last record is missing: {output}{errors}")
        return [record for record in records if record["type"] == "item"]

    def journal(self):
        """The states in the journal; the store is not changed."""
        if not (self.data / "tokens.sqlite").exists():
            return []
        with sqlite3.connect(self.data / "tokens.sqlite", timeout=30) as store:
            states = [state for (state,) in store.execute("SELECT state FROM uploads ORDER BY created_at")]
        store.close()
        return states

    def age_journal(self):
        """Skips the processing time. The caller must ensure that the server has finished."""
        if not (self.data / "tokens.sqlite").exists():
            return
        with sqlite3.connect(self.data / "tokens.sqlite", timeout=30) as store:
            (column_maximum,) = store.execute("SELECT max(updated_at) FROM uploads").fetchone()
            if column_maximum is not None:
                unit = 1000 if column_maximum > 10**11 else 1
                store.execute("UPDATE uploads SET updated_at = updated_at - ?", ((PROCESSING_SECONDS + 1) * unit,))
        store.close()


def brief(items):
    return [(item["state"], item["file_id"], item["error"] and item["error"]["message"]) for item in items]


def make_movie(path, number):
    """An ISO base media file (ISO/IEC 14496-12 section 4.3) that is unique for this number."""
    content = bytes([0, 0, 0, 24]) + b"ftypisom" + bytes([0, 0, 2, 0]) + b"isomiso2"
    content += random.Random(number).randbytes(FILE_BYTES - len(content))
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def wait_for_response(process, data):
    """Returns when the rescue log has a response, or the process has exited."""
    while process.poll() is None:
        for path in data.glob("rescue-*"):
            try:
                with path.open("rb") as file:
                    if b"\nstatus " in file.read(8192):
                        return
            except FileNotFoundError:
                pass
        time.sleep(0.0005)


def one_kill(number, life):
    """Kills an upload after `life` seconds, every fourth one when its response arrives; returns its state then."""
    with Sandbox() as sandbox, tempfile.TemporaryDirectory(prefix="mediactl-kill-") as home:
        client = Client(home, sandbox.url)
        path = pathlib.Path(home, "clip.mp4")
        digest = make_movie(path, number)

        victim = client.start(*client.upload(path))
        if number % 4 == 3:
            wait_for_response(victim, client.data)
        else:
            try:
                victim.wait(timeout=life)
            except subprocess.TimeoutExpired:
                pass
        victim.kill()
        output = victim.communicate()[0]
        sandbox.wait_until_processed()
        caught = client.journal()
        if '"state":"done"' in output and caught != ["done"]:
            raise Failure(f"done was reported, but the journal has {caught}")
        rescued = any(HELD_TOKEN.search(path.read_bytes()) for path in client.data.glob("rescue-*"))

        client.age_journal()
        resolved = []
        if caught and TRANSPORT == "multipart":
            resolved = client.run("uploads", "status")
        elif caught and number % 2:
            resolved = client.run("uploads", "resume", "--all")
        after = client.journal()
        again = client.run(*client.upload(path))
        if [item["state"] for item in again] not in (["done"], ["duplicate"], ["token_lost"]):
            raise Failure(f"resolved as {brief(resolved)}, then {brief(again)}")

        lost = "token_lost" in client.journal()
        ids = sandbox.objects(digest)
        if len(ids) != 1:
            raise Failure(f"the server has {ids}")
        chunks = sandbox.chunks()
        if chunks and sum(chunks) - FILE_BYTES > max(chunks):
            raise Failure(f"sent more than one chunk again: {chunks}")
        left = [str(file) for pattern in ("rescue-*", "spool-*") for file in client.data.glob(pattern)]
        if left:
            raise Failure(f"left behind: {left}")
        listed = [item["file_id"] for item in client.run("uploads", "list")]
        if lost:
            if rescued:
                raise Failure("token_lost was reported for a token in the rescue log")
            if listed:
                raise Failure("token_lost was reported, but a token is stored")
        elif listed != ids:
            raise Failure(f"no token of {ids}: listed {listed}, journal {after}, then {brief(again)}")
        else:
            deleted = client.run("uploads", "delete", str(ids[0]), "--yes")
            if [item["state"] for item in deleted] != ["deleted"] or sandbox.objects(digest):
                raise Failure(f"the token does not work: {brief(deleted)}")

        if not caught:
            return "before the intent row: uploaded again"
        if caught == ["done"]:
            return "after the commit: token kept"
        if lost:
            return "response never read: token_lost reported"
        if after == ["done"]:
            return "in the rescue log: token adopted"
        if TRANSPORT == "tus":
            return f"{caught[0]}: resumed"
        return f"{caught[0]}, not on the server: uploaded again"


def whole_life():
    """The duration of an undisturbed upload, with as many others in parallel as later."""

    def one(number):
        with Sandbox() as sandbox, tempfile.TemporaryDirectory(prefix="mediactl-kill-") as home:
            path = pathlib.Path(home, "clip.mp4")
            make_movie(path, 10**6 + number)
            client = Client(home, sandbox.url)
            began = time.monotonic()
            client.run(*client.upload(path))
            return time.monotonic() - began

    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        return sum(pool.map(one, range(1, JOBS + 1))) / JOBS


def moments(seed, kills, life):
    """Half of the kills are at any time, and the other half are around the response and its commit, where a token could
    be lost. Over tus, three quarters are at any time, so that chunks are interrupted."""
    chance = random.Random(seed)
    late = 2 if TRANSPORT == "multipart" else 4
    return [chance.uniform(0 if number % late else 0.8 * life, 1.1 * life) for number in range(kills)]


def main():
    global TRANSPORT
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    TRANSPORT = sys.argv[2] if len(sys.argv) > 2 else TRANSPORT
    if TRANSPORT not in FAULTS:
        sys.exit(__doc__)
    seed = int(os.environ.get("MEDIACTL_KILL_SEED", random.randrange(10**6)))
    print(f"random kills: {kills} of {MEDIACTL} over {TRANSPORT}, seed {seed}", flush=True)
    ends, failures, lock = collections.Counter(), [], threading.Lock()
    lives = moments(seed, kills, whole_life())
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        rounds = {pool.submit(one_kill, n, life): (n, life) for n, life in enumerate(lives)}
        for done in concurrent.futures.as_completed(rounds):
            try:
                with lock:
                    ends[done.result()] += 1
            except Exception as problem:
                number, life = rounds[done]
                failures.append(f"kill {number} after {life:.3f} s: {type(problem).__name__} {problem}")
    for end, count in ends.most_common():
        print(f"{count:5}  {end}")
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"random kills: {kills - len(failures)} of {kills} passed")
    return 1 if failures or sum(ends.values()) != kills else 0


if __name__ == "__main__":
    sys.exit(main())
