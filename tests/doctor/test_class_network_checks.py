"""Networks beside management: addresses and MTU of each machine, and packets from each to all others."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

import pytest

from blueprint.plan.nodes import Node, node
from blueprint.stackfile.class_networks import ClassName, ClassNetwork
from doctor import class_network_checks
from doctor.facts import ReadFacts, parse
from doctor.login import Reading
from tests import host_programs
from tests.doctor.test_checks import machine, reading

NETWORKS: dict[ClassName, ClassNetwork] = {
    "overlay": ClassNetwork.model_validate({"cidr": "10.21.0.0/16", "mtu": 9000}, strict=False)
}
NODES = [
    node(machine(f"m{number}", address=f"10.20.0.{number}", addresses={"overlay": f"10.21.0.{number}"}), "compute")
    for number in (1, 2, 3)
]


def read(of: Node, mtu: int = 9000, address: str = "") -> Reading:
    return reading(address=[f"eth1 {address or of.machine.addresses['overlay']}/16"], mtu=[f"eth1 {mtu}"])


def found(readings: dict[str, Reading]) -> list[tuple[str, str]]:
    return [(each.machine, each.problem) for each in class_network_checks.interfaces(NODES, readings, NETWORKS)]


def test_each_address_is_on_an_interface_of_the_network_s_mtu() -> None:
    sound = {each.name: read(each) for each in NODES}
    assert found(sound) == []
    larger = {**sound, "m1": read(NODES[0], 9216)}
    assert found(larger) == []
    wrong = {"m1": read(NODES[0], 1500), "m2": read(NODES[1], address="10.21.9.9")}
    assert found(wrong) == [
        ("m1", "its interface in the overlay network has an MTU of 1500, not 9000"),
        ("m2", "no interface has the overlay address 10.21.0.2"),
    ]


def test_each_machine_sends_to_those_that_are_there() -> None:
    readings = {"m1": read(NODES[0]), "m2": read(NODES[1]), "m3": read(NODES[2], address="10.21.9.9")}
    there = class_network_checks.present(NODES, readings)
    assert class_network_checks.script(NODES[0], there, NETWORKS).startswith("peers='10.21.0.1 8972 10.21.0.2'\n")
    assert class_network_checks.script(NODES[2], there, NETWORKS) == ""
    del readings["m2"]
    there = class_network_checks.present(NODES, readings)
    assert class_network_checks.script(NODES[0], there, NETWORKS) == ""


def test_what_does_not_arrive_is_named() -> None:
    there = class_network_checks.present(NODES, {each.name: read(each) for each in NODES})

    def problems(facts: ReadFacts) -> list[tuple[str, str]]:
        return [(each.check, each.problem) for each in class_network_checks.unreached(NODES[0], facts, there, NETWORKS)]

    assert problems(parse("ping\tyes\nend\tyes\n")) == []
    assert problems(parse("end\tyes\n")) == [("overlay", "it has no ping")]
    assert problems(parse("ping\tyes\nsilent\t10.21.0.3\nsmall\t10.21.0.2\nend\tyes\n")) == [
        ("overlay", "no answer in the overlay network from m3"),
        ("overlay", "packets of 9000 bytes do not pass in the overlay network to m2 and back"),
    ]


def sent(mtu: int, peers: Sequence[str]) -> ReadFacts:
    """Runs the script in a network namespace whose only interface has two addresses and this MTU."""
    host_programs.require(["ping"], ["iputils-ping"])
    made = f"ip link set lo mtu {mtu} up && ip address add 10.21.0.1/32 dev lo && ip address add 10.21.0.2/32 dev lo"
    check = f"{made} && ping -c 1 10.21.0.1"
    if subprocess.run(["unshare", "--net", "sh", "-c", check], capture_output=True, check=False).returncode:
        pytest.skip("needs root and network namespaces")
    lines = "\n".join(f"10.21.0.1 8972 {peer}" for peer in peers)
    script = f"peers='{lines}'\n{class_network_checks.REACH.read_text(encoding='utf-8')}"
    inside = ["unshare", "--net", "sh", "-c", f"{made} && exec sh -s"]
    done = subprocess.run(inside, input=script, capture_output=True, text=True, check=True, timeout=60)
    return parse(done.stdout)


def test_the_script_tells_silence_from_a_small_mtu() -> None:
    whole = sent(9000, ["10.21.0.2"])
    assert (whole.one("ping"), whole.all("small"), whole.all("silent")) == ("yes", (), ())
    small = sent(8999, ["10.21.0.2", "10.21.0.3"])
    assert (small.all("small"), small.all("silent")) == (["10.21.0.2"], ["10.21.0.3"])
