"""Reads the resources of a stack as nodes, workloads, machines and components, which the policy rules evaluate.

One `Facts` object serves all rules in an evaluation of a stack. It reads the resources and never the plan that Quorate
computed them with. The Cloud component names the reference architecture that rules compare the stack with; the
architectures are files of the blueprint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cached_property
from ipaddress import IPv4Network
from pathlib import Path

from contract import NAME
from policy.facts import architecture
from policy.facts.architecture import RequiredArchitecture, RequiredRow
from policy.facts.components import CloudFacts, EtcdFacts, MasterTierFacts, VirtHostFacts
from policy.facts.kubernetes import scheduling
from policy.facts.kubernetes.autoscalers import Autoscaler, autoscalers, by_target
from policy.facts.kubernetes.budgets_and_services import Budget, Service, budgets, services
from policy.facts.kubernetes.configuration import ConfigMap, config_maps
from policy.facts.kubernetes.network_policies import NetworkPolicy, network_policies
from policy.facts.kubernetes.node import NodeFacts, nodes, outside
from policy.facts.kubernetes.operators import Operated, operated
from policy.facts.kubernetes.selectors import Labels
from policy.facts.kubernetes.volumes import Volumes
from policy.facts.kubernetes.workload import Workload, workloads
from policy.facts.levels import RuleLevel
from policy.facts.machines.address_pools import tunnel_networks
from policy.facts.machines.etcd_files import EtcdConfiguration, etcd_configuration
from policy.facts.machines.host_commands import Command, Hosts, commands
from policy.facts.machines.libvirt import LibvirtDomain, domains
from policy.facts.machines.machine import MachineFacts, machines
from policy.facts.machines.placed_etcd import placed_configurations, placed_etcds
from policy.facts.machines.placed_files import with_placed_files
from policy.facts.machines.placed_machines import placed_machines
from policy.facts.order import Order
from policy.facts.stack_configuration import StackConfiguration
from policy.facts.stack_waivers import Waivers, today
from policy.findings import Finding
from policy.resource import Resource

_ROOT = Path(__file__).resolve().parent.parent.parent


class NoNodes(Exception):
    """A policy rule needs the eligible nodes of a workload, but the stack describes no nodes."""

    def __init__(self) -> None:
        super().__init__("the stack describes no node (Machine, MachinePool or Node), so where it may run is not known")


class NotConfigured(Exception):
    """The policy pack has not received the stack's configuration."""

    def __init__(self) -> None:
        super().__init__(
            "the policy pack has received no configuration of the stack: its profile and waivers are unknown"
        )


class Facts:
    """The facts about a stack that policy rules may read, derived from its resources."""

    def __init__(
        self,
        resources: Iterable[Resource],
        configuration: StackConfiguration | None = None,
        waivers: Waivers | None = None,
        levels: tuple[RuleLevel, ...] = (),
    ) -> None:
        """`configuration` and `waivers`: those of the stack, if they are known.

        `levels`: the enforcement level of each rule in this evaluation; () if Pulumi's SDK runs a policy without
        Quorate's analyzer (analyzer.py).
        """
        self.resources = tuple(resources)
        self._configuration = configuration or StackConfiguration()
        self._architecture_file = self._configuration.architecture
        self.waivers = waivers or Waivers(on=today())
        self.levels = levels
        self.findings: Mapping[str, Sequence[Finding]] = {}
        """Findings of the rules that can be waived, by the rule's id, before waivers are applied. They are known to the
        other rules only (policy/evaluation.py)."""
        self._eligible: dict[Workload, tuple[NodeFacts, ...]] = {}
        self._rows: dict[Workload, RequiredRow | None] = {}

    def after(self, findings: Mapping[str, Sequence[Finding]]) -> Facts:
        """Returns the same facts with the findings of the rules that can be waived."""
        known = copy(self)
        known.findings = dict(findings)
        return known

    @cached_property
    def stack_urn(self) -> str:
        """URN of the stack itself, for findings about the whole stack."""
        for resource in self.resources:
            if resource.type == "pulumi:pulumi:Stack":
                return resource.urn
        return self.resources[0].urn if self.resources else ""

    @property
    def stack_name(self) -> str:
        """The stack's name, which its URN contains; empty if no resource is known."""
        return self.stack_urn.removeprefix("urn:pulumi:").partition("::")[0]

    @cached_property
    def clouds(self) -> tuple[CloudFacts, ...]:
        """The stack's Cloud component, () if the stack has none."""
        return tuple(CloudFacts(each) for each in self.resources if each.type == CloudFacts.TYPE)

    @property
    def profile(self) -> str:
        """The profile, "lab" or "production": of the Cloud component, or else of the stack's configuration."""
        return self.clouds[0].profile if self.clouds else self.configured_profile

    @property
    def configured_profile(self) -> str:
        """The profile in the stack's configuration, which decides the enforcement level of each rule."""
        return self._configuration.profile

    @property
    def configured_stack(self) -> str:
        """Name of the stack whose configuration the pack received. Raises NotConfigured if it received none."""
        if not self._configuration.stack:
            raise NotConfigured
        return self._configuration.stack

    @property
    def names_no_architecture(self) -> bool:
        """Whether neither a Cloud component nor the stack's configuration names a reference architecture."""
        return not self.clouds and self._architecture_file is None

    @property
    def architecture(self) -> RequiredArchitecture | None:
        """The reference architecture that the Cloud or the stack's configuration names; None if neither names one.

        A built-in name always selects the built-in file. Any other name selects the stack's own file.
        """
        if isinstance(self._architecture, Exception):
            raise self._architecture
        return self._architecture

    @cached_property
    def _architecture(self) -> RequiredArchitecture | Exception | None:
        """The reference architecture, None if none is named, or the error of loading it; loaded once for all rules."""
        try:
            return self._named_architecture()
        except Exception as reason:  # a bad file, an unknown name
            return reason

    def _named_architecture(self) -> RequiredArchitecture | None:
        """Loads the architecture that the Cloud component names, or without a Cloud the stack's configuration.

        Returns None if neither names an architecture. The rows of Ceph apply only to a stack that runs Ceph itself,
        those of Neutron's agents only to one without OVN.
        """
        if self.clouds:
            cloud = self.clouds[0]
            found = self._load_architecture(cloud.architecture)
            found = found.without_ceph() if cloud.has_external_ceph else found
            return found.with_ovn() if cloud.has_ovn else found
        if self._architecture_file is None:
            return None
        name = self._architecture_file
        return architecture.built_in(name) if architecture.is_built_in(name) else architecture.own(_ROOT / name)

    def _load_architecture(self, name: str) -> RequiredArchitecture:
        if architecture.is_built_in(name):
            return architecture.built_in(name)
        if self._architecture_file is None:
            raise LookupError(
                f"architecture '{name}' is not built in, and the stack's configuration has no file for it"
            )
        own = architecture.own(_ROOT / self._architecture_file)
        if own.name != name:
            raise LookupError(f"the Cloud names architecture '{name}', the stack's own file is '{own.name}'")
        return own

    @property
    def required_architecture(self) -> RequiredArchitecture:
        """The reference architecture, for rules that need one. Raises LookupError if the stack names none."""
        if self.architecture is None:
            raise LookupError("the stack names no reference architecture")
        return self.architecture

    def row(self, workload: Workload) -> RequiredRow | None:
        """Returns the workload's row in the reference architecture; None if it has none.

        The row is found by the workload's annotation, or else by the label app.kubernetes.io/name of its pods.
        """
        if workload not in self._rows:
            self._rows[workload] = self._find_row(workload)
        return self._rows[workload]

    def known_row(self, workload: Workload) -> RequiredRow:
        """Returns the workload's row in the reference architecture. Raises LookupError if it has none."""
        row = self.row(workload)
        if row is None:
            raise LookupError(f"{workload.title} has no row")
        return row

    def _find_row(self, workload: Workload) -> RequiredRow | None:
        rows = self.architecture.rows if self.architecture else ()
        said = workload.row
        if said is None and NAME in workload.labels:
            name = workload.labels[NAME]
            return next((row for row in rows if row.service == name), None)
        return next((row for row in rows if row.row == said), None)

    def accompanied(self, workload: Workload) -> RequiredRow | None:
        """Returns the row whose service the workload is annotated as a companion of; None without an annotation."""
        rows = self.architecture.rows if self.architecture else ()
        return next((row for row in rows if row.row == workload.companion_of), None)

    def companions(self, workload: Workload) -> tuple[Workload, ...]:
        """Returns a workload's companions: workloads in its namespace, annotated as companions of its row."""
        return tuple(
            each
            for each in self.workloads
            if each.companion_of is not None
            and each.companion_of == workload.row
            and each.namespace == workload.namespace
        )

    def service(self, workload: Workload) -> str | None:
        """Returns the workload's service: of its row, or else the label app.kubernetes.io/name of its pods, or None."""
        row = self.row(workload)
        return row.service if row else workload.labels.get(NAME)

    @cached_property
    def nodes(self) -> tuple[NodeFacts, ...]:
        """Every node that the stack describes."""
        return nodes(self.resources)

    @cached_property
    def members_outside(self) -> tuple[NodeFacts, ...]:
        """The machines with a member of etcd that are not Kubernetes nodes: no pod can run on them."""
        found = outside(self.resources)
        if not found:  # avoids reading members, which may be unknown
            return ()
        names = {member.node for etcd in self.etcds for member in etcd.members}
        return tuple(each for each in found if each.name in names)

    @property
    def places(self) -> tuple[NodeFacts, ...]:
        """Every machine that can have a member of a quorum: the nodes, and machines with a member of etcd only."""
        return (*self.nodes, *self.members_outside)

    @cached_property
    def machines(self) -> tuple[MachineFacts, ...]:
        """Machines and pools of machines, and hosts on which commands or cloud-init place a machine's files.

        The files of a machine are those of its component, as the stack's commands and copies change them.
        """
        declared = tuple(with_placed_files(machines(self.resources), self.hosts))
        return (*declared, *placed_machines(self.hosts, declared, self.nodes))

    @cached_property
    def has_existing_machines(self) -> bool:
        """Whether a machine is a node of a running cluster, for which the stack has no files and no setup steps."""
        return any(each.is_existing for each in machines(self.resources))

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """Commands that the stack runs with pulumi-command, on machines or on the machine that runs Pulumi."""
        return commands(self.resources, self.hosts)

    @cached_property
    def order(self) -> Order:
        """The order in which Pulumi creates the resources."""
        return Order(self.resources)

    @cached_property
    def workloads(self) -> tuple[Workload, ...]:
        """All workloads, including those that operators create from custom resources."""
        own = workloads(self.resources, by_target(self.autoscalers))
        return (*own, *(each.workload for each in self.operated))

    @cached_property
    def operated(self) -> tuple[Operated, ...]:
        """Custom resources of operators, each with the objects that the operator creates from it."""
        return tuple(operated(self.resources))

    @cached_property
    def autoscalers(self) -> tuple[Autoscaler, ...]:
        """The stack's autoscalers: objects that change the number of a workload's pods."""
        return autoscalers(self.resources)

    @cached_property
    def tunnel_networks(self) -> tuple[IPv4Network, ...]:
        """Networks of the addresses of Calico's tunnels between nodes; () without tunnels."""
        return tunnel_networks(self.resources, self.machines, self.workloads)

    @cached_property
    def network_policies(self) -> tuple[NetworkPolicy, ...]:
        """The stack's NetworkPolicies."""
        return network_policies(self.resources)

    @cached_property
    def budgets(self) -> tuple[Budget, ...]:
        """The stack's PodDisruptionBudgets, and those that operators create from custom resources."""
        return (*budgets(self.resources), *(each.budget for each in self.operated if each.budget))

    @cached_property
    def services(self) -> tuple[Service, ...]:
        """The stack's Services, and those that operators create from custom resources."""
        return (*services(self.resources), *(each.service for each in self.operated))

    @cached_property
    def config_maps(self) -> tuple[ConfigMap, ...]:
        """The stack's ConfigMaps, and those that operators create from custom resources."""
        return (*config_maps(self.resources), *(each.settings for each in self.operated))

    @cached_property
    def namespaces(self) -> Mapping[str, Labels]:
        """Labels of the namespaces that the stack creates, by name."""
        metadata = [each.props.at("metadata") for each in self.resources if each.type == "kubernetes:core/v1:Namespace"]
        return {each.at("name").text(): each.at("labels").texts() for each in metadata}

    @cached_property
    def etcds(self) -> tuple[EtcdFacts, ...]:
        """etcd clusters on machines: from Etcd components, and from configurations that commands place on hosts."""
        declared = tuple(EtcdFacts(each) for each in self.resources if each.type == EtcdFacts.TYPE)
        return declared + placed_etcds(self.hosts, declared, domains(self.resources))

    @cached_property
    def etcd_configurations(self) -> Mapping[str, EtcdConfiguration | None]:
        """The etcd configuration in each machine's files, by node; None for a machine without etcd configuration."""
        found = {each.node: etcd_configuration(each.files) for each in self.machines if each.single}
        return {**found, **placed_configurations(self.hosts)}

    @cached_property
    def hosts(self) -> Hosts:
        """The files that the stack's commands, copies and cloud-init place on machines."""
        return Hosts(self.resources)

    @cached_property
    def master_tiers(self) -> tuple[MasterTierFacts, ...]:
        """The stack's MasterTier components: the masters of a Kubernetes cluster."""
        return tuple(MasterTierFacts(each) for each in self.resources if each.type == MasterTierFacts.TYPE)

    @cached_property
    def virt_hosts(self) -> tuple[VirtHostFacts, ...]:
        """Physical servers that run virtual machines."""
        return tuple(VirtHostFacts(each) for each in self.resources if each.type == VirtHostFacts.TYPE)

    @cached_property
    def domains(self) -> tuple[LibvirtDomain, ...]:
        """Virtual machines from hand-written libvirt resources."""
        return domains(self.resources)

    def eligible(self, workload: Workload) -> tuple[NodeFacts, ...]:
        """The nodes on which the scheduler may place the workload's pods.

        Raises NoNodes if the stack describes no nodes.
        """
        if not self.nodes:
            raise NoNodes
        if workload not in self._eligible:
            self._eligible[workload] = scheduling.eligible(workload, self._alike, self.volumes.terms(workload))
        return self._eligible[workload]

    def why_not_eligible(self, workload: Workload) -> str:
        """Returns which condition of a workload leaves none of the stack's nodes eligible, for messages."""
        return scheduling.why_none(workload, self.nodes, self.volumes.terms(workload))

    @cached_property
    def _alike(self) -> tuple[tuple[NodeFacts, ...], ...]:
        return scheduling.alike(self.nodes)

    @cached_property
    def volumes(self) -> Volumes:
        """The stack's PersistentVolumes and claims."""
        return Volumes(self.resources)

    def anti_affine_keys(self, one: Workload, other: Workload) -> tuple[str, ...]:
        """Returns the label keys of which pods of the two workloads never share a value, by required anti-affinity."""
        if one.past_scheduler or other.past_scheduler:
            return ()
        pairs = ((one, other), (other, one)) if one is not other else ((one, one),)
        return tuple(
            dict.fromkeys(
                key for this, that in pairs for key in scheduling.anti_affine_keys(this, that, self.namespaces)
            )
        )
