"""Virt hosts that do not answer, as the state names them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Generator

import pytest

from commands.live import virt_host_check

PREFIX = "urn:pulumi:lab::quorate::"


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[int, int, int]]:
    """Ports of an SSH server, of a server that says nothing, and without a server."""
    monkeypatch.setattr(virt_host_check, "PATIENCE", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as ssh,
        socket.create_server(("127.0.0.1", 0)) as silent,
        socket.socket() as closed,
    ):
        closed.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=lambda: ssh.accept()[0].sendall(b"SSH-2.0-x\r\n"))
        thread.start()
        yield ssh.getsockname()[1], silent.getsockname()[1], closed.getsockname()[1]
        thread.join()


def provider(host: str, port: int) -> dict[str, object]:
    return {
        "urn": f"{PREFIX}{virt_host_check.PROVIDER}::{host}-libvirt",
        "type": virt_host_check.PROVIDER,
        "inputs": {"uri": f"qemu+ssh://root@127.0.0.1:{port}/system?sshauth=agent"},
    }


def disk(name: str, host: str) -> dict[str, object]:
    kind = "libvirt:index/volume:Volume"
    made_by = f"{PREFIX}{virt_host_check.PROVIDER}::{host}-libvirt::11111111-2222-3333-4444-555555555555"
    return {"urn": f"{PREFIX}{kind}::{name}-disk", "type": kind, "provider": made_by}


@pytest.mark.parametrize("kind", [1, 2], ids=["silent", "closed"])
def test_resources_of_a_host_that_is_down_are_left_out(ports: tuple[int, int, int], kind: int) -> None:
    resources = [
        {"urn": f"{PREFIX}pulumi:pulumi:Stack::lab", "type": "pulumi:pulumi:Stack"},
        *(provider("virt1", ports[0]), provider("virt10", ports[kind])),
        *(disk("a", "virt1"), disk("b", "virt10"), disk("c", "virt10")),
    ]
    ((address, urns),) = virt_host_check.left_out({"deployment": {"resources": resources}}).items()
    assert address == "127.0.0.1"
    assert [urn.rpartition("::")[2] for urn in urns] == ["virt10-libvirt", "b-disk", "c-disk"]


@pytest.mark.parametrize("deployment", [{}, {"deployment": None}, {"deployment": {"resources": None}}])
def test_a_stack_that_has_made_nothing_leaves_nothing_out(deployment: dict[str, object]) -> None:
    assert virt_host_check.left_out(deployment) == {}


def test_a_provider_whose_address_is_not_known_is_not_checked() -> None:
    unknown = provider("virt1", 22) | {"inputs": {"uri": "qemu:///system"}}
    assert virt_host_check.left_out({"deployment": {"resources": [unknown]}}) == {}
