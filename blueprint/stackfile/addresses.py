"""Checks the addresses and networks in a stack file: unusable addresses, overlapping networks, wrong network sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from itertools import combinations

from blueprint.problems import Problem
from blueprint.stackfile import calico
from blueprint.stackfile.class_networks import VXLAN, ClassName
from blueprint.stackfile.settings import Networks, Settings

KEY = "quorate:networks"
POD_ADDRESSES = 256
"""Number of pod addresses that each node needs: a /24 of the pod network (kube-controller-manager's default)."""
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
_IPV6 = 1280
"""Bytes that every link with IPv6 must carry in one packet (RFC 8200, 5); projects may have subnets of IPv6."""
_SERVICES = range(12, 25)
"""Valid prefix lengths of the service network. API servers accept at most 2^20 addresses; Quorate needs about 100."""


def problems(
    settings: Settings,
    addressed: Mapping[str, Sequence[str]],
    classed: Mapping[ClassName, Mapping[str, Sequence[str]]],
) -> Iterator[Problem]:
    """Yields the problems of a stack's addresses and networks.

    `addressed`: names of the machines with each address. `classed`: the same for networks beside management, by class.
    """
    networks = settings.networks
    named = {f"{KEY}.pods": networks.pods, f"{KEY}.services": networks.services}
    if networks.management:
        named[f"{KEY}.management"] = networks.management
    if settings.calico.tunnels:
        named[calico.TUNNELS] = settings.calico.tunnels
    named |= {f"{KEY}.{name}": network.cidr for name, network in networks.classes.items()}
    unusable = list(_unusable_networks(named))
    yield from unusable
    if unusable:
        return  # addresses are checked once the networks are valid
    for (first, left), (second, right) in combinations(named.items(), 2):
        if left.overlaps(right):
            name = first.rpartition(".")[2]
            yield Problem(second, f"{right} overlaps {name} {left}; write networks that do not overlap")
    yield from _sizes(networks, len(addressed))
    yield from _mtus(networks)
    yield from _wrong(addressed, lambda address: _machine(address, networks))
    for name, network in networks.classes.items():
        yield from _wrong(
            classed.get(name, {}),
            lambda address, name=name, cidr=network.cidr: _unfit(address) or _outside(address, name, cidr),
        )


def _wrong(addressed: Mapping[str, Sequence[str]], refusal: Callable[[IPv4Address], str]) -> Iterator[Problem]:
    """Yields a problem for each reason of `refusal`, with the first machine that has it; "" stands for no reason."""
    wrongs: dict[str, list[str]] = {}
    for address, names in addressed.items():
        if wrong := refusal(IPv4Address(address)):
            wrongs.setdefault(wrong, []).append(f"{names[0]} has {address}")
    for wrong, machines in wrongs.items():
        more = f" ({len(machines) - 1} more machines have this error)" if len(machines) > 1 else ""
        yield Problem("quorate:servers", f"{machines[0]}, {wrong}{more}")


def _mtus(networks: Networks) -> Iterator[Problem]:
    overlay = networks.overlay
    if overlay and overlay.packet - VXLAN < _IPV6:
        yield Problem(
            f"{KEY}.overlay.mtu",
            f"{overlay.mtu} leaves {overlay.packet - VXLAN} bytes for a packet of a project's network, because VXLAN "
            f"adds {VXLAN}, and IPv6 needs {_IPV6}; write {_IPV6 + VXLAN} or more, best {1500 + VXLAN} or more",
        )


def _unusable_networks(named: Mapping[str, IPv4Network]) -> Iterator[Problem]:
    for key, network in named.items():
        if reason := _unusable(network.network_address) or _unusable(network.broadcast_address):
            yield Problem(key, f"{network} {reason}; write a private network, such as 10.20.0.0/16")


def _sizes(networks: Networks, machines: int) -> Iterator[Problem]:
    needed = machines * POD_ADDRESSES
    if needed > networks.pods.num_addresses:
        prefix = 32 - (needed - 1).bit_length()
        yield Problem(
            "quorate:networks.pods",
            f"{networks.pods} has {networks.pods.num_addresses} addresses, and {machines} machines need {needed} "
            f"({POD_ADDRESSES} each); write a prefix of /{prefix} or shorter",
        )
    if networks.services.prefixlen not in _SERVICES:
        bounds = f"/{_SERVICES[0]} to /{_SERVICES[-1]}"
        yield Problem(
            "quorate:networks.services", f"{networks.services} is too large or too small; write a prefix of {bounds}"
        )


def _machine(address: IPv4Address, networks: Networks) -> str:
    """Returns why a machine's address is invalid, and the text to write instead; "" if the address is valid."""
    if reason := _unfit(address):
        return reason
    management = networks.management
    if management and (reason := _outside(address, "management", management)):
        return reason
    classes = ((name, network.cidr) for name, network in networks.classes.items())
    for name, network in (("pods", networks.pods), ("services", networks.services), *classes):
        if address in network:
            return f"inside of the {name} network {network}; write another"
    return ""


def _unfit(address: IPv4Address) -> str:
    reason = _unusable(address)
    return f"which {reason}; write an address of a host" if reason else ""


def _outside(address: IPv4Address, name: str, network: IPv4Network) -> str:
    if address not in network:
        return f"outside of {name} {network}; write one inside"
    if network.prefixlen < 31 and address in _ends(network):
        return f"the first or last address of {name} {network}; write one between them"
    return ""


def _ends(network: IPv4Network) -> tuple[IPv4Address, IPv4Address]:
    return network.network_address, network.broadcast_address


def _unusable(address: IPv4Address) -> str:
    return _unusable_block(int(address) >> 16)


@lru_cache(maxsize=256)
def _unusable_block(block: int) -> str:
    """Returns why no machine can have an address in a /16 network; "" if a machine can.

    `block`: the first 16 bits of the address. They are enough, because reserved networks have a prefix of /16 or
    shorter.
    """
    address = IPv4Address(block << 16)
    if address in _THIS_NETWORK:
        return "stands for no host"
    if address.is_loopback:
        return "is a loopback address"
    if address.is_link_local:
        return "is a link-local address"
    if address.is_multicast:
        return "is a multicast address"
    return "is a reserved or broadcast address" if address.is_reserved else ""
