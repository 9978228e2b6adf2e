"""Settings of Calico that cannot work, and what the message says to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.problems import InvalidStackError
from tests.stacks import full_size, parsed

PEER = {"address": "10.20.0.2", "asNumber": 64601}
WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "tunnels without encapsulation": (
        {"calico": {"tunnels": "10.30.0.0/20"}},
        "quorate:calico.tunnels",
        "is for encapsulation ipip or vxlan",
    ),
    "encapsulation without tunnels": (
        {"calico": {"encapsulation": "ipip"}},
        "quorate:calico.tunnels",
        "NetworkPolicies must admit; write a network that nothing else uses",
    ),
    "fewer tunnels than machines": (
        {"calico": {"encapsulation": "vxlan", "tunnels": "10.30.0.0/30"}},
        "quorate:calico.tunnels",
        "10.30.0.0/30 has 4 addresses",
    ),
    "tunnels inside of the pods' network": (
        {"calico": {"encapsulation": "vxlan", "tunnels": "172.16.0.0/20"}},
        "quorate:calico.tunnels",
        "172.16.0.0/20 overlaps pods",
    ),
    "another network plugin": ({"cni": "none", "calico": {"mtu": 9000}}, "quorate:calico", "quorate:cni is none"),
    "a router of no rack": (
        {"calico": {"peers": [{**PEER, "rack": "b"}]}},
        "quorate:calico.peers[0].rack",
        "no server is in rack 'b'; write one of: a",
    ),
    "a router twice": ({"calico": {"peers": [PEER, PEER]}}, "quorate:calico.peers[1]", "twice; remove one entry"),
    "an MTU of no network": ({"calico": {"mtu": 100}}, "quorate:calico.mtu", "1280"),
    "a manifest without its digest": (
        {"calico": {"manifest": {"url": "https://mirror.example.org/calico.yaml"}}},
        "quorate:calico.manifest.sha256",
        "is missing",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_refused(name: str) -> None:
    settings, key, message = WRONG[name]
    with pytest.raises(InvalidStackError) as refused:
        parsed(stack(**settings))
    found = {each.key: each.message for each in refused.value.problems}
    assert message in found.get(key, ""), str(refused.value)


def test_tunnels_and_routers_are_accepted() -> None:
    calico = {"encapsulation": "ipip", "tunnels": "10.30.0.0/20", "mtu": 8980, "peers": [PEER, {**PEER, "rack": "a"}]}
    found = parsed(stack(calico=calico)).calico
    assert [(str(each.address), each.rack) for each in found.peers] == [("10.20.0.2", None), ("10.20.0.2", "a")]


def stack(**settings: object) -> dict[str, Any]:
    """A stack whose servers are in rack a."""
    found = full_size("100", computes=1)
    for server in found["servers"]:
        server["rack"] = "a"
    return {**found, **settings}
