"""An HTTP proxy on loopback that breaks selected exchanges: the server processes them, but the connection fails."""

import re
import socket
import struct
import threading
import time
import urllib.parse

# The effect on an exchange, and the data received by the server.
ACTIONS = {
    "refuse": "reset before the server sees anything",
    "reset-body": "reset in the middle of the request body",
    "leave": "closed after the last byte of the request; the server continues",
    "lose": "closed without a response; the server has finished",
    "cut": "closed inside the response; the server has finished",
    "gateway": "502 in place of the response; the server has finished",
    "late": "the response comes late",
    "stopped": "503 in place of the application",
}

# The ways in which a connection breaks in the middle of a request body.
CUTS = {
    "fin": "closed",
    "rst": "reset",
    "half": "half-closed towards the server",
    "stall": "silent",
}

PAGE = "<html><body><h1>{0}</h1></body></html>"


def page(status, reason):
    body = PAGE.format(reason).encode()
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


class Peer:
    """A socket that is read by lines and by byte counts."""

    def __init__(self, connection):
        self.connection, self.held = connection, b""

    def fill(self):
        data = self.connection.recv(1 << 16)
        self.held += data
        return bool(data)

    def head(self):
        while b"\r\n\r\n" not in self.held:
            if not self.fill():
                return None
        head, self.held = self.held.split(b"\r\n\r\n", 1)
        return head + b"\r\n\r\n"

    def exactly(self, count):
        """Yields the next bytes in pieces; ends early if the other side closes."""
        while count > 0 and (self.held or self.fill()):
            piece, self.held = self.held[:count], self.held[count:]
            count -= len(piece)
            yield piece

    def chunks(self):
        """The chunked body as received."""
        while True:
            while b"\r\n" not in self.held:
                if not self.fill():
                    return
            line, self.held = self.held.split(b"\r\n", 1)
            yield line + b"\r\n"
            size = int(line.split(b";")[0], 16)
            yield from self.exactly(size + 2)
            if size == 0:
                return


def field(head, name):
    found = re.search(rb"(?im)^" + name + rb":[ \t]*([^\r\n]*)", head)
    return found.group(1).strip() if found else b""


class FaultProxy:
    """Listens on a separate port; `arm` selects which of the next exchanges break."""

    LATE_SECONDS = 3.0
    # The server gives up on a silent body after 60 seconds.
    STALL_SECONDS = 75.0

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.target = (parts.hostname, parts.port or 80)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock = threading.Lock()
        self.pattern, self.action, self.left, self.injected = None, None, 0, 0
        self.cut, self.passed, self.watchers = None, 0, []
        threading.Thread(target=self.listen, daemon=True).start()

    def arm(self, pattern, action, times=1):
        """Breaks the next exchanges whose request line matches."""
        with self.lock:
            self.pattern, self.action, self.left, self.injected = re.compile(pattern.encode()), action, times, 0

    def arm_cut(self, pattern, position, kind):
        """Breaks the connection once, after this many body bytes in all matching requests together."""
        with self.lock:
            self.cut, self.passed, self.injected = (re.compile(pattern.encode()), position, kind), 0, 0

    def watch(self, pattern, moment, call, number=1, after=0):
        """Calls a function in one of the next matching exchanges, selected by its number: at its "request", in its
        "body" after this many bytes, at its "response", or after it has "passed"."""
        with self.lock:
            self.watchers.append([re.compile(pattern.encode()), moment, call, number, after])

    def disarm(self):
        with self.lock:
            self.left, self.cut, self.watchers = 0, None, []

    def watchers_of(self, line):
        """The watchers of this exchange, by their moment."""
        with self.lock:
            found = {}
            for watcher in self.watchers:
                if watcher[0].search(line):
                    watcher[3] -= 1
                    if watcher[3] == 0:
                        found[watcher[1]] = watcher
            return found

    def cut_of(self, line):
        with self.lock:
            return self.cut if self.cut and self.cut[0].search(line) else None

    def share_before_cut(self, cut, count):
        """The number of the next bytes to pass; all of them unless the cut is within them."""
        with self.lock:
            left = cut[1] - self.passed
            if self.cut is not cut or count < left:
                self.passed += count
                return count
            self.cut, self.injected = None, self.injected + 1
            return left

    def listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def stop(self):
        self.listener.close()

    def chosen(self, line):
        with self.lock:
            if self.left == 0 or not self.pattern.search(line):
                return None
            self.left -= 1
            self.injected += 1
            return self.action

    def serve(self, connection):
        with connection:
            try:
                client = Peer(connection)
                while (head := client.head()) and self.exchange(client, head):
                    pass
            except OSError:
                pass

    def exchange(self, client, head):
        """One request, with a separate connection to the server. False closes the client's connection."""
        line = head.split(b"\r\n")[0]
        action, cut, watchers = self.chosen(line), self.cut_of(line), self.watchers_of(line)
        call(watchers, "request")
        if action == "refuse":
            reset(client.connection)
            return False
        if field(head, b"expect").lower() == b"100-continue":
            client.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = int(field(head, b"content-length") or 0)
        chunked = b"chunked" in field(head, b"transfer-encoding").lower()
        body = client.chunks() if chunked else client.exactly(length)
        if action == "stopped":
            for _ in body:
                pass
            client.connection.sendall(page(503, "Service Unavailable"))
            return False
        with socket.create_connection(self.target, timeout=120) as server:
            forwarded = re.sub(rb"(?im)^(expect|connection):[^\r\n]*\r\n", b"", head)
            server.sendall(forwarded.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1))
            sent, half = 0, max(1, length // 2)
            for piece in body:
                if action == "reset-body" and sent + len(piece) >= half:
                    server.sendall(piece[: half - sent])
                    reset(client.connection)
                    reset(server)
                    return False
                share = self.share_before_cut(cut, len(piece)) if cut else len(piece)
                server.sendall(piece[:share])
                sent += len(piece)
                if share < len(piece) or cut and self.cut is not cut:
                    return self.broken(client, server, cut[2])
                if "body" in watchers and sent >= watchers["body"][4]:
                    call(watchers, "body")
            if sent < length and not chunked:
                # The client has disconnected, which the server detects.
                return False
            return self.respond(client, server, action, watchers)

    def broken(self, client, server, kind):
        """Ends an exchange in the middle of its body."""
        if kind == "rst":
            reset(client.connection)
            reset(server)
        elif kind == "half":
            server.shutdown(socket.SHUT_WR)
            self.respond(client, server, None, {})
        elif kind == "stall":
            server.settimeout(self.STALL_SECONDS)
            self.respond(client, server, None, {})
        return False

    def respond(self, client, server, action, watchers):
        if action == "leave":
            client.connection.shutdown(socket.SHUT_RDWR)
            client.connection.close()
        if action is None and not watchers:
            data = closing(server.recv(1 << 16))
            while data:
                client.connection.sendall(data)
                data = server.recv(1 << 16)
            return False
        response = closing(server.recv(1 << 16))
        while data := server.recv(1 << 16):
            response += data
        call(watchers, "response")
        if action is None:
            client.connection.sendall(response)
            call(watchers, "passed")
        if action == "cut":
            start = response.find(b"\r\n\r\n") + 4
            client.connection.sendall(response[: start + max(1, (len(response) - start) // 3)])
        elif action == "gateway":
            client.connection.sendall(page(502, "Bad Gateway"))
        elif action == "late":
            time.sleep(self.LATE_SECONDS)
            client.connection.sendall(response)
        return False


def closing(response):
    """The start of a response, with a header announcing that the connection will be closed."""
    if not response or field(response.split(b"\r\n\r\n")[0], b"connection"):
        return response
    return response.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


def call(watchers, moment):
    """Calls a watcher's function once, at its moment."""
    if watcher := watchers.pop(moment, None):
        watcher[2]()


def reset(connection):
    """Closes with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
