"""Readiness of Ceph's daemons: the rendered probe asks a socket that speaks as a daemon's admin socket does."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Thread

import pytest

from blueprint.openstack.projects.process_definition import Exec
from tests.projects import PROCESSES

DAEMONS = {container.name: container for name in ("ceph-mon", "ceph-osd") for container in PROCESSES[name].containers}


@contextmanager
def daemon(path: Path, answers: Mapping[str, bytes]) -> Generator[None]:
    """Answers commands with their bytes; others, and commands that are not ended by a zero, with nothing."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        thread = Thread(target=_serve, args=(server, answers), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _serve(server: socket.socket, answers: Mapping[str, bytes]) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with client:
            asked = b""
            while not asked.endswith(b"\0") and (part := client.recv(100)):
                asked += part
            client.sendall(answers.get(json.loads(asked.rstrip(b"\0"))["prefix"], b""))


def framed(answer: object) -> bytes:
    text = json.dumps(answer).encode()
    return struct.pack(">I", len(text)) + text


def ready(name: str, directory: Path) -> bool:
    probe = DAEMONS[name].ready
    assert isinstance(probe, Exec)
    command = [word.replace("/run/ceph", str(directory)) for word in probe.command]
    environment = {"PATH": os.environ["PATH"], "POD_NAME": "ceph-mon-0"}
    return subprocess.run(command, env=environment, check=False, stderr=subprocess.DEVNULL, timeout=30).returncode == 0


@pytest.mark.parametrize(
    ("state", "expected"),
    [("leader", True), ("peon", True), ("probing", False), ("electing", False), ("synchronizing", False)],
)
def test_a_monitor_is_ready_in_the_quorum_only(tmp_path: Path, state: str, expected: bool) -> None:
    with daemon(tmp_path / "ceph-mon.ceph-mon-0.asok", {"mon_status": framed({"name": "a", "state": state})}):
        assert ready("ceph-mon", tmp_path) is expected


def test_nothing_is_ready_without_its_socket(tmp_path: Path) -> None:
    with daemon(tmp_path / "ceph-mon.ceph-mon-1.asok", {"mon_status": framed({"state": "leader"})}):
        assert not any(ready(name, tmp_path) for name in DAEMONS)


def test_a_manager_is_ready_when_it_answers(tmp_path: Path) -> None:
    with daemon(tmp_path / "ceph-mgr.ceph-mon-0.asok", {"version": framed({"version": "20.2.5"})}):
        assert ready("ceph-mgr", tmp_path)


def test_a_storage_node_is_ready_when_all_its_daemons_are_active(tmp_path: Path) -> None:
    for second, expected in (("active", True), ("booting", False)):
        with ExitStack() as stack:
            for number, state in ((3, "active"), (11, second)):
                path = tmp_path / f"ceph-osd.{number}.asok"
                path.unlink(missing_ok=True)
                stack.enter_context(daemon(path, {"status": framed({"state": state})}))
            assert ready("ceph-osd", tmp_path) is expected


@pytest.mark.parametrize("answer", [b"", b"\0\0\0\x7f{", framed({"state": "leader"})[:-3], framed([])[:4]])
def test_a_broken_answer_is_no_answer(tmp_path: Path, answer: bytes) -> None:
    with daemon(tmp_path / "ceph-mon.ceph-mon-0.asok", {"mon_status": answer}):
        assert not ready("ceph-mon", tmp_path)
