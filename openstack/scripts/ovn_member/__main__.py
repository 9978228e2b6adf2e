"""`python3 -m ovn_member run` runs a member of an OVN database, and `python3 -m ovn_member ready` is its probe."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from . import data
from .cluster import watch
from .peers import MemberSettings, ask_others, settings
from .server import CONTROL, SOCKET, answer, is_ready, metrics, status

_PAUSE = 5
"""Seconds between two looks at the cluster. Project figure."""


def serve_metrics(own: MemberSettings) -> None:
    """Answers Prometheus from a thread of its own. Each answer asks ovsdb-server: one that hangs gives none in time."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = metrics(status(own)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
            """Logs no request."""

    server = ThreadingHTTPServer(("0.0.0.0", own.metrics), Handler)  # noqa: S104 - a pod has one address
    Thread(target=server.serve_forever, daemon=True).start()


def run(own: MemberSettings) -> int:
    """Runs ovsdb-server until it ends, and returns its exit code."""
    serve_metrics(own)
    if data.has_data():
        data.leave_replaced(own, data.file_says("db-cid"), ask_others(own))
    for path in (CONTROL, SOCKET):
        Path(path).unlink(missing_ok=True)
    server = subprocess.Popen(
        [
            "ovsdb-server",
            "--no-dbs",
            f"--unixctl={CONTROL}",
            f"--remote=punix:{SOCKET}",
            "-vconsole:info",
            "-vsyslog:off",
            "-vfile:off",
        ]
    )
    try:
        signal.signal(signal.SIGTERM, lambda _number, _frame: server.terminate())
        while server.poll() is None:
            if not Path(CONTROL).exists():
                time.sleep(0.2)
            elif status(own):
                watch(own)
                _rest(server)
            elif data.has_data():
                data.serve()
                answer(own)
            else:
                answer(own)
                if not data.make(own):
                    time.sleep(1)
        return server.returncode
    finally:
        server.kill()


def _rest(server: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(_PAUSE)


if __name__ == "__main__":
    if sys.argv[1:] == ["ready"]:
        sys.exit(0 if is_ready(status(settings())) else 1)
    sys.exit(run(settings()))
