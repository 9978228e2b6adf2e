"""Checks of network cards whose virtual functions virtual machines get (SR-IOV; source 004, 2.5.1, Prerequisites)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.plan.nodes import Node
from blueprint.stackfile import sriov
from blueprint.stackfile.settings import Settings
from doctor.checks import MachineFinding, Problems
from doctor.facts import ReadFacts
from doctor.login import Reading

SRIOV = "SR-IOV"
"""Name of the check."""


def cards(nodes: Sequence[Node], readings: Mapping[str, Reading], settings: Settings) -> Iterator[MachineFinding]:
    """Yields what is wrong with the cards of machines: a card, its functions, or what gives them to guests."""
    for node in nodes:
        for name in sriov.devices(settings, node.name):
            for problem, remedy in _card(name, readings[node.name].facts):
                yield MachineFinding(SRIOV, node.name, problem, remedy)


def _card(name: str, facts: ReadFacts) -> Problems:
    found = {card: rest.split() for card, _, rest in (line.partition(" ") for line in facts.all("functions"))}
    if name not in found:
        advice = "correct the name in quorate:nodes, or allow SR-IOV in the firmware"
        yield f"it has no network card {name} with virtual functions", advice
        return
    number, most, state = [*found[name], "", "", ""][:3]
    path = f"/sys/class/net/{name}/device/sriov_numvfs"
    if not number.isdecimal() or int(number) == 0:
        yield f"{name} has no virtual functions", f"write how many, up to {most or 'its limit'}, to {path} at each boot"
    # A card without a carrier has the state down; the kernel reports unknown for drivers that do not tell.
    if state == "down":
        yield f"{name} is down", f"run `ip link set {name} up` at each boot, and check its cable"
    if not facts.one("iommu"):
        yield (
            "its IOMMU is off",
            "add intel_iommu=on to the kernel's parameters (of Intel), and allow it in the firmware",
        )
