"""Runs a command in a container of a pod by the Kubernetes API, over a WebSocket, as kubectl does since 1.31.

Only what a command needs that reads nothing: no standard input, no terminal. Messages are those of the subprotocol
v4.channel.k8s.io: the first byte is the stream, and stream 3 has the result as a Status object.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO, cast
from urllib.parse import urlencode

from cluster.api import ApiError, Unreachable
from cluster.kubeconfig import Access
from cluster.objects import Object, listed, text
from cluster.server_connection import ServerConnection

_PROTOCOL = "v4.channel.k8s.io"
_OUT, _ERROR, _RESULT = 1, 2, 3
_CLOSE, _PING, _PONG = 8, 9, 10
_MOST = 16 * 2**20
"""Bytes of output that are read, so that a program that never ends to write cannot fill the memory."""


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


def run_in_pod(access: Access, place: PodContainer, command: Sequence[str], seconds: float) -> CommandOutput:
    """Runs a command in a container and returns its output and exit code.

    `seconds`: how long it may take; then the output until that moment is returned, and the command itself goes on to
    run in the container. Raises ApiError if the API server or the pod's kubelet refuses, and Unreachable if it does not
    start the command in time.
    """
    query = [("command", word) for word in command]
    query += [("container", place.container), ("stdout", "true"), ("stderr", "true")]
    path = f"{access.prefix}/api/v1/namespaces/{place.namespace}/pods/{place.pod}/exec?{urlencode(query)}"
    connection = ServerConnection(access, seconds)
    try:
        response = _upgraded(connection, path, access)
        return _output(connection, cast("BinaryIO", response.fp), time.monotonic() + seconds)
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


def _output(connection: http.client.HTTPSConnection, stream: BinaryIO, deadline: float) -> CommandOutput:
    """Reads messages until the result has come, the other side closes the connection, or the time is over."""
    streams = {_OUT: bytearray(), _ERROR: bytearray(), _RESULT: bytearray()}
    with contextlib.suppress(OSError, http.client.HTTPException):
        for message in _messages(connection, stream, deadline):
            streams.setdefault(message[0], bytearray()).extend(message[1:])
            if message[0] == _RESULT or sum(map(len, streams.values())) > _MOST:
                break
    out, errors = (streams[each].decode(errors="replace") for each in (_OUT, _ERROR))
    return CommandOutput(out, errors, _code(bytes(streams[_RESULT])) if streams[_RESULT] else None)


def _messages(connection: http.client.HTTPSConnection, stream: BinaryIO, deadline: float) -> Iterator[bytes]:
    """Yields the messages until the other side closes the connection, and answers its pings.

    Raises OSError or HTTPException if the connection ends, and TimeoutError at the deadline.
    """
    message = bytearray()
    while True:
        if (left := deadline - time.monotonic()) <= 0:
            raise TimeoutError
        if connection.sock:
            connection.sock.settimeout(left)
        operation, is_last, payload = _frame(stream)
        if operation == _CLOSE:
            return
        if operation == _PING:
            _send(connection, _PONG, payload)
        if operation < _CLOSE:
            message += payload
            if is_last:
                if message:
                    yield bytes(message)
                message = bytearray()


def _frame(stream: BinaryIO) -> tuple[int, bool, bytes]:
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


def _read(stream: BinaryIO, length: int) -> bytes:
    found = stream.read(length) if length else b""
    if len(found) < length:
        raise http.client.HTTPException("the connection ended before the command did")
    return found


def _send(connection: http.client.HTTPSConnection, operation: int, payload: bytes) -> None:
    """Sends a control frame, masked as a client's must be."""
    mask = os.urandom(4)
    if connection.sock:
        connection.sock.sendall(bytes((0x80 | operation, 0x80 | len(payload))) + mask + _masked(payload, mask))


def _masked(payload: bytes, mask: bytes) -> bytes:
    return bytes(byte ^ mask[number % 4] for number, byte in enumerate(payload))


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
