"""Finds etcd clusters that no component declares, by the configuration that commands and copies place on machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import contract
from policy.facts.components import EtcdFacts
from policy.facts.machines.etcd_files import EtcdConfiguration, etcd_configuration
from policy.facts.machines.host_commands import Hosts
from policy.facts.machines.libvirt import CLOUD_INIT, LibvirtDomain
from policy.resource import Resource
from policy.shell.syntax import is_known


@dataclass(frozen=True)
class _PlacedMember:
    host: str
    configuration: EtcdConfiguration
    resource: Resource
    """The command or copy that places the member's configuration."""

    @property
    def is_named(self) -> bool:
        """Whether the member's name is known. The name of a cloud-init disk, not a machine, is not its name."""
        return bool(self.configuration.name) or self.resource.type != CLOUD_INIT or not self.configuration.members

    @property
    def address(self) -> str:
        """The address in the member list of a member that cloud-init configures; otherwise the host's own address."""
        own = self.configuration.members.get(self.node, self.host)
        return own if self.resource.type == CLOUD_INIT else self.host

    @property
    def node(self) -> str:
        """The etcd member's name: the configured name, or the name in the member list whose URL has the host's address.

        Without both, the host's address.
        """
        named = [name for name, host in self.configuration.members.items() if host == self.host]
        return self.configuration.name or next(iter(named), self.host)


def placed_configurations(hosts: Hosts) -> Mapping[str, EtcdConfiguration]:
    """Returns the etcd configurations that the stack places on machines, by the member's name."""
    return {each.node: each.configuration for each in _placed(hosts) if each.is_named}


def placed_etcds(
    hosts: Hosts, declared: Iterable[EtcdFacts], domains: Iterable[LibvirtDomain]
) -> tuple[EtcdFacts, ...]:
    """Returns the etcd clusters on machines that no Etcd component declares.

    Two members are in one cluster if their member lists have a member in common. `declared`: the Etcd components.
    `domains`: virtual machines, which give the physical host of a member with the same name.
    """
    every = _placed(hosts)
    if not every:  # avoids reading members of components, which may be unknown
        return ()
    known = {member.node for etcd in declared for member in etcd.members}
    carriers = {domain.name: domain.host for domain in domains}
    clusters: list[list[_PlacedMember]] = []
    for placed in every:
        names = {placed.node, *placed.configuration.members}
        if names & known:
            continue
        joined = [each for each in clusters if any({one.node, *one.configuration.members} & names for one in each)]
        clusters = [each for each in clusters if each not in joined]
        clusters.append([placed, *(one for each in joined for one in each)])
    return tuple(_cluster(members, carriers) for members in clusters)


def _placed(hosts: Hosts) -> list[_PlacedMember]:
    found: list[_PlacedMember] = []
    for host, files in hosts.placed.items():
        configuration = etcd_configuration({file.path: file.text for file in files})
        if configuration and is_known(host):
            first = next(file for file in files if "etcd" in file.path.lower())
            found.append(_PlacedMember(host, configuration, first.resource))
    return found


def _cluster(placed: list[_PlacedMember], carriers: Mapping[str, str]) -> EtcdFacts:
    """Returns a cluster as an Etcd component.

    Its URN is that of a command or copy that places a member's configuration.
    """
    addresses = {name: host for each in placed for name, host in each.configuration.members.items()}
    addresses |= {each.node: each.address for each in placed if each.is_named}
    members = [
        {"node": name, "server": carriers.get(name) or name, "address": address}
        for name, address in sorted(addresses.items())
    ]
    first = min(placed, key=lambda each: each.node).resource
    return EtcdFacts(Resource(contract.ETCD, first.urn, first.name, lambda: {"members": members}))
