"""Nodes that are dedicated to one service, and the services that may run there."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from contract import DEDICATED
from policy.facts.architecture import RequiredRow
from policy.facts.components import CloudFacts
from policy.facts.kubernetes.quantity import MIB, PodResources
from policy.facts.kubernetes.workload import NODE_CRITICAL, SYSTEM_NAMESPACES, Workload
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize

_TABLES = (
    RuleSource("004", "5.3.16", 2),
    RuleSource("004", "5.4.16", 2),
)


@rule(
    id="dedicated-nodes-are-there",
    title="Every service has the dedicated nodes that the reference architecture requires",
    severity=Severity.HIGH,
    rationale="RabbitMQ, Galera and the other services with dedicated nodes slow each other down under load when they "
    "share a node. A node is dedicated by a taint. A label alone does not keep other pods away.",
    sources=(
        *_TABLES,
        RuleSource("004", "5.4.16", 32),
        RuleSource("004", "5.3.12", 49),
        RuleSource("004", "5.3.5", 29),
    ),
    remediation=f"Taint as many nodes as the architecture dedicates to the service with "
    f"{DEDICATED}=<service>:NoSchedule: give more servers the role controller, or name a smaller architecture.",
    subjects=lambda facts: facts.clouds,
    not_applicable_reason="the stack has no Cloud component",
    needs_architecture=True,
    parameters={"taint": f"{DEDICATED}=<service>:NoSchedule"},
)
def dedicated_nodes_are_there(facts: Facts, _cloud: CloudFacts) -> Iterator[RuleProblem]:
    """Counts nodes by the dedication taint that they register with, for each service and in total."""
    tainted = [owner for node in facts.nodes for owner in node.dedicated_to]
    owners = facts.required_architecture.owners
    for row in owners:
        there = tainted.count(row.service)
        if there < row.dedicated_nodes:
            yield RuleProblem(
                f"{pluralize(there, 'node')} with the taint {DEDICATED}={row.service}",
                f"{row.dedicated_nodes} (row {row.row}, architecture {facts.required_architecture.name})",
            )
    total = sum(tainted.count(row.service) for row in owners)
    if total < facts.required_architecture.dedicated_total:
        yield RuleProblem(
            f"{pluralize(total, 'dedicated node')} in total",
            f"{facts.required_architecture.dedicated_total} (architecture {facts.required_architecture.name})",
        )


def _belongs_to_nodes(facts: Facts, workload: Workload) -> bool:
    """Whether a workload is a node agent, which may run on every node.

    Outside the system namespaces, a node agent may request at most as much as a light service.
    """
    if not workload.node_agent or workload.namespace in SYSTEM_NAMESPACES:
        return workload.node_agent
    return workload.requests.fits(_light(facts))


def _light(facts: Facts) -> PodResources:
    """Returns the maximum requests of one instance of a light service in the reference architecture."""
    light = facts.required_architecture.light
    return PodResources(Decimal(light.cpu_m) / 1000, Decimal(light.memory_mi * MIB))


@rule(
    id="dedicated-nodes-admit-guests",
    title="Dedicated nodes run only their own service and those that the reference architecture admits",
    severity=Severity.HIGH,
    rationale="A dedicated node runs its own service and the services that the architecture admits there: light "
    "services beside nova-api, radosgw beside the Ceph monitors, no other service beside nova-conductor.",
    sources=(
        *_TABLES,
        RuleSource("004", "5.4.6", 9),
        RuleSource("004", "5.4.6", 10),
        RuleSource("004", "5.4.7", 8),
        RuleSource("004", "5.4.7", 22),
        RuleSource("004", "5.4.12", 50),
        RuleSource("004", "5.4.13", 28),
    ),
    remediation="Remove the workload's toleration of the dedicated nodes' taint, or require node affinity to other "
    "pools (quorate.io/pool). Where every workload is admitted, write its requests.",
    subjects=lambda facts: facts.workloads,
    applies=lambda facts, workload: facts.architecture is not None and not _belongs_to_nodes(facts, workload),
    not_applicable_reason="the stack has only node agents, or no workload, or names no reference architecture",
    needs_architecture=True,
    parameters={
        "node agents": f"DaemonSets in {', '.join(SYSTEM_NAMESPACES)}, or of class {NODE_CRITICAL} that request at "
        "most what a light service may"
    },
)
def dedicated_nodes_admit_guests(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Evaluates eligible nodes, so that a toleration without eligible dedicated nodes does not fail.

    A companion may run where the service that it accompanies may run.
    """
    row = facts.row(workload) or facts.accompanied(workload)
    reached: dict[str, list[str]] = {}
    for node in facts.eligible(workload):
        for owner in node.dedicated_to:
            reached.setdefault(owner, []).append(node.name)
    for owner in facts.required_architecture.owners:
        admitted = owner.admits_guest(row) if row else "any" in owner.admits
        if owner.service not in reached:
            continue
        if not admitted:
            guests = ["light services" if each == "light" else each for each in owner.admits]
            admitted_there = " and ".join([f"only {owner.row}", *guests])
            without_row = "" if row else ", and has no row"
            yield RuleProblem(
                f"can run on {join_names(reached[owner.service])}, dedicated to {owner.row}{without_row}",
                f"{admitted_there} there",
            )
        elif row is None and workload.is_long_running and not workload.requests.memory:
            # 'can share a node' (004, 5.3.16) is about the services of that table, whose sizes are known.
            yield RuleProblem(
                f"can run on {join_names(reached[owner.service])}, dedicated to {owner.row}, and requests no memory",
                "requests of the largest memory that its pods may need",
            )


def _light_guest(facts: Facts, workload: Workload) -> bool:
    """Whether the workload can run on dedicated nodes that admit it only because its service is a light one."""
    row = facts.row(workload) if facts.architecture else None
    if row is None or row.footprint != "light" or not workload.is_long_running:
        return False
    return any(
        _admits_as_light(owner, row)
        for owner in facts.required_architecture.owners
        if owner.service in _owners_of(facts, workload)
    )


def _owners_of(facts: Facts, workload: Workload) -> set[str]:
    return {owner for node in facts.eligible(workload) for owner in node.dedicated_to}


def _admits_as_light(owner: RequiredRow, guest: RequiredRow) -> bool:
    return "light" in owner.admits and guest.service not in (owner.service, *owner.admits)


@rule(
    id="light-services-are-light",
    title="Light services on dedicated nodes request at most the limit of a light service",
    severity=Severity.HIGH,
    rationale="RabbitMQ, Keystone and nova-api share their dedicated nodes with light services only. A guest that "
    "requests more than the limit slows down the service that the node is dedicated to.",
    sources=(
        RuleSource("004", "5.4.6", 9),
        RuleSource("004", "5.4.6", 10),
        RuleSource("004", "5.4.7", 8),
        RuleSource("project", "Placement", 2),
    ),
    remediation="Lower the requests of the light service's containers, or let it run on other nodes.",
    subjects=lambda facts: facts.workloads,
    applies=_light_guest,
    not_applicable_reason="no light service can run on dedicated nodes that admit light services",
    needs_architecture=True,
    parameters={"limit": "`light` of the architecture: 1 core and 4 GiB"},
    since="0.3.0",
)
def light_services_are_light(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares the requests of one pod, all its containers together, with the architecture's limit."""
    limit = _light(facts)
    if not workload.requests.fits(limit):
        hosts = {
            owner.row
            for owner in facts.required_architecture.owners
            if owner.service in _owners_of(facts, workload) and _admits_as_light(owner, facts.known_row(workload))
        }
        yield RuleProblem(
            f"a pod requests {workload.requests} on nodes of {join_names(hosts)}, which admit light services",
            f"{limit} or less (architecture {facts.required_architecture.name})",
        )


def _is_exclusive(facts: Facts, workload: Workload) -> bool:
    row = facts.row(workload) if workload.is_long_running else None
    return row is not None and row.owner and not row.shareable


@rule(
    id="alone-on-own-nodes",
    title="Services with exclusive nodes run only on those nodes",
    severity=Severity.HIGH,
    rationale="A service has exclusive nodes so that other workloads do not slow it down. On shared nodes they do.",
    sources=(
        *_TABLES,
        RuleSource("004", "5.4.7", 22),
        RuleSource("004", "5.4.13", 28),
        RuleSource("004", "5.4.15", 36),
    ),
    remediation="Require node affinity to the service's own pool (quorate.io/pool) and to no other.",
    subjects=lambda facts: facts.workloads,
    applies=_is_exclusive,
    not_applicable_reason="no workload belongs to a service to which the architecture gives exclusive nodes",
    needs_architecture=True,
    since="0.2.0",
)
def alone_on_own_nodes(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reports eligible nodes that are not dedicated. dedicated-nodes-admit-guests covers nodes of other services."""
    row = facts.known_row(workload)
    refusing = {owner.service for owner in facts.required_architecture.owners if not owner.admits_guest(row)}
    shared = {
        node.name
        for node in facts.eligible(workload)
        if row.service not in node.dedicated_to and not refusing & set(node.dedicated_to)
    }
    if shared:
        yield RuleProblem(f"can run on shared nodes {join_names(shared)}", f"only nodes dedicated to {row.row}")
