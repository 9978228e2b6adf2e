"""A local web server in place of Pulumi's download site, with archives whose checksums a clone pins."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from toolchain.release import SUMS


def archive(files: Mapping[str, bytes | Path]) -> bytes:
    """Returns a tar archive, compressed by gzip, with programs by their path in it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for name, content in files.items():
            data = content.read_bytes() if isinstance(content, Path) else content
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755
            tar.addfile(entry, io.BytesIO(data))
    return packed.getvalue()


@dataclass
class Site:
    """The site: its files by path, and what is wrong with some of them."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    asked: list[str] = field(default_factory=list[str])
    """The paths of all requests so far."""
    refused: dict[str, int] = field(default_factory=dict[str, int])
    """HTTP status of the answer for a path."""
    cut: set[str] = field(default_factory=set[str])
    """Paths of files of which half is sent before the connection ends."""
    stalled: set[str] = field(default_factory=set[str])
    """Paths of files of which half is sent, and the rest when `go_on` is set."""
    half_sent: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)

    def pin(self, root: Path) -> None:
        """Writes the checksums of all files into a clone."""
        lines = [f"{hashlib.sha256(data).hexdigest()}  {Path(path).name}\n" for path, data in self.files.items()]
        (root / "toolchain" / "engine" / SUMS).write_text("".join(lines), encoding="utf-8")


@contextmanager
def serving() -> Generator[Site]:
    """Serves a site on this machine until the context ends."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.removeprefix("/")
            site.asked.append(path)
            status = site.refused.get(path) or (200 if path in site.files else 404)
            if status != 200:
                self.send_error(status)
                return
            data = site.files[path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            half = len(data) // 2
            self.wfile.write(data[:half])
            if path in site.stalled:
                self.wfile.flush()
                site.half_sent.set()
                site.go_on.wait(120)
            if path not in site.cut:
                self.wfile.write(data[half:])

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named so in the base class
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.go_on.set()
        server.shutdown()
        server.server_close()
