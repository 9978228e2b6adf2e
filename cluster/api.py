"""The Kubernetes API over HTTP: requests with their warnings, lists and watches.

No client library is used: the proof needs a dozen calls, reads the server's warnings, and must not be slowed down by
client-side rate limits. Each thread has its own connection.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast
from urllib.parse import urlencode

from cluster.kubeconfig import Access
from cluster.objects import Object
from cluster.server_connection import ServerConnection

STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
TIMEOUT = 60
"""Seconds until a request without a response fails."""
BUSY_TRIES = 10
"""Maximum number of attempts of a request to which the server responds with 429 and a Retry-After header."""


class Unreachable(Exception):
    """The API server did not respond."""


class ApiError(Exception):
    """The API server responded with an error status."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        super().__init__(f"{status} {reason}: {message}")


@dataclass(frozen=True)
class Reply:
    """A response of the API server."""

    status: int
    body: Object
    warnings: tuple[str, ...] = ()
    retry_after: str | None = None
    text: str = ""
    """The body as text, for responses that are not JSON, such as a pod's log."""
    date: str | None = None
    """The header Date: the time of who made the response, a node's if its kubelet did."""


class Watch:
    """A watch of the Kubernetes API: a stream of events, each a type and an object. Any thread may close the stream."""

    def __init__(self, connection: http.client.HTTPSConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response

    def __iter__(self) -> Iterator[tuple[str, Object]]:
        rest = b""
        try:
            while read := self._response.read1(1 << 20):
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    event = json.loads(line)
                    yield event["type"], event["object"]
        except (OSError, ValueError, http.client.HTTPException):
            return  # closed by this side or by the server; the caller starts another watch

    def close(self) -> None:
        """Closes the stream, so that an iteration over its events ends."""
        if self._connection.sock:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)


class Api:
    """Sends requests to the API server of a cluster. Thread-safe."""

    def __init__(self, access: Access, timeout: float = TIMEOUT) -> None:
        self.access = access
        self._timeout = timeout
        self._local = threading.local()

    def call(  # noqa: PLR0913 - a request has as many parts
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """Sends a request and returns the response, also one with an error status.

        Raises Unreachable without a response.
        """
        target = self.access.prefix + path + ("?" + urlencode(query) if query else "")
        headers = {"Accept": "application/json", "Content-Type": content, **self.access.headers, **(headers or {})}
        payload = None if body is None else json.dumps(body)
        for last in (False, True):
            connection = self._connection()
            is_fresh = connection.sock is None
            try:
                connection.request(method, target, payload, headers)
                response = connection.getresponse()
                return _reply(response)
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                # A server may close an idle connection and has then not processed the request, which is sent again.
                if is_fresh or last:
                    raise Unreachable(f"{method} {path}: {self._reason(error)}") from None
        raise AssertionError

    def ask(
        self,
        method: str,
        path: str,
        body: Object | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content: str = "application/json",
    ) -> Object:
        """Sends a request and returns the response's body; retries while the server is busy.

        Raises ApiError for an error status, and Unreachable without a response.
        """
        for attempt in range(BUSY_TRIES):
            reply = self.call(method, path, body, query=query, content=content)
            if reply.status < 300:
                return reply.body
            if reply.status == 429 and reply.retry_after and attempt < BUSY_TRIES - 1 and "/eviction" not in path:
                time.sleep(min(float(reply.retry_after), 2.0))
                continue
            raise error_of(reply)
        raise AssertionError

    def items(self, path: str) -> tuple[list[Object], str]:
        """Returns the objects of a list path such as /api/v1/pods, and the resource version to start a watch from."""
        listed = self.ask("GET", path)
        return cast("list[Object]", listed["items"] or []), str(listed["metadata"]["resourceVersion"])

    def watch(self, path: str, version: str) -> Watch:
        """Starts a watch of the objects of a list path, from a resource version on. Raises ApiError or Unreachable."""
        connection = self._new_connection(timeout=TIMEOUT)
        query = urlencode({"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true"})
        try:
            connection.request("GET", f"{self.access.prefix}{path}?{query}", headers=self.access.headers)
            response = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise Unreachable(f"watch {path}: {self._reason(error)}") from None
        if response.status != 200:
            connection.close()
            raise error_of(_reply(response))
        if connection.sock:
            connection.sock.settimeout(None)  # a watch without changes has no traffic
        return Watch(connection, response)

    def _reason(self, error: Exception) -> str:
        """Returns why there is no response, with the server's address, without the number of the system's error."""
        said = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
        return f"{said} ({self.access.shown})"

    def _connection(self) -> http.client.HTTPSConnection:
        if not hasattr(self._local, "connection"):
            self._local.connection = self._new_connection(timeout=self._timeout)
        return self._local.connection

    def _new_connection(self, timeout: float) -> http.client.HTTPSConnection:
        return ServerConnection(self.access, timeout)


def error_of(reply: Reply) -> ApiError:
    """Returns the exception for an error response."""
    body = reply.body
    return ApiError(reply.status, str(body.get("reason", "")), str(body.get("message", "")))


def _reply(response: http.client.HTTPResponse) -> Reply:
    text = response.read().decode(errors="replace")
    try:
        body: object = json.loads(text)
    except ValueError:
        body = {"message": text}
    raised = response.headers.get_all("Warning") or []
    warnings = tuple(_unquoted(each) for each in raised)
    retry = response.headers.get("Retry-After")
    found = cast("Object", body) if isinstance(body, dict) else {}
    return Reply(response.status, found, warnings, retry, text, response.headers.get("Date"))


def _unquoted(warning: str) -> str:
    """Returns the text of a warning header, which has the form `299 - "text"`."""
    found = re.match(r'\d{3} \S+ "(.*)"$', warning)
    return found[1].replace('\\"', '"') if found else warning
