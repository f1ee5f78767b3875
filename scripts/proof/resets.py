"""Streams and connections that are reset at every point of an exchange, over HTTP/2 and HTTP/1.1."""

import functools
import socket
import struct
import tempfile
import threading

import breaking
from breaking import DATA, END_HEADERS, ERROR_CODES, GOAWAY, HEADERS, PING, POINTS, PUSH_PROMISE, SETTINGS, WINDOW_UPDATE
from breaking import Break, Breaking, Broken, Http2, frame
from faultproxy import reset
from trial import SETTLE_OPTIONS, Facts, Trial

# The transport of the upload, the stage whose exchange is broken, and the points of that exchange.
TARGETS = [
    ("multipart", "upload", POINTS),
    ("tus", "tus-create", ("head", "stored", "headers")),
    ("tus", "tus-patch", ("head", "half", "body", "stored", "headers")),
    ("tus", "finalize", ("body", "stored", "headers", "inside", "end")),
    ("multipart", "delete", ("body", "stored", "headers", "inside", "end")),
]
# Actions that declare that the request was not processed and may be sent again (RFC 9113 sections 6.8 and 8.7).
NOT_PROCESSED = {"RST_STREAM REFUSED_STREAM", "GOAWAY below the stream"}
# Actions that do not affect the exchange.
HARMLESS = {"GOAWAY of the last stream", "unknown frame"}


def reset_stream(code, connection, stream):
    connection.reset(stream, code)


def go_away(last, code, is_closed, connection, stream):
    connection.send(GOAWAY, 0, 0, struct.pack(">II", stream if last else 0, code))
    if is_closed:
        connection.close()
    elif not last:
        connection.drain()


def cut_frame(payload, connection, stream):
    connection.secure.sendall(payload)
    connection.close("cut")


def close(how, connection, stream):
    connection.close(how)


def send_wrong(kind, flags, payload, is_own, connection, stream):
    """Sends an invalid frame: the client must close the stream or the connection."""
    connection.send(kind, flags, stream if is_own else 0, payload)
    connection.drain()


def send_bytes(data, connection, stream):
    connection.secure.sendall(data)
    connection.drain()


def send_harmless(kind, payload, offset, connection, stream):
    connection.send(kind, 0, stream + offset, payload)


def bind(function, *values):
    return functools.partial(function, *values)


HTTP2_ACTIONS = {f"RST_STREAM {name}": bind(reset_stream, code) for name, code in ERROR_CODES.items()}
HTTP2_ACTIONS |= {
    "GOAWAY of the last stream": bind(go_away, True, 0, False),
    "GOAWAY of the last stream, closed": bind(go_away, True, 0, True),
    "GOAWAY ENHANCE_YOUR_CALM, closed": bind(go_away, True, 0xB, True),
    "GOAWAY INTERNAL_ERROR, closed": bind(go_away, True, 0x2, True),
    "GOAWAY below the stream": bind(go_away, False, 0, False),
    "GOAWAY PROTOCOL_ERROR below the stream": bind(go_away, False, 0x1, True),
    "closed": bind(close, "fin"),
    "closed without the end of TLS": bind(close, "cut"),
    "reset": bind(close, "rst"),
    "truncated in the head of a frame": bind(cut_frame, b"\0\0\x10\0"),
    "truncated in the payload of a frame": bind(cut_frame, frame(DATA, 0, 1, b"x" * 100)[:30]),
    "DATA on stream 0": bind(send_wrong, DATA, 0, b"x", False),
    "HEADERS that cannot be decoded": bind(send_wrong, HEADERS, END_HEADERS, b"\x80\xff\xff\xff\xff\xff", True),
    "WINDOW_UPDATE of 0": bind(send_wrong, WINDOW_UPDATE, 0, bytes(4), True),
    "WINDOW_UPDATE beyond the largest": bind(send_wrong, WINDOW_UPDATE, 0, b"\x7f\xff\xff\xff", False),
    "SETTINGS of 5 bytes": bind(send_wrong, SETTINGS, 0, bytes(5), False),
    "PING of 4 bytes": bind(send_wrong, PING, 0, bytes(4), False),
    "PUSH_PROMISE": bind(send_wrong, PUSH_PROMISE, END_HEADERS, struct.pack(">I", 2) + b"\x82", True),
    "a frame of 16 MiB": bind(send_bytes, b"\xff\xff\xff\0\0\0\0\0\1" + b"x" * 1000),
    "HTTP/1.1": bind(send_bytes, b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"),
    "unknown frame": bind(send_harmless, 0xBE, b"\0" * 8, 0),
}


def end_plain(connection, stream):
    connection.shutdown(socket.SHUT_RDWR)
    connection.close()
    raise Broken


def reset_plain(connection, stream):
    reset(connection)
    raise Broken


def garbage(connection, stream):
    connection.sendall(b"\x00\xff\r\n\r\n" * 100)
    raise Broken


HTTP1_ACTIONS = {"closed": end_plain, "reset": reset_plain, "garbage": garbage}


def rows():
    """Every row, as a function of the sandbox and a seed. Raises SetupError if a package is missing."""
    breaking.decoder()
    for version, actions in (("HTTP/2", HTTP2_ACTIONS), ("HTTP/1.1", HTTP1_ACTIONS)):
        for transport, stage, points in TARGETS:
            for point in points:
                for action in actions:
                    yield f"{version}: {action} at {stage}, {point}", run_row, (version, transport, stage, point, action)


class Certificate:
    """One certificate for all rows, created for the first row that needs it and removed with the process."""

    lock, directory, path = threading.Lock(), None, None

    @classmethod
    def get(cls):
        with cls.lock:
            if cls.path is None:
                cls.directory = tempfile.TemporaryDirectory(prefix="mediactl-attack-")
                cls.path = breaking.make_certificate(cls.directory.name)
            return cls.path


def run_row(sandbox, seed, name, version, transport, stage, point, action):
    is_http2 = version == "HTTP/2"
    rule = Break(stage, point, (HTTP2_ACTIONS if is_http2 else HTTP1_ACTIONS)[action])
    front = functools.partial(Http2, Certificate.get()) if is_http2 else Breaking
    options = ("--http2", "--cacert", str(Certificate.get() / "cert.pem")) if is_http2 else ()
    trial = Trial(name, sandbox, seed, rule, front=front, options=options)
    if action in NOT_PROCESSED:
        # The server declares that it has not processed a request that it has processed, so the request may be sent
        # again.
        trial.is_denied = POINTS.index(point) >= POINTS.index("stored")
        trial.retryable = {"upload", "finalize"}
    # A TCP reset discards bytes that the client has received but not yet read.
    trial.may_lose = action == "reset"
    file = trial.file(200_000)
    run = trial.upload(file, transport=transport)
    trial.expect("the server is still busy", trial.proxy.wait_until_idle())
    if stage == "delete":
        deletion(trial, run, file)
    else:
        trial.check(run, file)
        is_whole = action in HARMLESS
        trial.expect(f"exit code {run.code}", not is_whole or run.code == 0)
        # The user's next step.
        trial.age_journal()
        trial.command("uploads", "status", *SETTLE_OPTIONS)
        again = trial.upload(file, transport=transport)
        truth = trial.check(again, file)
        trial.expect("the file is not on the server in the end", truth.has(file, trial.event))
        trial.expect("stored twice", len(truth.rows(file, trial.event)) < 2)
    trial.expect("the exchange was not broken", rule.is_done)
    return trial.finish(file)


def deletion(trial, uploaded, file):
    """A deletion whose exchange is broken, followed by the same command."""
    number = next((item.number for item in uploaded.items), None)
    if uploaded.code != 0 or number is None:
        trial.unmet.append("the file was not uploaded")
        return
    for _ in range(2):
        run = trial.command("uploads", "delete", str(number), "--yes")
        trial.proxy.wait_until_idle()
        is_there = Facts(trial.sandbox).has(file, trial.event)
        states = {record.get("state") for record in run.records if record.get("type") == "item"}
        if is_there and ("deleted" in states or run.code == 0):
            trial.wrong.append(f"{', '.join(map(str, states))}, exit {run.code}, and the file is on the server")
        if is_there and not trial.numbers():
            trial.wrong.append("the token is missing, and the file is on the server")
    trial.expect("the file is on the server in the end", not is_there)
    trial.removed.add(number)
