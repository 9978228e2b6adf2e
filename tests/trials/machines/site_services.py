"""What a closed network has for its machines: a proxy to Debian's mirror, archives, a registry and a clock."""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import struct
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from trials.cloud.images import archive

PORT, CLOCK_PORT = 8080, 123
_SINCE_1900 = 2_208_988_800
"""Seconds from 1900, where NTP begins to count, to 1970."""
_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@dataclass
class Site:
    """The services at one address."""

    address: str
    files: Path
    """Directory with the archives, each below /files/."""
    blobs: Path
    """Directory of the registry's blobs, by their SHA-256 digests."""
    tags: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Digests of manifests by repository and tag."""
    asked: list[str] = field(default_factory=list[str])
    """What was asked for, in this order."""

    @property
    def url(self) -> str:
        """The URL of proxy, archives and registry."""
        return f"http://{self.address}:{PORT}"

    def add_images(self, path: Path) -> None:
        """Takes the images of an OCI archive into the registry, without the names of their own registries."""
        index: dict[str, Any] = {}
        with tarfile.open(path) as source:
            for member in source:
                content = source.extractfile(member)
                folder, _, name = member.name.rpartition("/")
                if content and folder == "blobs/sha256":
                    with (self.blobs / name).open("wb") as blob:
                        shutil.copyfileobj(content, blob)
                elif content and name == "index.json":
                    index = json.load(content)
        for entry in index["manifests"]:
            name, _, tag = entry["annotations"][archive.NAME].rpartition(":")
            self.tags[name.partition("/")[2], tag] = entry["digest"].removeprefix("sha256:")


@contextmanager
def running(site: Site) -> Generator[None]:
    """Runs the services."""

    class Handler(_Handler):
        served = site

    server = http.server.ThreadingHTTPServer((site.address, PORT), Handler)
    clock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    clock.bind((site.address, CLOCK_PORT))
    clock.settimeout(1)
    ended = threading.Event()
    threads = [threading.Thread(target=server.serve_forever), threading.Thread(target=_tell_time, args=(clock, ended))]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        server.shutdown()
        server.server_close()
        for thread in threads:
            thread.join()
        clock.close()


def _tell_time(clock: socket.socket, ended: threading.Event) -> None:
    """Answers requests of NTP with this host's time (RFC 5905, figure 8), until the event is set."""
    while not ended.is_set():
        try:
            asked, sender = clock.recvfrom(512)
        except TimeoutError:
            continue
        received = _timestamp()
        # Leap 0, version 4, mode 4 (server); stratum 2, poll 6, precision 2^-20 s; no delay, 1 ms of dispersion.
        head = struct.pack("!BBbbII4s", 0x24, 2, 6, -20, 0, 66, b"\x7f\x00\x00\x01")
        with suppress(OSError):
            clock.sendto(head + received + asked[40:48] + received + _timestamp(), sender)


def _timestamp() -> bytes:
    seconds, part = divmod(time.time() + _SINCE_1900, 1)
    return struct.pack("!II", int(seconds), int(part * 2**32))


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: Site

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method
        self.served.asked.append(format % args)

    def do_HEAD(self) -> None:
        """Answers as GET, without the content."""
        self.do_GET()

    def do_GET(self) -> None:
        """Answers with a page of another host, an archive, or a part of the registry."""
        path = self.path.partition("?")[0]
        if self.path.startswith("http://"):
            self._forward()
        elif path.startswith("/files/"):
            self._send(self.served.files / path.rpartition("/")[2], "application/octet-stream")
        elif path.startswith("/v2/"):
            self._answer_registry(path.removeprefix("/v2/"))
        else:
            self.send_error(HTTPStatus.NOT_FOUND)

    def _answer_registry(self, path: str) -> None:
        """Answers as a registry (https://github.com/opencontainers/distribution-spec/blob/main/spec.md)."""
        if not path:
            self._head(HTTPStatus.OK, {"Content-Length": "0"})
            return
        rest, _, reference = path.rpartition("/")
        repository, _, kind = rest.rpartition("/")
        digest = self.served.tags.get((repository, reference), reference.removeprefix("sha256:"))
        self._send(self.served.blobs / digest, _MANIFEST if kind == "manifests" else "application/octet-stream", digest)

    def _send(self, file: Path, kind: str, digest: str = "") -> None:
        if not file.is_file():
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        headers = {"Content-Type": kind, "Content-Length": str(file.stat().st_size)}
        self._head(HTTPStatus.OK, headers | ({"Docker-Content-Digest": f"sha256:{digest}"} if digest else {}))
        if self.command == "GET":
            with file.open("rb") as content:
                shutil.copyfileobj(content, self.wfile)

    def _forward(self) -> None:
        """Passes a request on, and the answer back, unless the answer is that nothing has changed."""
        passed = {name: value for name in ("If-Modified-Since", "Range") if (value := self.headers.get(name))}
        request = urllib.request.Request(self.path, headers=passed, method=self.command)  # noqa: S310 - http only
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - http only
                names = ("Content-Type", "Content-Length", "Last-Modified", "Content-Range")
                headers = {name: value for name in names if (value := answer.headers.get(name))}
                body: bytes = answer.read()
                self._head(HTTPStatus(answer.status), headers | {"Content-Length": str(len(body))})
                self.wfile.write(body)
        except urllib.error.HTTPError as error:
            self._head(HTTPStatus(error.code), {"Content-Length": "0"})

    def _head(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
