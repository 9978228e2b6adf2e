"""A proxy of HTTPS on this host, as a site gives machines that reach nothing else: it knows the method CONNECT only."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from socketserver import StreamRequestHandler, ThreadingTCPServer

_CHUNK = 1 << 16
CONNECT = 30.0
"""Seconds until a server must have answered."""


class _Handler(StreamRequestHandler):
    """Connects a client to the server that it names, and copies bytes in both directions."""

    def handle(self) -> None:
        method, _, rest = self.rfile.readline().decode("ascii", "replace").partition(" ")
        host, _, port = rest.partition(" ")[0].rpartition(":")
        while self.rfile.readline().strip():  # the other headers
            pass
        if method != "CONNECT" or not port.isdigit():
            self.wfile.write(b"HTTP/1.1 405 Method Not Allowed\r\n\r\n")
            return
        try:
            server = socket.create_connection((host, int(port)), CONNECT)
        except OSError:
            self.wfile.write(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            return
        with server:
            server.settimeout(None)
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
            back = threading.Thread(target=_copy, args=(server, self.connection), daemon=True)
            back.start()
            _copy(self.connection, server)
            back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


class _Server(ThreadingTCPServer):
    daemon_threads = True


@contextmanager
def https_proxy(address: str) -> Generator[str]:
    """Runs the proxy on a free port of an address of this host, and yields its URL."""
    with _Server((address, 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://{address}:{server.server_address[1]}"
        finally:
            server.shutdown()
