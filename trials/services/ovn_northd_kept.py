"""Trial of ovn-northd while two of three members of its databases are lost for good, one database after the other.

The databases and two ovn-northd run with the rendered containers, without a node.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from trials.services.containers import TriedContainer
from trials.services.ovn import begin
from trials.services.ovn_cluster import START, OvnCluster
from trials.services.ovn_network import OvnNetwork
from trials.services.ovn_survivor import apart, goes_on, without_leader
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, without_writes


def prove(root: Path, containers: Mapping[str, TriedContainer]) -> Sequence[Proof]:
    """Loses two members of the northbound database, then of the southbound one, under two ovn-northd that go on.

    Raises Unavailable if this machine cannot run the test bed.
    """
    started, notes, problem = time.monotonic(), list[str](), ""
    with ServiceTestbed(root) as testbed:
        network = OvnNetwork(testbed, containers, nodes=())
        databases = (network.northbound, network.southbound)
        try:
            for cluster in databases:
                begin(cluster)
            for daemon in network.daemons:
                network.start_daemon(daemon)
            until("an ovn-northd works", network.active, START)
            notes = [_under_northd(network, cluster) for cluster in databases]
            require(all(machine.runs for machine in network.daemons.values()), "an ovn-northd has ended")
        except (Broken, TimeoutError, subprocess.SubprocessError) as error:
            problem = f"{error}\n" + "\n".join(each.tails() for each in databases)
    name = "OVN: two of three members of each database are lost for good, and ovn-northd is not restarted"
    return [without_writes(name, round(time.monotonic() - started, 1), notes, problem)]


def _under_northd(network: OvnNetwork, cluster: OvnCluster) -> str:
    """Lets a database go on alone, and a new switch get its datapath. Returns a note for the report."""
    lost, survivor = apart(cluster, with_leader=False)
    cluster.kill(*lost)
    without_leader(cluster, survivor)
    until("the survivor goes on", lambda: goes_on(cluster, survivor), START, 1)
    began, switch = time.monotonic(), f"made-beside-{survivor}"
    network.change("--may-exist", "ls-add", switch)
    until("the switch has a datapath", lambda: _has_datapath(network, switch), START)
    return (
        f"{cluster.database}: a new switch had its datapath {time.monotonic() - began:.0f} s after the survivor went on"
    )


def _has_datapath(network: OvnNetwork, switch: str) -> bool:
    try:
        said = network.southbound.ask("--bare", "--columns=external_ids", "list", "datapath_binding")
    except subprocess.SubprocessError:
        return False
    return f"name={switch}" in said
