"""A hostile server: every request to a sandbox passes through it, and its response can be replaced, lost or delayed."""

import json
import pathlib
import re
import socket
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "real"))

from faultproxy import Peer, closing, field, reset  # noqa: E402

# The request line of each stage of an upload, of a deletion, and of the queries in between.
STAGES = {
    "upload": rb"^POST /api/uploads\.php",
    "tus-options": rb"^OPTIONS /files",
    "tus-create": rb"^POST /files",
    "tus-patch": rb"^PATCH /files",
    "tus-head": rb"^HEAD /files",
    "tus-delete": rb"^DELETE /files",
    "finalize": rb"^POST /api/uploads/finalize",
    "listing": rb"^GET /db/database\.php",
    "media": rb"^HEAD /(audio|video)/",
    "asset": rb"^GET /api/uploads/\d",
    "delete": rb"^POST /db/delete_media_files\.php",
    "health": rb"^GET /db/health\.php",
    "token": rb"^GET /api/upload-token\.php",
}
QUERIES = ("listing", "media", "asset", "tus-head")
NO_BODY = (204, 205, 304)
TOKEN = re.compile(rb'"delete_token"\s*:\s*"([^"]+)"')


def stage_of(line):
    return next((name for name, pattern in STAGES.items() if re.search(pattern, line)), "other")


def respond(status, body=b"", kind="application/json", more=()):
    """The bytes of a complete response, after which the connection is closed."""
    fields = [f"HTTP/1.1 {status} Hostile", f"Content-Type: {kind}", *more, "Connection: close"]
    has_body = status >= 200 and status not in NO_BODY
    if has_body:
        fields.append(f"Content-Length: {len(body)}")
    return "\r\n".join(fields).encode() + b"\r\n\r\n" + (body if has_body else b"")


def status_page(status):
    """A response with a status from a proxy or a script: alternately JSON or HTML, with the corresponding fields."""
    more = []
    if 300 <= status < 400:
        more.append("Location: http://127.0.0.1:9/elsewhere")
    if status in (401, 407):
        more.append('WWW-Authenticate: Basic realm="GigHive Upload"')
    if status in (408, 413, 429, 503):
        more.append("Retry-After: 1")
    if status % 2:
        return respond(status, b"<html><body><h1>Hostile</h1></body></html>", "text/html", more)
    return respond(status, json.dumps({"error": "Hostile", "message": "refused on purpose"}).encode(), more=more)


class Exchange:
    """One received request."""

    def __init__(self, head, body, whole, arrived=None):
        self.head, self.body, self.whole = head, body, whole
        # When the head was read, in seconds since 1970.
        self.arrived = arrived or time.time()
        self.line = head.split(b"\r\n")[0]
        self.stage = stage_of(self.line)


class Rule:
    """How requests of a stage are handled.

    before: a function of the exchange that returns the response without the server; after: the same, once the server
    has responded. Either may return None, which closes the connection."""

    def __init__(self, stage, before=None, after=None, times=None, moments=None):
        self.stage, self.before, self.after, self.left = stage, before, after, times
        # Functions to call at "head", "half", "body", "responded", "inside", "passed".
        self.moments = moments or {}


class Hostile:
    """Listens on loopback in front of a sandbox."""

    def __init__(self, url, *rules):
        host, _, port = url.removeprefix("http://").partition(":")
        self.target, self.rules = (host, int(port)), list(rules)
        # The requests, the tokens in completely sent responses, and the number of open connections.
        self.exchanges, self.tokens, self.active = [], set(), 0
        # When the last response with a token was sent completely (time.monotonic()).
        self.token_sent_at = None
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.listen, daemon=True).start()

    def close(self):
        self.listener.close()

    def listen(self, listener=None):
        while True:
            try:
                connection, _ = (listener or self.listener).accept()
            except OSError:
                return
            with self.lock:
                self.active += 1
            threading.Thread(target=self.served, args=(connection,), daemon=True).start()

    def served(self, connection):
        try:
            self.serve(connection)
        finally:
            with self.lock:
                self.active -= 1

    def wait_until_idle(self, seconds=20):
        """Waits until the server has read and processed the data sent by a client."""
        end = time.monotonic() + seconds
        while self.active and time.monotonic() < end:
            time.sleep(0.01)
        return not self.active

    def rule_of(self, stage):
        with self.lock:
            for rule in self.rules:
                if rule.stage == stage and rule.left != 0:
                    if rule.left is not None:
                        rule.left -= 1
                    return rule
        return None

    def count(self, stage):
        """The number of complete requests of a stage."""
        return sum(each.stage == stage and each.whole for each in self.exchanges)

    def unqueried(self, stage, pause=None):
        """The number of complete requests of a stage that followed another one without a query in between. pause: the
        start and end of an interval, in seconds since 1970; a request before the start may be followed by one after the
        end."""
        repeats, earlier = 0, None
        for each in self.exchanges:
            if each.stage in QUERIES:
                earlier = None
            elif each.stage == stage and each.whole:
                is_settled = pause and earlier and earlier.arrived < pause[0] and each.arrived >= pause[1]
                repeats += earlier is not None and not is_settled
                earlier = each
        return repeats

    def serve(self, connection):
        with connection:
            try:
                client = Peer(connection)
                head = client.head()
                if head:
                    self.exchange(client, head)
            except OSError:
                pass

    def exchange(self, client, head):
        arrived = time.time()
        rule = self.rule_of(stage_of(head.split(b"\r\n")[0]))
        moments = rule.moments if rule else {}
        call(moments, "head")
        if field(head, b"expect").lower() == b"100-continue":
            client.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = int(field(head, b"content-length") or 0)
        chunked = b"chunked" in field(head, b"transfer-encoding").lower()
        body = b""
        for piece in client.chunks() if chunked else client.exactly(length):
            body += piece
            if len(body) * 2 >= length:
                call(moments, "half")
        exchange = Exchange(head, body, chunked or len(body) == length, arrived)
        with self.lock:
            self.exchanges.append(exchange)
        if not exchange.whole:
            return
        call(moments, "body")
        if rule and rule.before:
            self.send(client, rule.before(exchange))
            return
        response = self.forward(head, body)
        call(moments, "responded")
        if rule and rule.after:
            self.send(client, rule.after(exchange))
            return
        cut = response.find(b"\r\n\r\n") + 10
        client.connection.sendall(response[:cut])
        call(moments, "inside")
        client.connection.sendall(response[cut:])
        with self.lock:
            tokens = {token.decode() for token in TOKEN.findall(response)}
            self.tokens |= tokens
            self.token_sent_at = time.monotonic() if tokens else self.token_sent_at
        call(moments, "passed")

    def forward(self, head, body):
        with socket.create_connection(self.target, timeout=60) as server:
            plain = re.sub(rb"(?im)^(expect|connection):[^\r\n]*\r\n", b"", head)
            server.sendall(plain.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1) + body)
            response = closing(server.recv(1 << 16))
            while data := server.recv(1 << 16):
                response += data
        return response

    def send(self, client, response):
        if response is None:
            reset(client.connection)
            return
        client.connection.sendall(response)


def call(moments, name):
    if action := moments.pop(name, None):
        action()


def lose(_):
    """Discards the response."""
    return None
