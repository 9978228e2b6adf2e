"""An object store with what copies of backups use of S3's API: put, get and list. It checks each request's signature.

The check follows the documents of Signature Version 4 (Amazon S3 API Reference, Authenticating Requests), and shares
nothing with curl, which signs.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl, quote, unquote, urlsplit

ACCESS, SECRET, REGION = "AKIAEXAMPLE", 'se"cret/+\\key', "eu-central-1"
BUCKET = "backups"
_AUTHORIZATION = re.compile(
    rf"AWS4-HMAC-SHA256 Credential={ACCESS}/(\d{{8}})/{REGION}/s3/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)


@dataclass
class ObjectStore:
    """The objects of a bucket by key."""

    endpoint: str = ""
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    refused: list[str] = field(default_factory=list[str])
    """Why requests were refused."""
    most: int = 1000
    """Objects in an answer to a list."""

    def put(self, key: str, content: bytes) -> None:
        self.objects[key] = content

    def listed(self, query: str) -> bytes:
        asked = dict(parse_qsl(query))
        prefix, marker = asked.get("prefix", ""), asked.get("marker", "")
        keys = sorted(key for key in self.objects if key.startswith(prefix) and key > marker)
        is_cut = str(len(keys) > self.most).lower()
        contents = "".join(f"<Contents><Key>{key}</Key><Size>1</Size></Contents>" for key in keys[: self.most])
        head = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
        )
        return f"{head}<IsTruncated>{is_cut}</IsTruncated>{contents}</ListBucketResult>".encode()


def _signature(date: str, text: str) -> str:
    key = f"AWS4{SECRET}".encode()
    for part in (date, REGION, "s3", "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.digest(key, text.encode(), "sha256").hex()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    store: ObjectStore

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
        """Prints nothing."""

    def _fault(self, body: bytes) -> str:
        """Returns what is wrong with a request; empty if nothing is."""
        found = _AUTHORIZATION.fullmatch(self.headers.get("Authorization", ""))
        if not found:
            return "AccessDenied: no valid Authorization"
        date, names, signature = found.groups()
        digest = self.headers.get("x-amz-content-sha256", "")
        if not {"host", "x-amz-content-sha256", "x-amz-date"} <= set(names.split(";")):
            return f"AccessDenied: only {names} are signed"
        if digest != hashlib.sha256(body).hexdigest():
            return "XAmzContentSHA256Mismatch"
        target = urlsplit(self.path)
        query = "&".join(
            f"{quote(key, safe='-_.~')}={quote(value, safe='-_.~')}" for key, value in sorted(parse_qsl(target.query))
        )
        headers = "".join(f"{name}:{' '.join(self.headers[name].split())}\n" for name in names.split(";"))
        path = quote(unquote(target.path), safe="/-_.~")
        canonical = "\n".join((self.command, path, query, headers, names, digest))
        moment = self.headers["x-amz-date"]
        if not moment.startswith(date):
            return "AccessDenied: two dates"
        scope = f"{date}/{REGION}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        return "" if hmac.compare_digest(_signature(date, text), signature) else "SignatureDoesNotMatch"

    def _answer(self, status: int, content: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _take(self) -> bytes | None:
        """Returns the body of a request; None if it was refused."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        fault = self._fault(body)
        if not fault:
            return body
        self.store.refused.append(fault)
        self._answer(403, f"<Error><Code>{fault}</Code></Error>".encode())
        return None

    def do_PUT(self) -> None:
        body = self._take()
        if body is not None:
            self.store.put(unquote(self.path).removeprefix(f"/{BUCKET}/"), body)
            self._answer(200)

    def do_GET(self) -> None:
        if self._take() is None:
            return
        target = urlsplit(self.path)
        if target.path == f"/{BUCKET}":
            self._answer(200, self.store.listed(target.query))
            return
        content = self.store.objects.get(unquote(target.path).removeprefix(f"/{BUCKET}/"))
        self._answer(*((404, b"<Error><Code>NoSuchKey</Code></Error>") if content is None else (200, content)))


@contextmanager
def object_store() -> Generator[ObjectStore]:
    """Serves an empty bucket on a free port of this host."""
    store = ObjectStore()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": store}))
    server.daemon_threads = True
    store.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
