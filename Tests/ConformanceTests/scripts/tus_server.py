"""tuspyserver, a third-party tus server, below /files/. Stores uploads in the specified directory.

Prints "listening on URL" when it accepts connections.
"""

import socket
import sys

import fastapi
import uvicorn
from tuspyserver import create_tus_router

directory, largest = sys.argv[1], int(sys.argv[2])
application = fastapi.FastAPI()
application.include_router(create_tus_router(files_dir=directory, max_size=largest, prefix="files"))

listener = socket.create_server(("127.0.0.1", 0))
print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
uvicorn.Server(uvicorn.Config(application, log_level="error")).run(sockets=[listener])
