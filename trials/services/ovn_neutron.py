"""Trials of Neutron on OVN: what its API makes is in OVN's databases, an instance gets its address and metadata, and no
acknowledged network is lost while the northbound database's leader fails.

The docstring of a failure is the name of its trial in the report.
"""

from __future__ import annotations

import hashlib
import hmac
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from trials.services.containers import TriedContainer
from trials.services.metadata_stand_in import ANSWER
from trials.services.openstack_services import START
from trials.services.openstack_trials import Programs
from trials.services.ovn_cloud import AGENTS, COMPUTE, GATEWAY, METADATA, OvnCloud
from trials.services.ovn_network import LIMIT, LogicalPort
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn, without_writes

Failure = Callable[[OvnCloud], list[str]]
_WRITES = 5
"""Networks that must be acknowledged before, during and after a failure. Project figure."""


def leader_killed(cloud: OvnCloud) -> list[str]:
    """kill -9 of the northbound database's leader while networks are made."""
    cluster = cloud.network.northbound
    leader = cluster.leader()
    cluster.kill(leader)
    note = _went_on(cloud)
    cluster.start(leader)
    cluster.wait_ready(leader)
    return [note]


def leader_paused(cloud: OvnCloud) -> list[str]:
    """The northbound database's leader is stopped (SIGSTOP) while networks are made."""
    leader = cloud.network.northbound.members[cloud.network.northbound.leader()]
    leader.freeze()
    note = _went_on(cloud)
    leader.thaw()
    return [note]


def leader_cut_off(cloud: OvnCloud) -> list[str]:
    """The machine of the northbound database's leader is cut off while networks are made."""
    cloud.services.testbed.isolate(cloud.network.northbound.leader())
    note = _went_on(cloud)
    cloud.services.testbed.heal()
    return [note]


def _went_on(cloud: OvnCloud) -> str:
    silence = cloud.services.more(_WRITES)
    return f"the next network was acknowledged after {silence:.1f} s"


FAILURES: tuple[Failure, ...] = (leader_killed, leader_paused, leader_cut_off)


def prove(
    programs: Programs,
    ovn_root: Path,
    containers: Mapping[str, TriedContainer],
    failures: Sequence[Failure] = FAILURES,
) -> Iterator[Proof]:
    """Starts Neutron on OVN, uses it, and runs the failures until it does not survive one. Yields the results.

    `containers`: those of a stack with the userspace datapath whose physical network has the interface eth0. Raises
    Unavailable if this machine cannot run the test bed, and Broken if a service does not work.
    """
    with ServiceTestbed(programs.root) as testbed:
        cloud = OvnCloud(testbed, programs, ovn_root, containers)
        started = time.monotonic()
        try:
            notes = cloud.start()
            steps = [*_written(cloud), *_instance(cloud)]
        except (Broken, TimeoutError, subprocess.SubprocessError) as error:
            raise Broken(f"{error}\n{cloud.logs()}") from None
        name = "Neutron on OVN: a network, a router, a port and a floating IP; an address by DHCP, and metadata"
        yield without_writes(name, time.monotonic() - started, (*notes, *steps))
        yield from in_turn("Neutron on OVN", failures, lambda title, failure: _trial(title, cloud, failure), ())
        yield _agents_deleted(cloud)


def _written(cloud: OvnCloud) -> list[str]:
    """Makes networks and ports by the API. Raises Broken if OVN's databases lack one of them."""
    cloud.wire()
    made, north = cloud.wired, cloud.network.northbound
    require(made["binding"] == "ovs", f"Neutron binds the port as {made['binding']}")
    for table, column, wanted in (
        ("logical_switch", "name", f"neutron-{made['network']}"),
        ("logical_router", "name", f"neutron-{made['router']}"),
        ("logical_switch_port", "name", made["port"]),
        ("nat", "external_ip", made["floating"]),
    ):
        found = north.ask("--bare", f"--columns={column}", "list", table).split()
        require(wanted in found, f"the northbound database has no {table} {wanted}")
    return [f"networks of {made['mtu']} bytes; a port of an instance was bound as {made['binding']}"]


def _instance(cloud: OvnCloud) -> list[str]:
    """Plugs the instance. Raises Broken if it does not get its address, its metadata and its floating IP."""
    made = cloud.wired
    port = cloud.plug()
    active = until("the port is ACTIVE", lambda: cloud.ask(f"status {made['port']}") == "ACTIVE", LIMIT, 1)
    bound = cloud.network.southbound.ask("--bare", "--columns=logical_port", "list", "port_binding").split()
    require(made["port"] in bound, "the southbound database has no binding of the port")
    lease = cloud.lease(port)
    require(f"inet {made['address']}/24" in lease, f"the lease does not have {made['address']}: {lease}")
    require(METADATA in lease, f"the lease has no route to {METADATA}: {lease}")
    answered = until("the metadata agent answers", lambda: cloud.read_metadata(port) == ANSWER, LIMIT, 1)
    _require_signed(cloud, port)
    floating = until("the floating IP answers", lambda: _outside_reaches(cloud, made["floating"]), LIMIT, 0.5)
    return [
        f"the port was ACTIVE {active:.0f} s after it was plugged",
        f"OVN's DHCP gave {made['address']} and the route to {METADATA}",
        f"the metadata agent answered after {answered:.0f} s, and named instance and project to Nova with a signature",
        f"the floating IP answered a machine outside after {floating:.1f} s",
    ]


def _require_signed(cloud: OvnCloud, port: LogicalPort) -> None:
    """Raises Broken unless the agent has asked Nova for the instance, with the signature that Nova checks."""
    made, asked = cloud.wired, cloud.asked()[-1]
    secret = cloud.agent_option("metadata_proxy_shared_secret")
    signature = hmac.new(secret.encode(), made["instance"].encode(), hashlib.sha256).hexdigest()
    wanted = {
        "path": "/latest/meta-data/instance-id",
        "x-instance-id": made["instance"],
        "x-tenant-id": made["project"],
        "x-instance-id-signature": signature,
        "x-forwarded-for": port.address,
    }
    wrong = sorted(name for name, value in wanted.items() if asked.get(name) != value)
    require(not wrong, f"the metadata agent asked Nova with other values of {', '.join(wrong)}")


def _outside_reaches(cloud: OvnCloud, address: str) -> bool:
    try:
        cloud.network.outside.run(["ping", "-q", "-c", "1", "-W", "1", address])
    except subprocess.CalledProcessError:
        return False
    return True


def _trial(name: str, cloud: OvnCloud, failure: Failure) -> Proof:
    started = time.monotonic()
    services, cluster = cloud.services, cloud.network.northbound
    services.write()
    notes, problem = [""], ""
    lost: set[int] = set()
    try:
        services.more(_WRITES)
        notes = failure(cloud)
        services.more(_WRITES)
        cluster.wait_ready(*cluster.members)
    except (Broken, TimeoutError, subprocess.SubprocessError) as error:
        problem = f"{error}\n{cloud.logs()}"
    tried, made = services.end_write(), services.acknowledged()
    if not problem:
        time.sleep(5)  # the members have what was acknowledged a moment ago
        lost = made - {int(line) for line in services.use("list").split()}
        for member in cluster.members:
            lost |= made - cloud.networks(member)
    return Proof(name, tried, len(made), len(lost), time.monotonic() - started, tuple(notes), problem)


def _agents_deleted(cloud: OvnCloud) -> Proof:
    """Ends a node for good, and deletes its agents by the API, as after a replacement under another name."""
    started = time.monotonic()
    cloud.network.nodes[COMPUTE].kill()
    silent = until("Neutron lists its agents as down", lambda: len(_down(cloud)) == len(AGENTS), START, 5)
    deleted = cloud.ask(f"delete {COMPUTE}")
    require(len(deleted) == len(AGENTS), f"Neutron has {len(deleted)} agents of {COMPUTE}")
    until("Neutron lists none of them", lambda: not any(each["host"] == COMPUTE for each in cloud.agents()), START, 2)
    for table, column in (("chassis", "hostname"), ("chassis_private", "name")):
        left = cloud.network.southbound.ask("--bare", f"--columns={column}", "list", table).split()
        require(left == [GATEWAY], f"the southbound database's table {table} has {', '.join(left)}")
    name = "Neutron on OVN: the agents of a compute that is gone are deleted by the API"
    notes = (f"Neutron listed them as down after {silent:.0f} s", f"the southbound database has no chassis {COMPUTE}")
    return without_writes(name, time.monotonic() - started, notes)


def _down(cloud: OvnCloud) -> list[str]:
    return [each["type"] for each in cloud.agents() if each["host"] == COMPUTE and not each["alive"]]
