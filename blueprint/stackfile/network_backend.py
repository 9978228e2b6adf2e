"""Checks what connects virtual machines: Open vSwitch with Neutron's agents, or OVN."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.problems import Problem
from blueprint.stackfile.settings import Settings

KEY = "quorate:networks.backend"


def problems(settings: Settings) -> Iterator[Problem]:
    """Yields a problem for a stack with OVN whose services are placed by a topology."""
    if settings.has_ovn and settings.topology:
        yield Problem(
            KEY,
            "a topology of Fuel-CCP places Neutron's agents, which OVN does not have; remove it, or write roles of "
            "servers in place of quorate:topology",
        )
