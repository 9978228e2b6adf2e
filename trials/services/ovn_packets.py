"""Trials of OVN as a whole: packets between ports on two nodes, while what steers them fails.

While something fails, a port sends packets to two others on another node: one in its own network, and one behind the
router. None may be lost. Then a new port must be reached. The docstring of a failure is the name of its trial in the
report.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from trials.services import ovn
from trials.services.containers import TriedContainer
from trials.services.ovn_cluster import OvnCluster
from trials.services.ovn_network import LIMIT, MTU, LogicalPort, OvnNetwork
from trials.services.steady_pings import SteadyPings
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn

Failure = Callable[[OvnNetwork], list[str]]
_OVER_ICMP = 28
"""Bytes of the headers of IPv4 and of ICMP, which ping's size does not count."""


def southbound_leader_killed(network: OvnNetwork) -> list[str]:
    """kill -9 of the southbound database's leader."""
    return _leader_killed(network, network.southbound)


def northbound_leader_killed(network: OvnNetwork) -> list[str]:
    """kill -9 of the northbound database's leader."""
    return _leader_killed(network, network.northbound)


def _leader_killed(network: OvnNetwork, cluster: OvnCluster) -> list[str]:
    leader = cluster.leader()
    cluster.kill(leader)
    note = _bound(network)
    cluster.start(leader)
    cluster.wait_ready(*cluster.members)
    return [note]


def northd_killed(network: OvnNetwork) -> list[str]:
    """kill -9 of the ovn-northd that works."""
    name = _active(network)
    network.daemons[name].kill()
    took = until("the other ovn-northd works", lambda: network.active() not in (None, name), LIMIT, 0.1)
    note = _bound(network)
    network.start_daemon(name)
    return [f"the other one worked after {took:.1f} s", note]


def northd_cut_off(network: OvnNetwork) -> list[str]:
    """The machine of the ovn-northd that works is cut off."""
    name = _active(network)
    network.testbed.isolate(name)
    note = _bound(network)
    network.testbed.heal()
    return [note]


def southbound_leader_cut_off(network: OvnNetwork) -> list[str]:
    """The machine of the southbound database's leader is cut off."""
    network.testbed.isolate(network.southbound.leader())
    note = _bound(network)
    network.testbed.heal()
    network.southbound.wait_ready(*network.southbound.members)
    return [note]


def controller_replaced(network: OvnNetwork) -> list[str]:
    """ovn-controller of a node ends, as when its pod is replaced, and starts again."""
    node = "compute-2"
    network.nodes[node].stop()
    time.sleep(2)
    network.start_controller(node)
    took = network.wait_connected(node)
    return [f"ovn-controller was connected after {took:.1f} s", _bound(network)]


def gateway_cut_off(network: OvnNetwork) -> list[str]:
    """The network node that carries the router's gateway is cut off."""
    source, outside = network.ports[0], network.outside.address
    pings = SteadyPings(source.node, source.inside, "outside", outside)
    time.sleep(2)
    network.testbed.isolate("network-1")
    took = until("the machine outside answers again", lambda: source.reaches(outside), LIMIT, 0.1)
    time.sleep(5)
    network.testbed.heal()
    time.sleep(20)  # the node takes the gateway back
    require(source.reaches(outside), "the machine outside does not answer after the node's return")
    found = pings.stop()
    there = (
        f"{found.lost} of {found.sent} packets to the machine outside were lost, at most {found.silence:.1f} s on end"
    )
    return [f"it answered again {took:.1f} s after the cut", f"{there}, with the node's return"]


def _active(network: OvnNetwork) -> str:
    until("an ovn-northd works", network.active, LIMIT)
    return network.active() or ""


def _bound(network: OvnNetwork) -> str:
    """Binds a new port; returns how long that took."""
    took = network.new_port_answers("compute-2", network.ports[0])
    return f"a port that was requested at once was reached after {took:.1f} s"


FAILURES: tuple[Failure, ...] = (
    southbound_leader_killed,
    northbound_leader_killed,
    northd_killed,
    controller_replaced,
    gateway_cut_off,
    southbound_leader_cut_off,
    northd_cut_off,
)


def prove(
    root: Path, containers: Mapping[str, TriedContainer], failures: Sequence[Failure] = FAILURES
) -> Sequence[Proof]:
    """Starts a network, and runs the failures on it until it does not survive one. Returns the results.

    `containers`: those of a stack with the userspace datapath whose physical network has the interface eth0. Raises
    Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        network = OvnNetwork(testbed, containers)
        started = time.monotonic()
        for cluster in (network.northbound, network.southbound):
            ovn.begin(cluster)
        for name in network.daemons:
            network.start_daemon(name)
        network.start_nodes()
        network.wait_connected(*network.nodes)
        network.make_switches()
        source, beside, behind = (
            network.add_port(node, switch)
            for node, switch in (("compute-1", "red"), ("compute-2", "red"), ("compute-2", "blue"))
        )
        whole = f"{MTU - _OVER_ICMP}"
        for port in (beside, behind):
            until(f"{port.name} answers", lambda port=port: source.reaches(port.address, "-s", whole), LIMIT)
        until("the machine outside answers", lambda: source.reaches(network.outside.address), LIMIT)
        until("packets go through a tunnel", lambda: network.tunnelled("compute-1"), LIMIT)
        notes = [
            f"started, and reached each other and the machine outside, after {time.monotonic() - started:.0f} s",
            f"packets of {MTU} bytes pass",
        ]
        return in_turn("OVN", failures, lambda name, failure: _trial(name, network, source, failure), notes)


def _trial(name: str, network: OvnNetwork, source: LogicalPort, failure: Failure) -> Proof:
    started = time.monotonic()
    others = network.ports[1:3]
    pings = [SteadyPings(source.node, source.inside, port.name, port.address) for port in others]
    time.sleep(2)
    notes, problem = [""], ""
    try:
        notes = failure(network)
    except (Broken, TimeoutError, subprocess.SubprocessError) as error:
        problem = f"{error}\n{_logs(network)}"
    time.sleep(2)
    results = [each.stop() for each in pings]
    sent, lost = sum(each.sent for each in results), sum(each.lost for each in results)
    seconds = round(time.monotonic() - started, 1)
    return Proof(name, sent, sent - lost, lost, seconds, notes=tuple(notes), failure=problem)


def _logs(network: OvnNetwork) -> str:
    machines = {**network.daemons, **network.nodes}
    own = "\n".join(f"{name}:\n{machine.tail(10)}" for name, machine in machines.items())
    return f"{network.northbound.tails()}\n{network.southbound.tails()}\n{own}"
