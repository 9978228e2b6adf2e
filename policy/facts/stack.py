"""What the rules evaluate: the resources of a stack, read as nodes, workloads, quorums and component facts.

Built once for all rules of a stack validation. Nothing here comes from the plan. The Cloud component names the
reference architecture that rules compare with; its table is data of the blueprint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

from contract import NAME
from policy.facts import architecture
from policy.facts.architecture import Architecture, Row
from policy.facts.components import Cloud, Etcd, MasterTier, VirtHost
from policy.facts.etcd_files import EtcdConfiguration, etcd_configuration
from policy.facts.host_commands import Command, Hosts, commands
from policy.facts.kubernetes import scheduling
from policy.facts.kubernetes.autoscalers import Autoscaler, autoscalers, by_target
from policy.facts.kubernetes.budgets_and_services import Budget, Service, budgets, services
from policy.facts.kubernetes.configuration import ConfigMap, config_maps
from policy.facts.kubernetes.network_policies import NetworkPolicy, network_policies
from policy.facts.kubernetes.node import Node, nodes
from policy.facts.kubernetes.selectors import Labels
from policy.facts.kubernetes.volumes import Volumes
from policy.facts.kubernetes.workload import Workload, workloads
from policy.facts.levels import Level
from policy.facts.libvirt import Domain, domains
from policy.facts.machine import Machine, machines
from policy.facts.operators import Operated, operated
from policy.facts.order import Order
from policy.facts.placed_etcd import placed_configurations, placed_etcds
from policy.facts.placed_machines import placed_machines
from policy.facts.resource import Resource
from policy.facts.stack_waivers import Waivers, today

PRODUCTION, LAB = "production", "lab"

_ROOT = Path(__file__).resolve().parent.parent.parent


class NoNodes(Exception):
    """A rule needs the eligible nodes of a workload, but the stack describes no nodes."""

    def __init__(self) -> None:
        super().__init__("the stack describes no node (Machine, MachinePool or Node), so where it may run is not known")


class Facts:
    """The facts about a stack that rules may read."""

    def __init__(
        self,
        resources: Iterable[Resource],
        profile: str = PRODUCTION,
        architecture_file: str | None = None,
        waivers: Waivers | None = None,
        levels: tuple[Level, ...] = (),
    ) -> None:
        """All arguments except `resources` come from the stack's configuration, if it is known.

        `levels`: the level of each rule in this evaluation; empty if the SDK runs a policy without analyzer.py.
        """
        self.resources = tuple(resources)
        self._profile = profile
        self._architecture_file = architecture_file
        self.waivers = waivers or Waivers(on=today())
        self.levels = levels
        self._eligible: dict[Workload, tuple[Node, ...]] = {}
        self._rows: dict[Workload, Row | None] = {}

    @cached_property
    def stack_urn(self) -> str:
        """URN of the stack itself, for findings about the whole stack."""
        for resource in self.resources:
            if resource.type == "pulumi:pulumi:Stack":
                return resource.urn
        return self.resources[0].urn if self.resources else ""

    @cached_property
    def clouds(self) -> tuple[Cloud, ...]:
        """The Cloud component, if the stack has one."""
        return tuple(Cloud(each) for each in self.resources if each.type == Cloud.TYPE)

    @property
    def profile(self) -> str:
        """lab or production: from the Cloud, else from the stack's configuration, else production."""
        return self.clouds[0].profile if self.clouds else self._profile

    @property
    def configured_profile(self) -> str:
        """The profile in the stack's configuration, which decides the level of each rule."""
        return self._profile

    @property
    def names_no_architecture(self) -> bool:
        """Whether neither a Cloud nor the stack's configuration names a reference architecture."""
        return not self.clouds and self._architecture_file is None

    @property
    def architecture(self) -> Architecture | None:
        """The reference architecture that the Cloud or the stack's configuration names; None if neither names one.

        A built-in name always selects the built-in file. Any other name selects the stack's own file.
        """
        if isinstance(self._architecture, Exception):
            raise self._architecture
        return self._architecture

    @cached_property
    def _architecture(self) -> Architecture | Exception | None:
        """The architecture, or the error of loading it, loaded once for all rules."""
        try:
            return self._named_architecture()
        except Exception as reason:  # a bad file, an unknown name
            return reason

    def _named_architecture(self) -> Architecture | None:
        """The architecture that the Cloud names; in a stack without a Cloud, the one that the configuration names."""
        if self.clouds:
            return self._load_architecture(self.clouds[0].architecture)
        if self._architecture_file is None:
            return None
        name = self._architecture_file
        return architecture.built_in(name) if architecture.is_built_in(name) else architecture.own(_ROOT / name)

    def _load_architecture(self, name: str) -> Architecture:
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
    def required_architecture(self) -> Architecture:
        """The reference architecture, for rules that need one. Raises LookupError if the stack names none."""
        if self.architecture is None:
            raise LookupError("the stack names no reference architecture")
        return self.architecture

    def row(self, workload: Workload) -> Row | None:
        """The workload's row: by its annotation, else by the label app.kubernetes.io/name of its pods."""
        if workload not in self._rows:
            self._rows[workload] = self._find_row(workload)
        return self._rows[workload]

    def known_row(self, workload: Workload) -> Row:
        """The workload's row. Raises LookupError if it has none."""
        row = self.row(workload)
        if row is None:
            raise LookupError(f"{workload.title} has no row")
        return row

    def _find_row(self, workload: Workload) -> Row | None:
        rows = self.architecture.rows if self.architecture else ()
        said = workload.row
        if said is None and NAME in workload.labels:
            name = workload.labels[NAME]
            return next((row for row in rows if row.service == name), None)
        return next((row for row in rows if row.row == said), None)

    def accompanied(self, workload: Workload) -> Row | None:
        """The row whose companion the workload is; None if it is not annotated as a companion."""
        rows = self.architecture.rows if self.architecture else ()
        return next((row for row in rows if row.row == workload.companion_of), None)

    def companions(self, workload: Workload) -> tuple[Workload, ...]:
        """The companions of a row's workload: workloads of its namespace with its row in their annotation."""
        return tuple(
            each
            for each in self.workloads
            if each.companion_of is not None
            and each.companion_of == workload.row
            and each.namespace == workload.namespace
        )

    def service(self, workload: Workload) -> str | None:
        """The workload's service: that of its row, else the label app.kubernetes.io/name of its pods."""
        row = self.row(workload)
        return row.service if row else workload.labels.get(NAME)

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Every node that the stack describes."""
        return nodes(self.resources)

    @cached_property
    def machines(self) -> tuple[Machine, ...]:
        """Machines and machine pools with their files, and hosts on which commands or cloud-init place such files."""
        declared = machines(self.resources)
        return (*declared, *placed_machines(self.hosts, declared, self.nodes))

    @cached_property
    def has_existing_machines(self) -> bool:
        """Whether a machine is a node of a running cluster, for which the stack makes nothing."""
        return any(each.is_existing for each in machines(self.resources))

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """Commands that the stack runs on machines."""
        return commands(self.resources, self.hosts)

    @cached_property
    def order(self) -> Order:
        """The order in which the engine creates the resources."""
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
        """Objects that change the number of a workload's pods."""
        return autoscalers(self.resources)

    @cached_property
    def network_policies(self) -> tuple[NetworkPolicy, ...]:
        """NetworkPolicies."""
        return network_policies(self.resources)

    @cached_property
    def budgets(self) -> tuple[Budget, ...]:
        """Disruption budgets."""
        return (*budgets(self.resources), *(each.budget for each in self.operated if each.budget))

    @cached_property
    def services(self) -> tuple[Service, ...]:
        """Kubernetes Services."""
        return (*services(self.resources), *(each.service for each in self.operated))

    @cached_property
    def config_maps(self) -> tuple[ConfigMap, ...]:
        """ConfigMaps."""
        return (*config_maps(self.resources), *(each.settings for each in self.operated))

    @cached_property
    def namespaces(self) -> Mapping[str, Labels]:
        """Labels of the namespaces that the stack creates, by name."""
        metadata = [each.props.at("metadata") for each in self.resources if each.type == "kubernetes:core/v1:Namespace"]
        return {each.at("name").text(): each.at("labels").texts() for each in metadata}

    @cached_property
    def etcds(self) -> tuple[Etcd, ...]:
        """etcd clusters on machines: from Etcd components, and from configurations that commands place on hosts."""
        declared = tuple(Etcd(each) for each in self.resources if each.type == Etcd.TYPE)
        return declared + placed_etcds(self.hosts, declared, domains(self.resources))

    @cached_property
    def etcd_configurations(self) -> Mapping[str, EtcdConfiguration | None]:
        """The etcd configuration in each machine's files, by node; None for a machine without one."""
        found = {each.node: etcd_configuration(each.files) for each in self.machines if each.single}
        return {**found, **placed_configurations(self.hosts)}

    @cached_property
    def hosts(self) -> Hosts:
        """Files that commands and copies place on hosts."""
        return Hosts(self.resources)

    @cached_property
    def master_tiers(self) -> tuple[MasterTier, ...]:
        """Kubernetes master tiers."""
        return tuple(MasterTier(each) for each in self.resources if each.type == MasterTier.TYPE)

    @cached_property
    def virt_hosts(self) -> tuple[VirtHost, ...]:
        """Physical servers that run virtual machines."""
        return tuple(VirtHost(each) for each in self.resources if each.type == VirtHost.TYPE)

    @cached_property
    def domains(self) -> tuple[Domain, ...]:
        """Hand-written virtual machines."""
        return domains(self.resources)

    def eligible(self, workload: Workload) -> tuple[Node, ...]:
        """The nodes on which the scheduler may place the workload's pods.

        Raises NoNodes if the stack describes no nodes.
        """
        if not self.nodes:
            raise NoNodes
        if workload not in self._eligible:
            self._eligible[workload] = scheduling.eligible(workload, self._alike, self._volumes.terms(workload))
        return self._eligible[workload]

    @cached_property
    def _alike(self) -> tuple[tuple[Node, ...], ...]:
        return scheduling.alike(self.nodes)

    @cached_property
    def _volumes(self) -> Volumes:
        return Volumes(self.resources)

    def anti_affine_keys(self, one: Workload, other: Workload) -> tuple[str, ...]:
        """Topology keys over which a required anti-affinity of either workload keeps the pods of both apart."""
        if one.past_scheduler or other.past_scheduler:
            return ()
        pairs = ((one, other), (other, one)) if one is not other else ((one, one),)
        return tuple(
            dict.fromkeys(
                key for this, that in pairs for key in scheduling.anti_affine_keys(this, that, self.namespaces)
            )
        )
