"""A machine that answers on the network is not dead, however it answers."""

from __future__ import annotations

import socket
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import Ssh
from operations.living.ceph import Storage
from operations.replacement import signs_of_life
from operations.replacement.dead_machine import DeadMachine
from operations.replacement.signs_of_life import signs
from tests.operations.living.living_cloud import living, ready_node
from tests.operations.maintenance.small_cloud import PLAN

NODE = next(node for node in PLAN.nodes if node.name == "messaging2")
QUIET = living(PLAN, {"rabbitmq-1": "no answer"}, nodes=[ready_node("messaging1")])
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"


def dead(node: Node = NODE) -> DeadMachine:
    members = (("rabbitmq", "rabbitmq-1"),)
    return DeadMachine(node, False, members, volumes=(), osds=(), is_compute=False, has_agents=False)


def at(address: str, key: str | None = None) -> Node:
    return replace(NODE, machine=replace(NODE.machine, address=address, host_key=key))


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_node: Node, _ssh: Ssh) -> Iterator[str]:
        return iter(())

    monkeypatch.setattr(signs_of_life, "_on_network", nothing)


@pytest.fixture
def open_port() -> Generator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.usefixtures("silent")
def test_what_the_cloud_hears() -> None:
    assert signs(QUIET, dead(), Ssh()) == []
    both = replace(living(PLAN), storage=Storage({"messaging2": 2}, (), 0))
    assert signs(both, dead(), Ssh()) == [
        "node messaging2 is Ready: its kubelet reports (one that has stopped counts as Ready for half a minute)",
        "rabbitmq-1 of rabbitmq takes part: runs",
        "2 of its OSDs are up",
    ]
    elsewhere = replace(QUIET, places={**QUIET.places, ("mysqld", "mysqld-0"): "messaging2"})
    assert signs(elsewhere, dead(), Ssh()) == ["mysqld-0 of mysqld takes part: runs"], "its pod is there"


def test_an_open_and_a_closed_port_are_answers(open_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = server.getsockname()[1]
    monkeypatch.setattr(signs_of_life, "KUBELET", closed)
    assert signs(QUIET, dead(at("127.0.0.1")), Ssh(port=open_port)) == [
        f"127.0.0.1 accepts connections on port {open_port}",
        f"127.0.0.1 refuses connections on port {closed}",
    ]


def test_silence_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs_of_life, "PATIENCE", 0.2)
    with ExitStack() as full:  # a server that accepts nothing more, so that connections time out
        server = full.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        for _ in range(8):
            waiting = full.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        monkeypatch.setattr(signs_of_life, "KUBELET", port)
        assert signs(QUIET, dead(at("127.0.0.1")), Ssh(port=port)) == []


@pytest.mark.parametrize(
    ("says", "code", "sign"),
    [
        ("", 0, "10.9.9.9 accepts logins"),
        ("", 1, "10.9.9.9 accepts logins"),
        ("channel 0: open failed: connect failed: Connection timed out", 255, ""),
        ("channel 0: open failed: connect failed: No route to host", 255, ""),
        ("channel 0: open failed: connect failed: Connection refused", 255, "nothing listens on port 22 of it"),
        ("root@10.9.9.9: Permission denied (publickey)", 255, "it refuses the login of root"),
        ("Host key verification failed.", 255, "it has another host key than the stack file"),
        ("connect to host jump.example.org port 22: Connection timed out", 255, "the jump host does not answer"),
        ("something else", 255, "the checks failed there"),
    ],
)
def test_through_a_jump_host(says: str, code: int, sign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "ssh"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{says}' >&2\nexit {code}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    ssh = Ssh.model_validate({"jumpHost": {"host": "jump.example.org", "hostKey": KEY}})
    found = signs(QUIET, dead(at("10.9.9.9", KEY)), ssh)
    assert len(found) == bool(sign)
    assert sign in "".join(found)
