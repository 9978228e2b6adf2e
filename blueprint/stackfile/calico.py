"""Checks `quorate:calico`: how Calico connects pods on different nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from blueprint.problems import Problem
from blueprint.stackfile.settings import Settings
from text.suggestion import did_you_mean

KEY = "quorate:calico"
TUNNELS = f"{KEY}.tunnels"


def problems(settings: Settings, racks: Mapping[str | None, Sequence[str]]) -> Iterator[Problem]:
    """Yields the problems of Calico's settings. `racks`: names of the machines in each rack; None: in no known rack."""
    if "calico" not in settings.model_fields_set:
        return
    if settings.cni != "calico":
        yield Problem(KEY, f"is for Calico, and quorate:cni is {settings.cni}; remove one of them")
    elif settings.has_existing_machines:
        yield Problem(KEY, "is for a new cluster; with machines: existing, remove it")
    yield from _tunnels(settings, sum(map(len, racks.values())))
    yield from _peers(settings, racks)


def _tunnels(settings: Settings, machines: int) -> Iterator[Problem]:
    given = settings.calico
    if given.encapsulation == "none" and given.tunnels:
        yield Problem(TUNNELS, "is for encapsulation ipip or vxlan; write one of them, or remove it")
    elif given.encapsulation != "none" and given.tunnels is None:
        advice = "write a network that nothing else uses, such as 10.30.0.0/20"
        yield Problem(
            TUNNELS,
            f"is missing: with encapsulation {given.encapsulation}, connections of pods on their node's network come "
            f"from the tunnels' addresses, which NetworkPolicies must admit; {advice}",
        )
    elif given.tunnels and given.tunnels.num_addresses < machines:
        has = f"{given.tunnels} has {given.tunnels.num_addresses} addresses"
        prefix = 32 - (machines - 1).bit_length()
        yield Problem(TUNNELS, f"{has}, and {machines} machines need one each; write a prefix of /{prefix} or shorter")


def _peers(settings: Settings, racks: Mapping[str | None, Sequence[str]]) -> Iterator[Problem]:
    known = sorted(name for name in racks if name)
    counted = Counter((peer.rack, peer.address) for peer in settings.calico.peers)
    for number, peer in enumerate(settings.calico.peers):
        key = f"{KEY}.peers[{number}]"
        if peer.rack and peer.rack not in racks:
            advice = f"write one of: {', '.join(known)}" if known else "write the rack of each server"
            yield Problem(
                f"{key}.rack", f"no server is in rack '{peer.rack}'{did_you_mean(peer.rack, known)}; {advice}"
            )
        if counted[peer.rack, peer.address] > 1:
            yield Problem(key, f"{peer.address} is a peer of the same nodes twice; remove one entry")
