"""Networks beside management: services use the addresses that nodes have in the network of their class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network

from policy.facts.kubernetes.configuration import COMMAND, read_by, sections, written
from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_L2_AGENT, _CONTROLLER, _OVERLAY = "neutron-l2-agent", "ovn-controller", "overlay"
_OSD, _STORAGE = "ceph-osd", "storage"
_COMPUTE, _MIGRATION = "nova-compute", "migration"
_DIRECTORY = "/var/lib/quorate/node-values"
"""Where the pods of the OSDs have the files of all nodes (openstack/node_values.py)."""
_ADDRESSES = ("--public-addr", "--cluster-addr")
"""Arguments with which a start command gives an OSD its addresses, and overrides the networks of ceph.conf."""


def _has_addresses(facts: Facts, workload: Workload, name: str) -> bool:
    return any(node.class_address(name) for node in facts.eligible(workload))


def _wrong(facts: Facts, workload: Workload, name: str, used: dict[str, str]) -> Iterator[RuleProblem]:
    """Compares the addresses that a workload uses on its nodes with those that the nodes have in a network.

    `name`: the class of the network. `used`: the address in use by node; nodes without one use that of management.
    """
    addresses = {node.name: node.class_address(name) for node in facts.eligible(workload)}
    if others := sorted(node for node, address in addresses.items() if address and used.get(node) != address):
        first = others[0]
        actual = f"uses {used.get(first) or 'the management address'} on {first}"
        more = f", and other addresses on {join_names(others[1:])}" if others[1:] else ""
        yield RuleProblem(f"{actual}{more}", f"the node's {name} address, such as {addresses[first]} on {first}")
    if without := [node for node, address in addresses.items() if not address]:
        yield RuleProblem(
            f"runs on nodes without an address in the {name} network: {join_names(without)}", "one on every node"
        )
    shared = [address for address, count in Counter(used.values()).items() if count > 1]
    if shared:
        yield RuleProblem(f"several nodes use {join_names(sorted(shared))}", "an address of its own for each")


def _has_tunnels(facts: Facts, workload: Workload) -> bool:
    if facts.service(workload) not in (_L2_AGENT, _CONTROLLER) or workload.kind != "DaemonSet":
        return False
    return _has_addresses(facts, workload, _OVERLAY)


def _option(facts: Facts, workload: Workload, section: str, option: str) -> dict[str, str]:
    """Returns the value of an option in the files of single nodes, by node; nodes without a value are left out."""
    found: dict[str, str] = {}
    for config in read_by(workload, facts.config_maps):
        for key, text in config.files.items():
            if key.endswith(".conf") and (value := sections(text).get(section, option, fallback="")):
                found[key.removesuffix(".conf")] = value
    return found


def _address_files(facts: Facts, workload: Workload, name: str) -> dict[str, str]:
    """Returns the address in the file of each node for a network (openstack/address_files.py), by node."""
    files = (config.files for config in read_by(workload, facts.config_maps))
    return {
        key.removesuffix(f".{name}"): text.strip()
        for each in files
        for key, text in each.items()
        if key.endswith(f".{name}")
    }


@rule(
    id="tunnels-in-overlay-network",
    title="Tunnels between nodes use the overlay network",
    severity=Severity.MEDIUM,
    rationale="A tunnel at a node's management address carries the packets of projects beside those of the database "
    "and of messaging: tenants can fill that network. A node whose address in the overlay network nobody uses has it "
    "for nothing, and tunnels between the two networks may have no route.",
    sources=(RuleSource("004", "5.3.4", 24),),
    remediation="Set local_ip in section [ovs] to the node's overlay address, in a file of the node. Quorate does so "
    "for addresses: {overlay: …} of a server; remove local_ip from quorate:nodes, or correct it.",
    subjects=lambda facts: facts.workloads,
    applies=_has_tunnels,
    not_applicable_reason="no node of an L2 agent has an address in an overlay network",
    since="0.7.0",
)
def tunnels_in_overlay_network(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares local_ip in the files of single nodes, or the address files of ovn-controller, with the machines'."""
    if facts.service(workload) == _CONTROLLER:
        yield from _wrong(facts, workload, _OVERLAY, _address_files(facts, workload, _OVERLAY))
    else:
        yield from _wrong(facts, workload, _OVERLAY, _option(facts, workload, "ovs", "local_ip"))


def _has_disks(facts: Facts, workload: Workload) -> bool:
    return facts.service(workload) == _OSD and _has_addresses(facts, workload, _STORAGE)


def _of_osds(facts: Facts, workload: Workload) -> dict[str, str]:
    """Returns the address that OSDs use, by node: by the file of the node, or by the networks in ceph.conf."""
    texts = list(written(workload, facts.config_maps))
    commands = "\n".join(each.read() for each in texts if each.name == COMMAND)
    if any(argument in commands for argument in _ADDRESSES):
        ending = f".{_STORAGE}"
        if f'POD_IP=$(cat "{_DIRECTORY}/$NODE_NAME{ending}")' not in commands:
            return {}
        return {each.name.removesuffix(ending): each.read().strip() for each in texts if each.name.endswith(ending)}
    options = sections("\n".join(each.read() for each in texts if each.name == "ceph.conf"))
    networks = [
        _network(options.get("osd", name, fallback="") or options.get("global", name, fallback=""))
        for name in ("public_network", "cluster_network")
    ]
    addresses = {node.name: node.class_address(_STORAGE) for node in facts.eligible(workload)}
    return {
        node: address
        for node, address in addresses.items()
        if address and all(network and IPv4Address(address) in network for network in networks)
    }


def _network(text: str | None) -> IPv4Network | None:
    try:
        return IPv4Network(text) if text else None
    except ValueError:
        raise Malformed(f"a network of Ceph is '{text}', not one IPv4 network") from None


@rule(
    id="ceph-in-storage-network",
    title="Ceph's data uses the storage network",
    severity=Severity.MEDIUM,
    rationale="OSDs copy every write to each other, and all data anew after the loss of a disk or a node. In the "
    "management network, that traffic delays the votes of databases and messaging until members count as failed.",
    sources=(RuleSource("004", "5.3.4", 22),),
    remediation="Start OSDs with the node's storage address as --public-addr and --cluster-addr, as Quorate does for "
    "addresses: {storage: …} of a server, or without both, and with public_network and cluster_network in ceph.conf.",
    subjects=lambda facts: facts.workloads,
    applies=_has_disks,
    not_applicable_reason="no node of an OSD has an address in a storage network",
    since="0.7.0",
)
def ceph_in_storage_network(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads the OSDs' start command, the files of single nodes that it reads, and ceph.conf."""
    yield from _wrong(facts, workload, _STORAGE, _of_osds(facts, workload))


def _migrates(facts: Facts, workload: Workload) -> bool:
    if facts.service(workload) != _COMPUTE or workload.kind != "DaemonSet":
        return False
    return _has_addresses(facts, workload, _MIGRATION)


@rule(
    id="migrations-in-migration-network",
    title="Live migrations use the migration network",
    severity=Severity.MEDIUM,
    rationale="A live migration sends the memory of a virtual machine as fast as the network takes it. In the "
    "management network, that traffic delays the votes of databases and messaging, and the drain of a server has many.",
    sources=(RuleSource("project", "Networks", 4),),
    remediation="Set live_migration_inbound_addr in section [libvirt] of nova.conf to the node's migration address, in "
    "a file of the node. Quorate does so for addresses: {migration: …} of a server; remove the option from "
    "quorate:nodes, or correct it.",
    subjects=lambda facts: facts.workloads,
    applies=_migrates,
    not_applicable_reason="no node of nova-compute has an address in a migration network",
    since="0.7.0",
)
def migrations_in_migration_network(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares live_migration_inbound_addr in the files of single nodes with the machines' migration addresses."""
    used = _option(facts, workload, "libvirt", "live_migration_inbound_addr")
    yield from _wrong(facts, workload, _MIGRATION, used)
