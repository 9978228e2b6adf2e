"""The network of a virt host: a namespace with the bridge of its machines, and a cable to this host."""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address

BRIDGE = "br-mgmt"
"""The bridge of the default templates."""
UPLINK = "up0"
"""The cable's end in the virt host."""


@dataclass(frozen=True)
class Place:
    """Names and addresses of a virt host's network, with a prefix of 24 bits."""

    namespace: str
    outside: str
    """The cable's end on this host."""
    address: str
    deployer: str
    """The address of this host."""


@contextmanager
def connected(place: Place) -> Generator[None]:
    """Makes the network, and removes it afterwards. Removes what a killed run left."""

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True)

    for left in (["netns", "delete", place.namespace], ["link", "delete", place.outside]):
        subprocess.run(["ip", *left], capture_output=True, check=False)
    ip("netns", "add", place.namespace)
    try:
        ip("link", "add", place.outside, "type", "veth", "peer", "name", UPLINK, "netns", place.namespace)
        ip("address", "add", f"{place.deployer}/24", "dev", place.outside)
        ip("link", "set", place.outside, "up")
        # Without a MAC address of its own, a bridge has the lowest of its interfaces', which changes as machines start.
        mac = ":".join(f"{byte:02x}" for byte in b"\x52\x57" + IPv4Address(place.address).packed)
        ip("-n", place.namespace, "link", "add", BRIDGE, "address", mac, "type", "bridge")
        ip("-n", place.namespace, "link", "set", UPLINK, "master", BRIDGE)
        for name in ("lo", UPLINK, BRIDGE):
            ip("-n", place.namespace, "link", "set", name, "up")
        ip("-n", place.namespace, "address", "add", f"{place.address}/24", "dev", BRIDGE)
        yield
    finally:
        # It fails while a process that has ended is still in it, and removes it all the same.
        subprocess.run(["ip", "netns", "delete", place.namespace], capture_output=True, check=False)
        found = subprocess.run(["ip", "netns"], capture_output=True, text=True, check=True).stdout
        assert place.namespace not in found.split()
