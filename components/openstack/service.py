"""A row of the reference architecture as Kubernetes objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta
from pulumi_kubernetes.policy import v1 as policy

import contract
from blueprint.plan.nodes import Node
from blueprint.plan.planner import ServicePlan
from blueprint.plan.sizing import Resources
from blueprint.stackfile.settings import Settings
from components.component import Component, Facts, plain
from components.openstack import config, labels, storage
from components.openstack.pod import Pod
from components.openstack.workload import Workload
from contract import COMPUTE_POOL

HISTORY = 3
"""Revisions kept for a rollback."""


@dataclass(frozen=True)
class OpenStackServiceArgs:
    """A service of the plan, what it runs as, and what it may stand on."""

    service: ServicePlan
    workload: Workload
    settings: Settings
    resources: Resources
    nodes: tuple[Node, ...]
    """Those of its pools, for the data of a stateful service."""
    replaces: tuple[str, ...]
    """Retired services whose work it does."""
    foundation: Sequence[pulumi.Resource]


class OpenStackService(Component[OpenStackServiceArgs]):
    """The workload of a row, its configuration, its way in, and what keeps its majority during a drain."""

    token = contract.OPENSTACK_SERVICE

    @staticmethod
    def facts(args: OpenStackServiceArgs) -> Facts:
        service = args.service
        return plain(
            service=service.name,
            row=service.row,
            instances=service.instances,
            dedicated_nodes=service.dedicated_nodes,
            shareable=service.shareable,
            load_balancer=service.load_balancer,
            pools=service.pools,
            everywhere=service.everywhere,
            quorum=service.quorum,
            source=service.source,
        )

    def build(self, name: str, args: OpenStackServiceArgs) -> None:
        opts = self.child(depends_on=args.foundation)
        data = config.data(args.workload, args.service.override.config)
        before: list[pulumi.Resource] = [_service_account(name, args, opts)]
        if data:
            before.append(_config_map(name, args, data, opts))
        before += _services(name, args, opts)
        before += _volumes(name, args, opts)
        if not args.service.everywhere:
            _disruption_budget(name, args, opts)
        _workload(name, args, data, self.child(depends_on=[*args.foundation, *before]))


def _metadata(args: OpenStackServiceArgs, name: str) -> meta.ObjectMetaArgs:
    return meta.ObjectMetaArgs(name=name, namespace=storage.NAMESPACE, labels=labels.of(args.workload))


def _selector(args: OpenStackServiceArgs) -> meta.LabelSelectorArgs:
    return meta.LabelSelectorArgs(match_labels={contract.NAME: args.service.name})


def _service_account(name: str, args: OpenStackServiceArgs, opts: pulumi.ResourceOptions) -> core.ServiceAccount:
    return core.ServiceAccount(
        name, metadata=_metadata(args, args.service.name), automount_service_account_token=False, opts=opts
    )


def _config_name(args: OpenStackServiceArgs) -> str:
    kolla = any(container.kolla for container in args.workload.containers)
    return f"{args.service.name}-{'kolla' if kolla else 'config'}"


def _config_map(
    name: str, args: OpenStackServiceArgs, data: dict[str, str], opts: pulumi.ResourceOptions
) -> core.ConfigMap:
    suffix = _config_name(args).removeprefix(args.service.name)
    return core.ConfigMap(f"{name}{suffix}", metadata=_metadata(args, _config_name(args)), data=data, opts=opts)


def _services(name: str, args: OpenStackServiceArgs, opts: pulumi.ResourceOptions) -> list[core.Service]:
    """A balanced address where the table asks for a load balancer, and names for the members of a StatefulSet."""
    found: list[core.Service] = []
    pods = {contract.NAME: args.service.name}
    if args.service.load_balancer:
        ports = [
            core.ServicePortArgs(name=target, port=port, target_port=target) for port, target in args.workload.exposed
        ]
        spec = core.ServiceSpecArgs(type="ClusterIP", selector=pods, ports=ports)
        found.append(core.Service(name, metadata=_metadata(args, args.service.name), spec=spec, opts=opts))
    if args.workload.kind == "StatefulSet":
        members = f"{args.service.name}-members"
        ports = [
            core.ServicePortArgs(name=port.name, port=port.number, target_port=port.name)
            for container in args.workload.containers
            for port in container.ports
        ]
        spec = core.ServiceSpecArgs(cluster_ip="None", selector=pods, ports=ports, publish_not_ready_addresses=True)
        found.append(core.Service(f"{name}-members", metadata=_metadata(args, members), spec=spec, opts=opts))
    return found


def _volumes(name: str, args: OpenStackServiceArgs, opts: pulumi.ResourceOptions) -> list[core.PersistentVolume]:
    claim = args.workload.claim
    if claim is None:
        return []
    capacity = storage.size(claim, args.settings.profile)
    return [
        core.PersistentVolume(f"{name}-{node.name}", storage.volume(args.workload, capacity, node), opts=opts)
        for node in args.nodes
    ]


def _disruption_budget(
    name: str, args: OpenStackServiceArgs, opts: pulumi.ResourceOptions
) -> policy.PodDisruptionBudget:
    """One at a time. A DaemonSet has none: a drain leaves its pods, and the API cannot count them."""
    return policy.PodDisruptionBudget(
        name,
        metadata=_metadata(args, args.service.name),
        spec=policy.PodDisruptionBudgetSpecArgs(max_unavailable=1, selector=_selector(args)),
        opts=opts,
    )


def _workload(
    name: str, args: OpenStackServiceArgs, data: dict[str, str], opts: pulumi.ResourceOptions
) -> pulumi.Resource:
    workload, service = args.workload, args.service
    annotations = {contract.ROW: service.row}
    if args.replaces:
        annotations[contract.REPLACES] = ",".join(args.replaces)
    config_map = _config_name(args) if data else None
    pod = Pod(workload, service, args.settings, args.resources, annotations, config_map, data)
    metadata = meta.ObjectMetaArgs(
        name=service.name, namespace=storage.NAMESPACE, labels=labels.of(workload), annotations=annotations
    )
    template, selector = pod.template(), _selector(args)
    if workload.kind == "DaemonSet":
        rolling = apps.RollingUpdateDaemonSetArgs(max_unavailable="10%" if COMPUTE_POOL in service.pools else 1)
        daemons = apps.DaemonSetSpecArgs(
            selector=selector,
            template=template,
            revision_history_limit=HISTORY,
            update_strategy=apps.DaemonSetUpdateStrategyArgs(type="RollingUpdate", rolling_update=rolling),
        )
        return apps.DaemonSet(name, metadata=metadata, spec=daemons, opts=opts)
    if workload.kind == "StatefulSet":
        return apps.StatefulSet(name, metadata=metadata, spec=_members(args, template, selector), opts=opts)
    # No surge: with one instance a node, an extra one finds no node and the rollout hangs.
    one_by_one = apps.RollingUpdateDeploymentArgs(max_surge=0, max_unavailable=1)
    deployment = apps.DeploymentSpecArgs(
        replicas=service.instances,
        selector=selector,
        template=template,
        revision_history_limit=HISTORY,
        strategy=apps.DeploymentStrategyArgs(type="RollingUpdate", rolling_update=one_by_one),
    )
    return apps.Deployment(name, metadata=metadata, spec=deployment, opts=opts)


def _members(
    args: OpenStackServiceArgs, template: core.PodTemplateSpecArgs, selector: meta.LabelSelectorArgs
) -> apps.StatefulSetSpecArgs:
    """All members start together: after a blackout the first to be ready may be any of them."""
    claim = args.workload.claim
    claims = [storage.claim_template(args.workload, storage.size(claim, args.settings.profile))] if claim else None
    return apps.StatefulSetSpecArgs(
        service_name=f"{args.service.name}-members",
        replicas=args.service.instances,
        selector=selector,
        template=template,
        revision_history_limit=HISTORY,
        pod_management_policy="Parallel",
        update_strategy=apps.StatefulSetUpdateStrategyArgs(type="RollingUpdate"),
        volume_claim_templates=claims,
    )
