"""Runs a command in a container of a pod by the Kubernetes API, over a WebSocket, as kubectl does since 1.31.

There is no terminal. Messages are those of the subprotocol v4.channel.k8s.io: the first byte is the stream, and stream
3 has the result as a Status object. The subprotocol cannot end the standard input alone, so a command that reads it
must find its end in what it reads.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import ssl
import struct
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from io import BufferedReader
from typing import cast
from urllib.parse import urlencode

from cluster.api import ApiError, Unreachable
from cluster.kubeconfig import Access
from cluster.objects import Object, listed, text
from cluster.server_connection import ServerConnection

_PROTOCOL = "v4.channel.k8s.io"
_IN, _OUT, _ERROR, _RESULT = 0, 1, 2, 3
_BINARY, _CLOSE, _PING, _PONG = 2, 8, 9, 10
_MOST = 16 * 2**20
"""Bytes of output that are read, so that a program that never ends to write cannot fill the memory."""
_TAKEN = 300.0
"""Seconds within which the other side must take a message of input. Project figure: a disk that stalls recovers."""


@dataclass(frozen=True)
class CommandOutput:
    """What a command wrote and with which exit code it ended."""

    text: str
    errors: str
    code: int | None
    """None if it did not end in time, or the connection ended before."""

    @property
    def ending(self) -> str:
        """How it ended, as text."""
        return f"exit code {self.code}" if self.code is not None else "no end was seen"


@dataclass(frozen=True)
class PodContainer:
    """The container of a pod in which a command runs."""

    namespace: str
    pod: str
    container: str


def run_in_pod(
    access: Access, place: PodContainer, command: Sequence[str], seconds: float, given: Iterable[bytes] | None = None
) -> CommandOutput:
    """Runs a command in a container and returns its output and exit code.

    `seconds`: how long it may take; then the output until that moment is returned, and the command itself goes on to
    run in the container. `given`: its standard input, in parts of at most 1 MiB; None for none. Input that it does not
    take any more, because it has ended, is left out. Raises ApiError if the API server or the pod's kubelet refuses,
    and Unreachable if it does not start the command in time.
    """
    query = [("command", word) for word in command]
    query += [("container", place.container), ("stdout", "true"), ("stderr", "true")]
    query += [] if given is None else [("stdin", "true")]
    path = f"{access.prefix}/api/v1/namespaces/{place.namespace}/pods/{place.pod}/exec?{urlencode(query)}"
    connection = ServerConnection(access, seconds)
    try:
        response = _upgraded(connection, path, access)
        conversation = _Conversation(connection, response.fp, time.monotonic() + seconds)
        conversation.give(given or ())
        return conversation.output()
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(str(error)) from None
    finally:
        connection.close()


def _upgraded(connection: http.client.HTTPSConnection, path: str, access: Access) -> http.client.HTTPResponse:
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Protocol": _PROTOCOL,
        **access.headers,
    }
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    if response.status == 101:
        return response
    said = response.read().decode(errors="replace")
    try:
        body = cast("Object", json.loads(said))
    except ValueError:
        body = {"message": said}
    raise ApiError(response.status, text(body, "reason") or response.reason, text(body, "message"))


@dataclass
class _Conversation:
    """The messages of both sides, from the answer to the request on."""

    connection: http.client.HTTPSConnection
    stream: BufferedReader
    deadline: float
    _streams: dict[int, bytearray] = field(
        default_factory=lambda: {_OUT: bytearray(), _ERROR: bytearray(), _RESULT: bytearray()}
    )
    _message: bytearray = field(default_factory=bytearray)
    _has_ended: bool = False

    def give(self, parts: Iterable[bytes]) -> None:
        """Sends input until it is all sent, or the command has ended. What went wrong is in the output, if anywhere."""
        for part in parts:
            try:
                while self._has_frame():
                    self._take()
                if self._has_ended:
                    return
                self._limit(_TAKEN)
                _send(self.connection, _BINARY, bytes((_IN,)) + part)
            except (OSError, http.client.HTTPException):
                self.deadline = min(self.deadline, time.monotonic() + _TAKEN)
                return

    def output(self) -> CommandOutput:
        """Reads until the result has come, the other side closes the connection, or the time is over."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            while not self._has_ended:
                self._limit()
                self._take()
        out, errors = (self._streams[each].decode(errors="replace") for each in (_OUT, _ERROR))
        result = bytes(self._streams[_RESULT])
        return CommandOutput(out, errors, _code(result) if result else None)

    def _limit(self, most: float = float("inf")) -> None:
        """Limits the time of the next read or write. Raises TimeoutError at the deadline."""
        if (left := self.deadline - time.monotonic()) <= 0:
            raise TimeoutError
        if self.connection.sock:
            self.connection.sock.settimeout(min(left, most))

    def _has_frame(self) -> bool:
        """Whether the other side has sent something that was not read. Does not wait."""
        if self._has_ended or not self.connection.sock:
            return False
        self.connection.sock.settimeout(0)
        try:
            return bool(self.stream.peek(1))
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        finally:
            self._limit()

    def _take(self) -> None:
        """Reads a frame, and answers a ping. Raises OSError or HTTPException if the connection ends."""
        operation, is_last, payload = _frame(self.stream)
        if operation == _PING:
            _send(self.connection, _PONG, payload)
        self._has_ended |= operation == _CLOSE
        if operation >= _CLOSE:
            return
        self._message += payload
        if is_last and self._message:
            stream = self._message[0]
            self._streams.setdefault(stream, bytearray()).extend(self._message[1:])
            self._has_ended |= stream == _RESULT or sum(map(len, self._streams.values())) > _MOST
        if is_last:
            self._message.clear()


def _frame(stream: BufferedReader) -> tuple[int, bool, bytes]:
    """Reads a frame of RFC 6455. Returns its operation, whether it ends a message, and its payload."""
    first, second = _read(stream, 2)
    length = second & 0x7F
    if length == 126:
        (length,) = struct.unpack(">H", _read(stream, 2))
    elif length == 127:
        (length,) = struct.unpack(">Q", _read(stream, 8))
    if length > _MOST:
        raise http.client.HTTPException(f"a message of {length} bytes")
    mask = _read(stream, 4) if second & 0x80 else b""
    payload = _read(stream, length)
    return first & 0x0F, bool(first & 0x80), _masked(payload, mask) if mask else payload


def _read(stream: BufferedReader, length: int) -> bytes:
    found = stream.read(length) if length else b""
    if len(found) < length:
        raise http.client.HTTPException("the connection ended before the command did")
    return found


def _send(connection: http.client.HTTPSConnection, operation: int, payload: bytes) -> None:
    """Sends a frame that is a whole message, masked as a client's must be."""
    mask, size = os.urandom(4), len(payload)
    if size < 126:
        length = bytes((0x80 | size,))
    else:
        length = struct.pack(">BH", 0xFE, size) if size < 2**16 else struct.pack(">BQ", 0xFF, size)
    if connection.sock:
        connection.sock.sendall(bytes((0x80 | operation,)) + length + mask + _masked(payload, mask))


def _masked(payload: bytes, mask: bytes) -> bytes:
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")


def _code(result: bytes) -> int:
    """Returns the exit code of a Status object. Raises Unreachable if the command was not run to its end."""
    try:
        status = cast("Object", json.loads(result))
    except ValueError:
        raise Unreachable("the connection ended before the command did") from None
    if status.get("status") == "Success":
        return 0
    causes = listed(status, "details", "causes")
    code = next((text(each, "message") for each in causes if each.get("reason") == "ExitCode"), "")
    if not code.isdecimal():
        raise Unreachable(text(status, "message") or "the command was not started")
    return int(code)
