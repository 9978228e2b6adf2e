"""Machines that no component declares, found by the files that commands, copies and cloud-init place on them.

A host with files of kubeadm, kubelet or etcd counts as a machine, so that policy rules on machine files evaluate these
files. If the stack has a Node object with the host's name, the machine has its labels and taints.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import contract
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.machines.etcd_files import etcd_configuration
from policy.facts.machines.host_commands import Hosts, PlacedFile
from policy.facts.machines.machine import MASTER, MachineFacts
from policy.facts.machines.placed_files import OF_NODES, is_read
from policy.facts.machines.registration import joins_as_master, registrations
from policy.properties import Malformed
from policy.resource import Resource
from policy.shell.edits import MOUNTS
from policy.shell.member_traces import DATA
from policy.shell.syntax import UNKNOWN, is_known


def placed_machines(
    hosts: Hosts, declared: Iterable[MachineFacts], nodes: Sequence[NodeFacts]
) -> Iterator[MachineFacts]:
    """Yields a machine for each host on which the stack places files of kubeadm, kubelet or etcd.

    Hosts that a component declares, by address or name, are omitted. `declared`: the machines of components.
    """
    known = {name for each in declared for name in (each.address, each.node) if name}
    described = {node.name: node for node in nodes}
    for host, placed in _by_host(hosts):
        files = [each for each in placed if is_read(each.path) and each.text != UNKNOWN]
        if host not in known and any(map(_of_member, files)):
            machine = _machine(host, files, described)
            if machine.node not in known:
                yield machine


def _of_member(file: PlacedFile) -> bool:
    """Whether a file is one of a node or of etcd, or mounts a directory with members' data."""
    if OF_NODES.fullmatch(file.path):
        return True
    mounts = file.path in ("/etc/fstab", MOUNTS) or file.path.endswith(".mount")
    return mounts and any(path in file.text for path in DATA)


def _by_host(hosts: Hosts) -> Iterator[tuple[str, list[PlacedFile]]]:
    """Yields each host with the files placed on it. Each resource that places files on an unknown host is a host."""
    for host, placed in hosts.placed.items():
        if host and is_known(host):
            yield host, list(placed)
        elif host:
            for name in dict.fromkeys(each.resource.name for each in placed):
                yield name, [each for each in placed if each.resource.name == name]


def _machine(host: str, placed: Sequence[PlacedFile], described: Mapping[str, NodeFacts]) -> MachineFacts:
    files = {each.path: each.text for each in placed}
    props: dict[str, Any] = {"node": host, "files": files}
    resource = Resource(contract.MACHINE, placed[0].resource.urn, host, lambda: props)
    machine = MachineFacts(resource, is_placed=True, writers={each.path: each.resource.name for each in placed})
    etcd = etcd_configuration(files)
    try:
        named = next((each.name for each in registrations(machine) if each.name and is_known(each.name)), "")
        props["roles"] = [MASTER] if joins_as_master(machine) else []
    except Malformed:  # rules on its files report the file that cannot be read
        named = ""
    props["node"] = named or (etcd.name if etcd else "") or host
    if node := described.get(named or host):
        props["labels"] = dict(node.labels)
        props["taints"] = [f"{each.key}={each.value}:{each.effect}" for each in node.taints]
    return machine
