"""`python3 -m galera` runs a member of Galera. `python3 -m galera view …` is Galera's wsrep_notify_cmd."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import data
from .member import PORT, Member, say
from .server import option


def main(arguments: Sequence[str]) -> int:
    """Records a primary component with the arguments `view …`; runs a member without arguments.

    Returns the exit code.
    """
    if arguments[:1] == ["view"]:
        data.record_view(arguments[1:])
        return 0
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    addresses = option("wsrep_cluster_address").removeprefix("gcomm://").split(",")
    first, domain = [each.partition(".")[0] for each in addresses], addresses[0].partition(".")[2]
    member = Member(socket.gethostname(), first, domain)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, text = member.answer(self.path)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(text.encode() + b"\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Logs no requests, because probes are frequent."""

    server = ThreadingHTTPServer(("", PORT), Handler)
    for target in (server.serve_forever, member.watch, member.disk.watch, member.keep_pace):
        threading.Thread(target=target, daemon=True).start()
    try:
        return member.run()
    except RuntimeError as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
