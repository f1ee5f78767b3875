"""Servers that break one exchange at a selected point: over HTTP/1.1, and over HTTP/2 with hand-written frames."""

import contextlib
import pathlib
import re
import socket
import ssl
import struct
import subprocess

from hostile import Exchange, Hostile, stage_of, TOKEN
from faultproxy import Peer, field, reset
from servers import SetupError

# RFC 9113 section 7, and one undefined code.
ERROR_CODES = {
    "NO_ERROR": 0x0, "PROTOCOL_ERROR": 0x1, "INTERNAL_ERROR": 0x2, "FLOW_CONTROL_ERROR": 0x3, "SETTINGS_TIMEOUT": 0x4,
    "STREAM_CLOSED": 0x5, "FRAME_SIZE_ERROR": 0x6, "REFUSED_STREAM": 0x7, "CANCEL": 0x8, "COMPRESSION_ERROR": 0x9,
    "CONNECT_ERROR": 0xA, "ENHANCE_YOUR_CALM": 0xB, "INADEQUATE_SECURITY": 0xC, "HTTP_1_1_REQUIRED": 0xD, "0xff": 0xFF,
}
# RFC 9113 section 6.
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
END_STREAM, END_HEADERS, ACK, PADDED, PRIORITIZED = 0x1, 0x4, 0x1, 0x8, 0x20
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
LARGEST_WINDOW = (1 << 31) - 1
FRAME_BYTES = 16_384

# The points of an exchange, in order. From "stored" on, the server has processed the request.
POINTS = ("head", "half", "body", "stored", "headers", "inside", "end")


class Broken(Exception):
    """The connection was closed on purpose."""


class Break:
    """Breaks the first exchange of a stage at a point; action: a function of the connection and the stream number."""

    def __init__(self, stage, point, action):
        self.stage, self.point, self.action, self.left = stage, point, action, 1
        self.is_done = False


class Breaking(Hostile):
    """A server over HTTP/1.1 whose rules are breaks."""

    def breaks(self, rule, point, connection, stream=0):
        """Whether the exchange ends at this point."""
        if rule is None or rule.point != point or rule.is_done:
            return False
        rule.is_done = True
        return rule.action(connection, stream)

    def exchange(self, client, head):
        connection = client.connection
        rule = self.rule_of(stage_of(head.split(b"\r\n")[0]))
        self.breaks(rule, "head", connection)
        if field(head, b"expect").lower() == b"100-continue":
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        length = int(field(head, b"content-length") or 0)
        body = b""
        for piece in client.exactly(length):
            body += piece
            if len(body) * 2 >= length:
                self.breaks(rule, "half", connection)
        self.add(Exchange(head, body, len(body) == length))
        if len(body) < length:
            return
        self.breaks(rule, "body", connection)
        response = self.forward(head, body)
        self.breaks(rule, "stored", connection)
        start = response.find(b"\r\n\r\n") + 4
        connection.sendall(response[:start])
        self.breaks(rule, "headers", connection)
        middle = start + (len(response) - start) // 2
        connection.sendall(response[start:middle])
        self.breaks(rule, "inside", connection)
        connection.sendall(response[middle:-1])
        self.breaks(rule, "end", connection)
        connection.sendall(response[-1:])
        self.keep_tokens(response)

    def add(self, exchange):
        with self.lock:
            self.exchanges.append(exchange)

    def keep_tokens(self, response):
        """Adds the tokens of a response that was sent completely."""
        with self.lock:
            self.tokens.update(token.decode() for token in TOKEN.findall(response))

    def serve(self, connection):
        with connection, contextlib.suppress(Broken, OSError, ssl.SSLError):
            client = Peer(connection)
            if head := client.head():
                self.exchange(client, head)


class Http2(Breaking):
    """A server over HTTP/2 and TLS whose rules are breaks. Streams are processed sequentially."""

    def __init__(self, certificate, url, *rules):
        super().__init__(url, *rules)
        self.url = self.url.replace("http:", "https:")
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
        self.context.set_alpn_protocols(["h2"])

    def serve(self, connection):
        with connection, contextlib.suppress(Broken, OSError, ssl.SSLError):
            with self.context.wrap_socket(connection, server_side=True) as secure:
                if secure.selected_alpn_protocol() == "h2":
                    Connection(self, secure).serve()


class Stream:
    """A request that is being received."""

    def __init__(self, fields, rule):
        self.fields, self.rule, self.body, self.is_reset = fields, rule, b"", False
        self.length = int(dict(fields).get("content-length", 0))

    def head(self):
        """The request's head in the form of HTTP/1.1."""
        names = dict(self.fields)
        lines = [f"{names[':method']} {names[':path']} HTTP/1.1", f"Host: {names.get(':authority', 'localhost')}"]
        lines += [f"{name}: {value}" for name, value in self.fields if name[0] != ":" and name != "content-length"]
        lines.append(f"Content-Length: {len(self.body)}")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Connection:
    """The server's side of one HTTP/2 connection."""

    def __init__(self, server, secure):
        self.server, self.secure, self.held = server, secure, b""
        self.decoder, self.streams, self.block = decoder(), {}, b""

    def read(self, count):
        while len(self.held) < count:
            data = self.secure.recv(1 << 16)
            if not data:
                raise Broken
            self.held += data
        data, self.held = self.held[:count], self.held[count:]
        return data

    def send(self, kind, flags=0, stream=0, payload=b""):
        self.secure.sendall(frame(kind, flags, stream, payload))

    def reset(self, stream, code):
        self.send(RST_STREAM, 0, stream, struct.pack(">I", code))
        if stream in self.streams:
            self.streams[stream].is_reset = True

    def close(self, how="fin"):
        """Ends the connection: closed properly with TLS (fin), closed without TLS shutdown (cut), or reset (rst)."""
        if how == "rst":
            reset(self.secure)
        elif how == "fin":
            with contextlib.suppress(OSError):
                self.secure.settimeout(1)
                self.secure.unwrap()
        raise Broken

    def drain(self):
        """Reads until the client closes the connection."""
        self.secure.settimeout(10)
        while self.secure.recv(1 << 16):
            pass
        raise Broken

    def serve(self):
        if self.read(len(PREFACE)) != PREFACE:
            raise Broken
        # INITIAL_WINDOW_SIZE applies to the streams; the connection has a separate window.
        self.send(SETTINGS, payload=struct.pack(">HI", 4, LARGEST_WINDOW))
        self.send(WINDOW_UPDATE, payload=struct.pack(">I", LARGEST_WINDOW - 65_535))
        while True:
            size = self.read(9)
            length, kind, flags = int.from_bytes(size[:3], "big"), size[3], size[4]
            stream = int.from_bytes(size[5:], "big") & LARGEST_WINDOW
            self.frame(kind, flags, stream, self.read(length))

    def frame(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            self.send(SETTINGS, ACK)
        elif kind == PING and not flags & ACK:
            self.send(PING, ACK, 0, payload)
        elif kind in (HEADERS, CONTINUATION):
            self.headers(kind, flags, stream, payload)
        elif kind == DATA and stream in self.streams:
            self.data(self.streams[stream], flags, stream, payload)
        elif kind == GOAWAY:
            raise Broken

    def headers(self, kind, flags, stream, payload):
        if kind == HEADERS:
            pad = payload[0] if flags & PADDED else 0
            start = (1 if flags & PADDED else 0) + (5 if flags & PRIORITIZED else 0)
            self.block, self.is_last = payload[start:len(payload) - pad], bool(flags & END_STREAM)
        else:
            self.block += payload
        if not flags & END_HEADERS:
            return
        fields = [(str(name), str(value)) for name, value in self.decoder.decode(self.block)]
        names = dict(fields)
        request = Stream(fields, self.server.rule_of(stage_of(f"{names[':method']} {names[':path']}".encode())))
        self.streams[stream] = request
        self.server.breaks(request.rule, "head", self, stream)
        if self.is_last:
            self.complete(request, stream)

    def data(self, request, flags, stream, payload):
        pad = payload[0] + 1 if flags & PADDED else 0
        request.body += payload[1:1 + len(payload) - pad] if pad else payload
        if len(request.body) * 2 >= request.length:
            self.server.breaks(request.rule, "half", self, stream)
        if flags & END_STREAM:
            self.complete(request, stream)

    def complete(self, request, stream):
        """Handles a complete request, unless it has been reset."""
        if request.is_reset:
            return
        head, server = request.head(), self.server
        server.add(Exchange(head, request.body, True))

        def is_over(point):
            server.breaks(request.rule, point, self, stream)
            return request.is_reset

        if is_over("body"):
            return
        response = server.forward(head, request.body)
        if is_over("stored"):
            return
        start, _, body = response.partition(b"\r\n\r\n")
        if b"chunked" in field(start + b"\r\n", b"transfer-encoding").lower():
            body = unchunked(body)
        has_body = bool(body) and not head.startswith(b"HEAD")
        self.send(HEADERS, END_HEADERS | (0 if has_body else END_STREAM), stream, encoded(start, body))
        if is_over("headers"):
            return
        if has_body:
            middle = len(body) // 2
            self.send_data(stream, body[:middle])
            if is_over("inside"):
                return
            self.send_data(stream, body[middle:])
        # Only END_STREAM is missing, and Content-Length shows that the body is complete.
        server.keep_tokens(body)
        if not is_over("end") and has_body:
            self.send(DATA, END_STREAM, stream)

    def send_data(self, stream, body):
        for place in range(0, len(body), FRAME_BYTES):
            self.send(DATA, 0, stream, body[place:place + FRAME_BYTES])


def frame(kind, flags, stream, payload):
    """RFC 9113 section 4.1."""
    return len(payload).to_bytes(3, "big") + struct.pack(">BBI", kind, flags, stream) + payload


def decoder():
    """A decoder of header blocks. The client uses Huffman codes and the dynamic table from its first request."""
    try:
        import hpack
    except ImportError:
        raise SetupError(
            "the Python package hpack is missing; run scripts/setup.sh test, and start this with .build/venv/bin/python"
        ) from None
    return hpack.Decoder()


def literal(text):
    """A string literal without Huffman coding, RFC 7541 section 5.2, with the integer of section 5.1."""
    if len(text) < 127:
        return bytes([len(text)]) + text
    rest, size = len(text) - 127, b"\x7f"
    while rest >= 128:
        size, rest = size + bytes([rest % 128 + 128]), rest // 128
    return size + bytes([rest]) + text


def encoded(head, body):
    """The header block of a response: literal fields, never indexed (RFC 7541 section 6.2.3)."""
    first, *lines = head.split(b"\r\n")
    fields = [(b":status", first.split(b" ")[1])]
    for line in lines:
        name, _, value = line.partition(b":")
        if name.lower() not in (b"connection", b"transfer-encoding", b"content-length", b"keep-alive"):
            fields.append((name.lower(), value.strip()))
    length = re.search(rb"(?im)^content-length:[ \t]*(\d+)", head)
    if body or length:
        fields.append((b"content-length", length.group(1) if length else str(len(body)).encode()))
    return b"".join(b"\x10" + literal(name) + literal(value) for name, value in fields)


def unchunked(body):
    found = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        count = int(size.split(b";")[0], 16)
        found, body = found + body[:count], body[count + 2:]
        if count == 0:
            break
    return found


def make_certificate(directory):
    """A self-signed certificate for 127.0.0.1."""
    directory = pathlib.Path(directory)
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", directory / "key.pem", "-out", directory / "cert.pem"],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    return directory
