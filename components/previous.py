"""Exports the stack's quorum members and versions for the next deployment, and reads those that the last one exported.

The resources of one deployment do not show whether its three members are those of the last deployment. So the program
exports the members as the stack output `standing`, and reads this output of the last deployment through a
StackReference to its own stack. Policy rules compare both (docs/adr/0005-looking-back.md). The output `versions` has
the versions of OpenStack, Kubernetes, databases, brokers and Ceph; it is in clear text, so that `quorate check` can
read it from the state without a passphrase.

The output `standing` is marked as a secret only so that Pulumi prints one line of it instead of hundreds; the members
are not secret (docs/adr/0033-output-of-a-run.md).
"""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pulumi

import contract
from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from components import virt_host
from components.component import plain
from contract import QUORUM_STATE_OUTPUT, STORAGE_POOL, VERSIONS_OUTPUT
from formats.disk_source import attributes
from openstack import data, project_definitions
from openstack.config.wiring import ENVIRONMENT
from openstack.planned_versions import planned_versions


def quorum_state(plan: Plan) -> dict[str, Any]:
    """Returns the quorum state of a plan: the size and eligible nodes of each quorum, and the storage nodes.

    Each node has its physical host, address, pool and data locations. If one of these differs in the next deployment,
    the node counts as a different member.
    """
    quorums = {"etcd": _quorum(plan, len(plan.members), plan.members)}
    for service in plan.processes:
        if service.quorum and service.instances:
            nodes = tuple(node for node in plan.nodes if node.pool in service.pools)
            root = data.root(ENVIRONMENT)
            definition = project_definitions.processes(plan.settings.records)[service.process]
            volumes = [f"{root}/{service.name}"] if definition.claim else []
            quorums[service.name] = _quorum(plan, service.instances, nodes, volumes)
    return plain(quorums=quorums, storage=_nodes(plan, plan.carrying(STORAGE_POOL)))


def _quorum(plan: Plan, members: int, nodes: tuple[Node, ...], volumes: list[str] | None = None) -> dict[str, Any]:
    return {"members": members, "nodes": _nodes(plan, nodes, volumes)}


def _nodes(plan: Plan, nodes: tuple[Node, ...], volumes: list[str] | None = None) -> dict[str, dict[str, Any]]:
    return {
        node.name: {
            "server": node.server,
            "address": node.address,
            "pool": node.pool,
            "data": [*_disks(plan, node), *(volumes or ())],
        }
        for node in nodes
    }


def _disks(plan: Plan, node: Node) -> list[str]:
    """Returns the disks in a virtual machine's libvirt domain, each as device and source.

    Returns [] for a physical server, a machine without a domain, and machines that the stack does not create.
    """
    if plan.settings.has_existing_machines:
        return []
    domain = virt_host.files(node, plan.settings.template).get("domain.xml")
    if domain is None:
        return []
    try:
        root = ElementTree.fromstring(domain)  # noqa: S314 - blueprint/domain_template.py refuses document types
    except ElementTree.ParseError:
        return [f"domain.xml {domain}"]
    return [_disk(each) for each in root.iterfind("./devices/disk[@device='disk']")]


def _disk(disk: ElementTree.Element) -> str:
    target, source = disk.find("target"), disk.find("source")
    device = "" if target is None else target.get("dev", "")
    where = "" if source is None else " ".join(f"{key}={value}" for key, value in attributes(source).items())
    return f"{device} {where}"


class Previous(pulumi.ComponentResource):
    """Component whose outputs are quorum state and versions of the last deployment; None before the first one.

    Unlike other components, it has no inputs. Inputs taken from the last deployment would differ after each change of a
    quorum, so that the next `up` would report a change although the program is unchanged.
    """

    standing: pulumi.Output[dict[str, Any]]
    """The current quorum state, for the stack output `standing`. It resolves after all dependencies in `opts`. So a
    failed update keeps the earlier output, with which the next update is compared."""

    versions: pulumi.Output[dict[str, str]]
    """The current versions, for the stack output `versions`. It resolves after all dependencies too."""

    def __init__(self, name: str, plan: Plan, opts: pulumi.ResourceOptions) -> None:
        super().__init__(contract.PREVIOUS, name, {}, opts)
        state, deployed = quorum_state(plan), planned_versions(plan)
        self.standing = pulumi.Output.secret(self.urn.apply(lambda _: state))
        self.versions = self.urn.apply(lambda _: deployed)
        own = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
        last = pulumi.StackReference(own, opts=pulumi.ResourceOptions(parent=self))
        stood, had = last.get_output(QUORUM_STATE_OUTPUT), last.get_output(VERSIONS_OUTPUT)
        self.register_outputs({"stood": pulumi.Output.unsecret(stood), "versions": pulumi.Output.unsecret(had)})
