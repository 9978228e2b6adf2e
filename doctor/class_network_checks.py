"""Checks of networks beside management: every machine has its address, and reaches all others with whole packets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from blueprint.plan.nodes import Node
from blueprint.stackfile.class_networks import ClassName, ClassNetwork
from doctor.checks import MachineFinding
from doctor.facts import ReadFacts
from doctor.login import Reading
from text.quoting import first_of

Networks = Mapping[ClassName, ClassNetwork]

REACH = Path(__file__).with_name("reach.sh")
LIMIT = 240
"""Seconds for the packets of one machine. 999 others that are silent take it 3 s each, 32 at a time. Project figure."""
HEADERS = 28
"""Bytes of a packet that are not its payload: headers of IP 20 and ICMP 8 (RFC 791, 792)."""
_NAMED = 5


def interfaces(nodes: Sequence[Node], readings: Mapping[str, Reading], networks: Networks) -> Iterator[MachineFinding]:
    """Yields machines whose address in a network no interface has, or an interface of a smaller MTU."""
    for node in nodes:
        for name, address in node.machine.addresses.items() if node.name in readings else ():
            mtu, packet = readings[node.name].facts.mtu(address), networks[name].packet
            if mtu is None:
                problem = f"no interface has the {name} address {address}"
                yield MachineFinding(name, node.name, problem, "set it there, or correct addresses in the stack file")
            elif mtu < packet:
                problem = f"its interface in the {name} network has an MTU of {mtu}, not {packet}"
                remedy = f"set it there and in the switches, or correct quorate:networks.{name}.mtu"
                yield MachineFinding(name, node.name, problem, remedy)


def present(nodes: Sequence[Node], readings: Mapping[str, Reading]) -> dict[ClassName, dict[str, Node]]:
    """Returns the machines that have their address in a network on an interface: by class, by address."""
    found: dict[ClassName, dict[str, Node]] = defaultdict(dict)
    for node in nodes:
        for name, address in node.machine.addresses.items() if node.name in readings else ():
            if readings[node.name].facts.mtu(address) is not None:
                found[name][address] = node
    return dict(found)


def script(node: Node, there: Mapping[ClassName, Mapping[str, Node]], networks: Networks) -> str:
    """Returns the script that sends packets from a machine to all others of its networks; "" if there are none.

    `there`: the machines of each network, as `present` returns them.
    """
    lines = [
        f"{own} {networks[name].packet - HEADERS} {other}"
        for name, own in node.machine.addresses.items()
        for other in there.get(name, {})
        if own in there.get(name, {}) and other != own
    ]
    text = "\n".join(lines)
    return f"peers='{text}'\n{REACH.read_text(encoding='utf-8')}" if lines else ""


def unreached(
    node: Node, facts: ReadFacts, there: Mapping[ClassName, Mapping[str, Node]], networks: Networks
) -> Iterator[MachineFinding]:
    """Yields what the script found on a machine: others that do not answer, or only to small packets."""
    names: dict[str, tuple[ClassName, str]] = {
        address: (name, other.name) for name, others in there.items() for address, other in others.items()
    }
    for each in node.machine.addresses if not facts.one("ping") else ():
        yield MachineFinding(each, node.name, "it has no ping", "install iputils-ping")
    for key in ("silent", "small"):
        found: dict[ClassName, list[str]] = defaultdict(list)
        for name, other in (names[address] for address in facts.all(key) if address in names):
            found[name].append(other)
        for name, others in found.items():
            which, packet = first_of(sorted(others), _NAMED), networks[name].packet
            if key == "silent":
                problem = f"no answer in the {name} network from {which}"
                remedy = "check interfaces, VLANs and routes of this network on both"
            else:
                problem = f"packets of {packet} bytes do not pass in the {name} network to {which} and back"
                remedy = f"set this MTU on the switches between them, or correct quorate:networks.{name}.mtu"
            yield MachineFinding(name, node.name, problem, remedy)
