"""A process of an OpenStack project as Kubernetes objects: its workload, with Services, files, volumes and policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pulumi

import contract
from blueprint.openstack.projects.process_definition import ProcessDefinition, Resources
from blueprint.plan.layout import ServicePlan
from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import Settings
from components.component import Component, Facts, plain
from components.kubernetes_api import apps, core, meta, networking, policy, rbac
from components.openstack import labels, network_policies, storage
from components.openstack.pod import Pod, has_cluster_ip
from components.openstack.scope import Scope
from contract import COMPUTE_POOL
from openstack import address_files, bridges, clients, kolla, node_values
from openstack.config.layers import WrittenFile

HISTORY = 3
"""Number of old revisions of a workload that Kubernetes keeps for a rollback."""


@dataclass(frozen=True)
class ProcessArgs:
    """Arguments of a process's component: its definition, its entry in the plan, its files and its nodes."""

    definition: ProcessDefinition
    placement: ServicePlan
    written: tuple[WrittenFile, ...]
    """Configuration files that the project defines for the process."""
    scope: Scope
    settings: Settings
    resources: Resources
    nodes: tuple[Node, ...]
    """Nodes of the process's pools. A stateful process has a volume on each of them."""
    replaces: tuple[str, ...]
    """Names of retired services that the process replaces, such as a service of Fuel-CCP that no longer exists."""
    needs: Sequence[pulumi.Resource]
    """Workloads and jobs on which the process's workload depends: it is created when they are ready or complete."""

    @cached_property
    def files(self) -> kolla.FileSet:
        """Configuration files of the process, from the project and from the stack file."""
        return kolla.FileSet(self.written, self.placement.override.config)


class Process(Component[ProcessArgs]):
    """A process of an OpenStack project, such as nova-api, with all its Kubernetes objects."""

    token = contract.PROCESS
    workload: pulumi.Resource
    """The process's Deployment, StatefulSet or DaemonSet."""

    @staticmethod
    def facts(args: ProcessArgs) -> Facts:
        placement = args.placement
        return plain(
            process=args.definition.name,
            project=args.definition.project,
            row=None if placement.companion_of else placement.row,
            companion_of=placement.companion_of,
            instances=placement.instances,
            dedicated_nodes=placement.dedicated_nodes,
            shareable=placement.shareable,
            load_balancer=placement.load_balancer,
            pools=placement.pools,
            everywhere=placement.everywhere,
            quorum=placement.quorum,
            source=placement.source,
        )

    def build(self, name: str, args: ProcessArgs) -> None:
        opts = self.child(depends_on=[args.scope.foundation.namespace])
        data = kolla.data(args.definition, args.files)
        before: list[pulumi.Resource] = [_service_account(name, args, opts)]
        if args.definition.lease:
            before += _lease_rights(name, args, opts)
        if not args.definition.host_network:
            before.append(_network_policy(name, args, opts))
        if data:
            before.append(_config_map(name, args, data, opts))
        if args.files.secret_names():
            before.append(_secret(name, args, opts))
        if values := _node_values(args):
            metadata = _metadata(args, node_values.config_map(args.definition.name))
            before.append(core.ConfigMap(f"{name}-nodes", metadata=metadata, data=values, opts=opts))
        before += _services(name, args, opts)
        before += _volumes(name, args, opts)
        if not args.placement.everywhere:
            _disruption_budget(name, args, opts)
        self.workload = _workload(name, args, data, self.child(depends_on=[*args.needs, *before]))


def _metadata(args: ProcessArgs, name: str) -> meta.ObjectMetaArgs:
    return meta.ObjectMetaArgs(name=name, namespace=args.scope.environment, labels=labels.of(args.definition))


def _selector(args: ProcessArgs) -> meta.LabelSelectorArgs:
    return meta.LabelSelectorArgs(match_labels={contract.NAME: args.definition.name})


def _service_account(name: str, args: ProcessArgs, opts: pulumi.ResourceOptions) -> core.ServiceAccount:
    return core.ServiceAccount(
        name, metadata=_metadata(args, args.definition.name), automount_service_account_token=False, opts=opts
    )


def _lease_rights(name: str, args: ProcessArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    """Creates the rights of a process's ServiceAccount to its Lease. Kubernetes cannot limit `create` to a name."""
    process = args.definition.name
    own = {"api_groups": ["coordination.k8s.io"], "resources": ["leases"]}
    rules = [
        rbac.PolicyRuleArgs(**own, verbs=["create"]),
        rbac.PolicyRuleArgs(**own, resource_names=[process], verbs=["get", "update"]),
    ]
    role = rbac.Role(name, metadata=_metadata(args, process), rules=rules, opts=opts)
    account = rbac.SubjectArgs(kind="ServiceAccount", name=process, namespace=args.scope.environment)
    reference = rbac.RoleRefArgs(api_group="rbac.authorization.k8s.io", kind="Role", name=process)
    binding = rbac.RoleBinding(
        name, metadata=_metadata(args, process), subjects=[account], role_ref=reference, opts=opts
    )
    return [role, binding]


def _network_policy(name: str, args: ProcessArgs, opts: pulumi.ResourceOptions) -> networking.NetworkPolicy:
    needing = clients.needed_by(args.definition, args.scope.wiring)
    spec = network_policies.spec(args.definition, args.scope.node_networks, needing)
    return networking.NetworkPolicy(name, metadata=_metadata(args, args.definition.name), spec=spec, opts=opts)


def _config_name(args: ProcessArgs) -> str:
    kolla = any(container.kolla for container in args.definition.containers)
    return f"{args.definition.name}-{'kolla' if kolla else 'config'}"


def _config_map(name: str, args: ProcessArgs, data: dict[str, str], opts: pulumi.ResourceOptions) -> core.ConfigMap:
    suffix = _config_name(args).removeprefix(args.definition.name)
    return core.ConfigMap(f"{name}{suffix}", metadata=_metadata(args, _config_name(args)), data=data, opts=opts)


def _secret(name: str, args: ProcessArgs, opts: pulumi.ResourceOptions) -> core.Secret:
    metadata = _metadata(args, f"{args.definition.name}-secrets")
    written = args.scope.keyring.written(args.files.secret)
    return core.Secret(f"{name}-secrets", metadata=metadata, string_data=written, opts=args.scope.for_secrets(opts))


def _node_values(args: ProcessArgs) -> dict[str, str]:
    if not any(container.node_values for container in args.definition.containers):
        return {}
    nodes = [node.name for node in args.nodes]
    values = node_values.texts(args.written, args.scope.wiring, args.settings, args.placement.name, nodes)
    if any(bridges.START in container.files for container in args.definition.containers):
        values |= bridges.texts(args.settings, nodes)
    return values | address_files.texts(args.placement.name, args.scope.wiring, nodes)


def _services(name: str, args: ProcessArgs, opts: pulumi.ResourceOptions) -> list[core.Service]:
    """Creates the Services of a process and returns them.

    A process whose row in the reference architecture requires a load balancer gets a Service with a cluster IP. A
    StatefulSet, or a process whose pods others discover, gets a headless Service.
    """
    found: list[core.Service] = []
    pods = {contract.NAME: args.definition.name}
    if has_cluster_ip(args.definition, args.placement):
        ports = [
            core.ServicePortArgs(
                name=target, port=port, target_port=target, protocol=_protocol(args.definition, target)
            )
            for target, port in args.definition.exposed.items()
        ]
        affinity = "ClientIP" if args.definition.sticky else None
        spec = core.ServiceSpecArgs(type="ClusterIP", selector=pods, ports=ports, session_affinity=affinity)
        found.append(core.Service(name, metadata=_metadata(args, args.definition.name), spec=spec, opts=opts))
    if args.definition.kind == "StatefulSet" or args.definition.discovered:
        members = f"{args.definition.name}-members"
        ports = [
            core.ServicePortArgs(
                name=port.name,
                port=port.number,
                target_port=port.name,
                protocol=_protocol(args.definition, port.name),
            )
            for port in args.definition.ports
            if port.last is None
        ]
        spec = core.ServiceSpecArgs(cluster_ip="None", selector=pods, ports=ports, publish_not_ready_addresses=True)
        found.append(core.Service(f"{name}-members", metadata=_metadata(args, members), spec=spec, opts=opts))
    return found


def _protocol(definition: ProcessDefinition, name: str) -> str | None:
    """Returns the protocol of a process's port for a Service; None for TCP, which is Kubernetes' default."""
    return next((port.protocol for port in definition.ports if port.name == name and port.protocol != "TCP"), None)


def _volumes(name: str, args: ProcessArgs, opts: pulumi.ResourceOptions) -> list[pulumi.Resource]:
    process, environment = args.definition, args.scope.environment
    found: list[pulumi.Resource] = []
    for resource, volume, claim in (
        (name, process.name, process.claim),
        (f"{name}-backup", process.backup_claim_name, process.backups),
    ):
        if claim:
            capacity = storage.size(claim, args.settings.profile)
            specs = {node.name: storage.volume(environment, process, volume, capacity, node) for node in args.nodes}
            found += [core.PersistentVolume(f"{resource}-{node}", spec, opts=opts) for node, spec in specs.items()]
    if process.backups:
        backups = storage.backup_claim(environment, process, storage.size(process.backups, args.settings.profile))
        found.append(core.PersistentVolumeClaim(f"{name}-backup", backups, opts=opts))
    return found


def _disruption_budget(name: str, args: ProcessArgs, opts: pulumi.ResourceOptions) -> policy.PodDisruptionBudget:
    """Creates the process's PodDisruptionBudget, which allows one unavailable pod.

    DaemonSets have no budget, because drains ignore their pods.
    """
    return policy.PodDisruptionBudget(
        name,
        metadata=_metadata(args, args.definition.name),
        spec=policy.PodDisruptionBudgetSpecArgs(max_unavailable=1, selector=_selector(args)),
        opts=opts,
    )


def _workload(name: str, args: ProcessArgs, data: dict[str, str], opts: pulumi.ResourceOptions) -> pulumi.Resource:
    process, placement = args.definition, args.placement
    annotations = {contract.COMPANION_OF if placement.companion_of else contract.ROW: placement.row}
    if args.replaces:
        annotations[contract.REPLACES] = ",".join(args.replaces)
    config_map = _config_name(args) if data else None
    pod = Pod(process, placement, args.files, args.scope, args.settings, args.resources, annotations, config_map, data)
    metadata = meta.ObjectMetaArgs(
        name=process.name, namespace=args.scope.environment, labels=labels.of(process), annotations=annotations
    )
    template, selector = pod.template(), _selector(args)
    if process.kind == "DaemonSet":
        rolling = apps.RollingUpdateDaemonSetArgs(max_unavailable="10%" if COMPUTE_POOL in placement.pools else 1)
        daemons = apps.DaemonSetSpecArgs(
            selector=selector,
            template=template,
            revision_history_limit=HISTORY,
            update_strategy=apps.DaemonSetUpdateStrategyArgs(type="RollingUpdate", rolling_update=rolling),
        )
        return apps.DaemonSet(name, metadata=metadata, spec=daemons, opts=opts)
    if process.kind == "StatefulSet":
        return apps.StatefulSet(name, metadata=metadata, spec=_members(args, template, selector), opts=opts)
    # No surge: with one instance per node, an extra pod may have no eligible node, and the rollout would hang.
    one_by_one = apps.RollingUpdateDeploymentArgs(max_surge=0, max_unavailable=1)
    deployment = apps.DeploymentSpecArgs(
        replicas=placement.instances,
        selector=selector,
        template=template,
        revision_history_limit=HISTORY,
        strategy=apps.DeploymentStrategyArgs(type="RollingUpdate", rolling_update=one_by_one),
    )
    return apps.Deployment(name, metadata=metadata, spec=deployment, opts=opts)


def _members(
    args: ProcessArgs, template: core.PodTemplateSpecArgs, selector: meta.LabelSelectorArgs
) -> apps.StatefulSetSpecArgs:
    """Returns the spec of the process's StatefulSet.

    Members start in parallel, because after a power failure any of them may be the one that the others wait for.
    """
    claim = args.definition.claim
    claims = (
        [storage.claim_template(args.scope.environment, args.definition, storage.size(claim, args.settings.profile))]
        if claim
        else None
    )
    return apps.StatefulSetSpecArgs(
        service_name=f"{args.definition.name}-members",
        replicas=args.placement.instances,
        selector=selector,
        template=template,
        revision_history_limit=HISTORY,
        pod_management_policy="Parallel",
        update_strategy=apps.StatefulSetUpdateStrategyArgs(type="RollingUpdate"),
        volume_claim_templates=claims,
    )
