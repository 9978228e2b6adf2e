"""Finds virt hosts that do not answer, whose virtual machines a command leaves as they are.

libvirt's provider connects to every virt host of the state, and fails for the whole stack if one is down. Then nothing
could be changed until the host is back: not even members moved away from it.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from urllib.parse import urlsplit

PROVIDER = "pulumi:providers:libvirt"
PATIENCE = 5.0
"""Seconds until a host that does not answer counts as down. Project figure: sshd needs less than one."""
_AT_ONCE = 50

Resource = Mapping[str, Any]


def left_out(deployment: Mapping[str, Any]) -> dict[str, list[str]]:
    """Returns the URNs that belong to virt hosts that do not answer, by the host's address.

    `deployment`: the stack's state as the engine exports it. A host that the state does not have is not checked.
    """
    state = cast("Mapping[str, Any]", deployment.get("deployment") or {})
    resources = cast("list[Resource]", state.get("resources") or [])
    providers = {str(each["urn"]): each for each in resources if each.get("type") == PROVIDER}
    places = {urn: place for urn, each in providers.items() if (place := _place(each))}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = dict(zip(places, pool.map(_answers, places.values()), strict=True))
    return {places[urn][0]: [urn, *_made_by(urn, resources)] for urn, found in answers.items() if not found}


def _made_by(provider: str, resources: Iterable[Resource]) -> list[str]:
    return [str(each["urn"]) for each in resources if str(each.get("provider", "")).rpartition("::")[0] == provider]


def _place(provider: Resource) -> tuple[str, int] | None:
    """Returns the address and port that a provider connects to."""
    inputs = cast("Mapping[str, Any]", provider.get("inputs") or {})
    found = urlsplit(str(inputs.get("uri", "")))
    return (found.hostname, found.port) if found.hostname and found.port else None


def _answers(place: tuple[str, int]) -> bool:
    """Whether an SSH server answers, which sends its version first (RFC 4253, 4.2). A proxy alone may accept."""
    try:
        with socket.create_connection(place, PATIENCE) as connection:
            return connection.recv(4) == b"SSH-"
    except OSError:
        return False
