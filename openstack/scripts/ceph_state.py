"""Asks Ceph's daemons for their state through their admin sockets. Exits with 1 unless each answer is accepted.

Arguments: a command such as mon_status, a pattern of sockets in which $POD_NAME is replaced, and the accepted states;
without states, any answer. `ceph daemon` asks the same, and loads Ceph's whole command line for each question.

With `serve ADDRESS PORT` before them, asks whenever Prometheus does, and answers whether the state is accepted.
"""

import glob
import json
import os
import socket
import sys

TIMEOUT = 5


def answer(path: str, command: str) -> dict[str, object]:
    """Returns a daemon's answer: four bytes with its length, then JSON. Raises OSError or ValueError if none comes."""
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.settimeout(TIMEOUT)
        daemon.connect(path)
        daemon.sendall(json.dumps({"prefix": command, "format": "json"}).encode() + b"\0")
        with daemon.makefile("rb") as stream:
            length = int.from_bytes(stream.read(4), "big")
            return json.loads(stream.read(length))


def accepted(command: str, pattern: str, *states: str) -> bool:
    """Whether a socket exists, and the answer on each has one of the states."""
    paths = glob.glob(os.path.expandvars(pattern))  # noqa: PTH207 - pathlib takes longer to load than the rest
    found = [answer(path, command).get("state") for path in paths]
    return bool(found) and all(not states or each in states for each in found)


def serve(address: str, port: str, *question: str) -> None:
    """Answers Prometheus for good: 1 if the daemon's state is accepted, 0 if not, or if the daemon does not answer."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer  # noqa: PLC0415 - a probe does not need it

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                takes_part = accepted(*question)
            except (OSError, ValueError):
                takes_part = False
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            metric = f"# TYPE quorate_ceph_takes_part gauge\nquorate_ceph_takes_part {int(takes_part)}\n"
            self.wfile.write(metric.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Logs no request."""

    ThreadingHTTPServer((address, int(port)), Handler).serve_forever()


if __name__ == "__main__":
    try:
        if sys.argv[1] == "serve":
            serve(*sys.argv[2:])
        sys.exit(0 if accepted(*sys.argv[1:]) else 1)
    except (OSError, ValueError) as failure:
        sys.exit(f"no answer: {failure}")
