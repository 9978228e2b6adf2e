#!/usr/bin/env python3
"""A placeholder for a program that no package registry here has: answers health checks, and does nothing else.

Listens on the TCP ports of PLACEHOLDER_PORTS and answers every request with status 200 and its name, or with what
PLACEHOLDER_ANSWERS, a document of JSON, has for the request's path, a text as it is; HOSTNAME in it stands for the
pod's name.
"""

import json
import os
import signal
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NAME = os.environ["PLACEHOLDER_NAME"]
ANSWERS = json.loads(os.environ.get("PLACEHOLDER_ANSWERS", "{}").replace("HOSTNAME", socket.gethostname()))


class Handler(BaseHTTPRequestHandler):
    """Answers every request of a path in the same way."""

    def do_GET(self) -> None:
        answer = ANSWERS.get(self.path.partition("?")[0])
        answer = f"placeholder for {NAME}\n" if answer is None else answer
        body = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name that http.server passes
        """Logs nothing: a probe asks every few seconds."""


def main() -> None:
    """Listens until the container is asked to end."""
    print(f"placeholder for {NAME}: answers health checks only", flush=True)
    for port in os.environ.get("PLACEHOLDER_PORTS", "").split():
        server = ThreadingHTTPServer(("", int(port)), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    sys.exit(0)


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
main()
