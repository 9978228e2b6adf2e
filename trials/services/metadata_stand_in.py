"""Answers in place of Nova's metadata API, and prints the headers of each request as a line of JSON.

Arguments: the port.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ANSWER = "metadata of the instance"


class MetadataHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        print(json.dumps({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}}))
        sys.stdout.flush()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(ANSWER.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the base class
        """Logs nothing beside the headers."""


if __name__ == "__main__":
    ThreadingHTTPServer(("0.0.0.0", int(sys.argv[1])), MetadataHandler).serve_forever()  # noqa: S104 - one machine of a test bed
