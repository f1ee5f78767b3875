"""Responds to POST /werkzeug and POST /python-multipart with that parser's result for the body, as JSON.

Prints "listening on URL" when ready. The response has the shape of that of dump.php.
"""

import hashlib
import io
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import python_multipart
from werkzeug.formparser import parse_form_data


def with_werkzeug(content_type, body):
    environ = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "CONTENT_TYPE": content_type,
               "REQUEST_METHOD": "POST"}
    # Fields of some kilobytes are ordinary here; werkzeug's limit of 500 kB for all of them applies.
    _, form, files = parse_form_data(environ, silent=False)
    return {
        "fields": [[name, value] for name, value in form.items(multi=True)],
        "files": [describe(name, file.filename, file.content_type, file.stream)
                  for name, file in files.items(multi=True)],
    }


def with_python_multipart(content_type, body):
    fields, files = [], []

    def on_file(file):
        file.file_object.seek(0)
        files.append(describe(
            text(file.field_name), text(file.file_name), text(file.content_type), file.file_object))

    headers = {"Content-Type": content_type.encode(), "Content-Length": str(len(body)).encode()}
    python_multipart.parse_form(
        headers, io.BytesIO(body),
        lambda field: fields.append([field.field_name.decode(), (field.value or b"").decode()]), on_file)
    return {"fields": fields, "files": files}


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def describe(field, name, content_type, stream):
    content = stream.read()
    return {"field": field, "name": name, "content_type": content_type, "size": len(content),
            "sha256": hashlib.sha256(content).hexdigest()}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    parsers = {"/werkzeug": with_werkzeug, "/python-multipart": with_python_multipart}

    def do_POST(self):
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        try:
            answer = {**self.parsers[self.path](self.headers["Content-Type"], body), "content_length": length}
            self.answer(200, answer)
        except Exception as error:  # any error from a parser is its result
            self.answer(400, {"error": f"{type(error).__name__}: {error}"})

    def answer(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


class Server(ThreadingHTTPServer):
    request_queue_size = 128  # the tests of a suite all connect at once


server = Server(("127.0.0.1", 0), Handler)
print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
