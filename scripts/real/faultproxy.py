"""An HTTP proxy on loopback that breaks selected exchanges: the server works, the connection fails."""

import re
import socket
import struct
import threading
import time
import urllib.parse

# The effect on an exchange, and what the server has received.
ACTIONS = {
    "refuse": "reset before the server sees anything",
    "reset-body": "reset in the middle of the request body",
    "leave": "closed after the last byte of the request; the server works on",
    "lose": "closed without a response; the server has finished",
    "cut": "closed inside the response; the server has finished",
    "gateway": "502 in place of the response; the server has finished",
    "late": "the response comes late",
    "stopped": "503 in place of the application",
}

PAGE = "<html><body><h1>{0}</h1></body></html>"


def page(status, reason):
    body = PAGE.format(reason).encode()
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


class Peer:
    """A socket that is read by lines and by counts."""

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
        """Pieces of the next bytes; ends early when the other side closes."""
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

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.target = (parts.hostname, parts.port or 80)
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock = threading.Lock()
        self.pattern, self.action, self.left, self.struck = None, None, 0, 0
        threading.Thread(target=self.listen, daemon=True).start()

    def arm(self, pattern, action, times=1):
        """Breaks the next exchanges whose request line matches."""
        with self.lock:
            self.pattern, self.action, self.left, self.struck = re.compile(pattern.encode()), action, times, 0

    def disarm(self):
        with self.lock:
            self.left = 0

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
            self.struck += 1
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
        """One request, with its own connection to the server. False closes the client's connection."""
        action = self.chosen(head.split(b"\r\n")[0])
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
                server.sendall(piece)
                sent += len(piece)
            return self.respond(client, server, action)

    def respond(self, client, server, action):
        if action == "leave":
            client.connection.shutdown(socket.SHUT_RDWR)
            client.connection.close()
        if action is None:
            while data := server.recv(1 << 16):
                client.connection.sendall(data)
            return False
        response = b""
        while data := server.recv(1 << 16):
            response += data
        if action == "cut":
            start = response.find(b"\r\n\r\n") + 4
            client.connection.sendall(response[: start + max(1, (len(response) - start) // 3)])
        elif action == "gateway":
            client.connection.sendall(page(502, "Bad Gateway"))
        elif action == "late":
            time.sleep(self.LATE_SECONDS)
            client.connection.sendall(response)
        return False


def reset(connection):
    """Closes with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
