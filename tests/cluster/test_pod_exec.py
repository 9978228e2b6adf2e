"""Commands in pods: a server in the test's process that answers as an API server does, frame by frame."""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from cluster import pod_exec
from cluster.api import ApiError, Unreachable
from cluster.kubeconfig import Access
from cluster.pod_exec import CommandOutput, PodContainer
from tests.cluster.test_server_connection import certificate

POD = PodContainer("openstack", "rabbitmq-0", "rabbitmq")
SUCCESS = {"status": "Success"}


def frame(stream: int, content: bytes, operation: int = 2, *, is_last: bool = True) -> bytes:
    """A frame of a server, which has no mask."""
    payload = bytes((stream, *content)) if operation in (1, 2) else content
    size = len(payload)
    head = bytes((0x80 * is_last | operation,))
    return head + (bytes((size,)) if size < 126 else struct.pack(">BH", 126, size)) + payload


def result(**status: Any) -> bytes:
    return frame(3, json.dumps(status).encode())


def run(
    monkeypatch: pytest.MonkeyPatch,
    answer: Callable[[socket.socket], None],
    seconds: float = 5,
    given: Iterable[bytes] | None = None,
    tls: Path | None = None,
) -> tuple[str, Any]:
    """Runs a command on a server that answers in this way. Returns its request, and what was returned or raised.

    `tls`: a directory for the server's certificate; None for a server without TLS.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    received: list[str] = []

    def serve() -> None:
        connection, _ = listener.accept()
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate(tls))
            connection = context.wrap_socket(connection, server_side=True)
        with connection:
            received.append(connection.recv(65536).decode())
            answer(connection)

    def connected(access: Access, timeout: float) -> http.client.HTTPConnection:
        if not tls:
            return http.client.HTTPConnection(access.host, access.port, timeout=timeout)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return http.client.HTTPSConnection(access.host, access.port, timeout=timeout, context=context)

    monkeypatch.setattr(pod_exec, "ServerConnection", connected)
    threading.Thread(target=serve, daemon=True).start()
    access = Access("127.0.0.1", listener.getsockname()[1], "", ssl.create_default_context(), {"Authorization": "x"})
    try:
        found: Any = pod_exec.run_in_pod(access, POD, ["sh", "-c", "a b"], seconds, given)
    except (ApiError, Unreachable) as error:
        found = error
    listener.close()
    return received[0], found


def upgraded(*frames: bytes, then: Callable[[socket.socket], None] | None = None) -> Callable[[socket.socket], None]:
    def answer(connection: socket.socket) -> None:
        head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
        connection.sendall(head + b"".join(frames))
        if then:
            then(connection)

    return answer


def test_output_errors_and_success(monkeypatch: pytest.MonkeyPatch) -> None:
    long = b"x" * 1000
    frames = (frame(1, b"one "), frame(2, b"oops"), frame(1, long), result(**SUCCESS))
    request, found = run(monkeypatch, upgraded(*frames))
    assert found == CommandOutput("one " + long.decode(), "oops", 0)
    assert "/api/v1/namespaces/openstack/pods/rabbitmq-0/exec?command=sh&command=-c&command=a+b" in request
    assert "container=rabbitmq" in request
    assert "Sec-WebSocket-Protocol: v4.channel.k8s.io" in request
    assert "Authorization: x" in request


def test_the_exit_code_of_a_command_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    details = {"causes": [{"reason": "ExitCode", "message": "64"}]}
    _, found = run(
        monkeypatch, upgraded(frame(1, b"half"), result(status="Failure", reason="NonZeroExitCode", details=details))
    )
    assert (found.text, found.code) == ("half", 64)


def test_a_message_in_several_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = (frame(1, b"on", is_last=False), frame(0, b"e", operation=0), result(**SUCCESS))
    assert run(monkeypatch, upgraded(*parts))[1].text == "one"


def test_a_ping_is_answered_and_no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    answered: list[bytes] = []

    def then(connection: socket.socket) -> None:
        answered.append(connection.recv(64))
        connection.sendall(frame(1, b"late") + result(**SUCCESS))

    _, found = run(monkeypatch, upgraded(frame(0, b"hi", operation=9), then=then))
    assert found.text == "late"
    assert answered[0][0] == 0x8A
    assert answered[0][1] == 0x82  # masked, two bytes


def test_a_command_that_does_not_end_leaves_its_output(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = run(monkeypatch, upgraded(frame(1, b"first"), then=lambda _: time.sleep(1)), seconds=0.3)
    assert found == CommandOutput("first", "", None)


def test_a_connection_that_ends_is_no_success(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, upgraded(frame(1, b"first")))[1] == CommandOutput("first", "", None)
    assert run(monkeypatch, upgraded(frame(1, b"first"), frame(0, b"", operation=8)))[1].code is None


def test_a_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"reason": "Forbidden", "message": "no pods/exec"})
    refusal = f"HTTP/1.1 403 Forbidden\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    _, found = run(monkeypatch, lambda connection: connection.sendall(refusal))
    assert isinstance(found, ApiError)
    assert (found.status, found.message) == (403, "no pods/exec")


def test_a_command_that_was_not_started_is_no_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = run(monkeypatch, upgraded(result(status="Failure", message="container is not running")))
    assert isinstance(found, Unreachable)
    assert "container is not running" in str(found)


def test_a_silent_server_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    _, found = run(monkeypatch, lambda _: time.sleep(1), seconds=0.3)
    assert isinstance(found, Unreachable)


def received(connection: socket.socket, length: int) -> bytes:
    found = b""
    while len(found) < length:
        part = connection.recv(length - len(found))
        assert part, "the connection ended"
        found += part
    return found


def input_frame(connection: socket.socket) -> bytes:
    """Reads a message of a client, as RFC 6455 says it: a bit for the mask, and one of three kinds of length."""
    first, second = received(connection, 2)
    assert (first, second & 0x80) == (0x82, 0x80)
    size = second & 0x7F
    if size > 125:
        wide = 2 if size == 126 else 8
        size = int.from_bytes(received(connection, wide), "big")
    mask, payload = received(connection, 4), received(connection, size)
    unmasked = bytes(byte ^ mask[number % 4] for number, byte in enumerate(payload))
    assert unmasked[0] == 0, "stream 0 is the standard input"
    return unmasked[1:]


@pytest.mark.parametrize("has_tls", [False, True])
def test_input_arrives_as_it_was_given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_tls: bool) -> None:
    parts = [bytes(range(256)) * count + b"end" for count in (0, 1, 300, 512)]

    def then(connection: socket.socket) -> None:
        assert [input_frame(connection) for _ in parts] == parts
        connection.sendall(frame(1, b"read") + result(**SUCCESS))

    request, found = run(monkeypatch, upgraded(then=then), given=parts, tls=tmp_path if has_tls else None)
    assert found == CommandOutput("read", "", 0)
    assert "stdin=true" in request
    assert "stdin" not in run(monkeypatch, upgraded(result(**SUCCESS)))[0]


def test_a_command_that_ends_takes_no_more_input(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    taken: list[int] = []

    def parts() -> Iterable[bytes]:
        for number in range(100):
            taken.append(number)
            yield bytes(1000)
            if number == 2:
                assert ended.wait(5)
                time.sleep(0.1)

    def then(connection: socket.socket) -> None:
        input_frame(connection)
        details = {"causes": [{"reason": "ExitCode", "message": "1"}]}
        connection.sendall(frame(2, b"no space") + result(status="Failure", reason="NonZeroExitCode", details=details))
        ended.set()
        time.sleep(0.5)

    _, found = run(monkeypatch, upgraded(then=then), given=parts())
    assert (found.errors, found.code) == ("no space", 1)
    assert len(taken) <= 5


@pytest.mark.parametrize("has_tls", [False, True])
def test_a_ping_between_two_parts_is_answered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, has_tls: bool) -> None:
    asked = threading.Event()

    def parts() -> Iterable[bytes]:
        yield b"one"
        assert asked.wait(5)
        time.sleep(0.1)
        yield b"two"

    def then(connection: socket.socket) -> None:
        assert input_frame(connection) == b"one"
        connection.sendall(frame(0, b"hi", operation=9))
        asked.set()
        pong = received(connection, 8)
        assert (pong[0], pong[1]) == (0x8A, 0x82)
        assert input_frame(connection) == b"two"
        connection.sendall(result(**SUCCESS))

    _, found = run(monkeypatch, upgraded(then=then), given=parts(), tls=tmp_path if has_tls else None)
    assert found.code == 0


def test_a_side_that_takes_no_input_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_exec, "_TAKEN", 0.3)
    given = (bytes(2**20) for _ in range(64))
    _, found = run(monkeypatch, upgraded(then=lambda _: time.sleep(2)), seconds=1, given=given)
    assert found.code is None
