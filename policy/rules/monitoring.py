"""Monitoring on servers of its own, which are large enough."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from policy.facts.kubernetes.node import Node
from policy.facts.kubernetes.quantity import GIB, Resources
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums import Quorum, is_metrics_store, quorum_of
from policy.facts.stack import PRODUCTION, Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names

ROLE = "monitoring"
LEAST = Resources(Decimal(4), Decimal(8 * GIB))
"""004, 5.3.15: "a quad-core server with 8 GB of RAM"."""


def _is_store(workload: Workload) -> bool:
    return is_metrics_store(workload) or quorum_of(workload) is Quorum.LOGS


@lru_cache(maxsize=1)
def _of_role(facts: Facts) -> frozenset[str]:
    """Nodes of role monitoring."""
    return frozenset(node.name for node in facts.nodes if ROLE in node.roles)


def _kept(facts: Facts) -> set[str]:
    """Nodes that are kept for monitoring: by their role, or by a taint for a row of monitoring."""
    rows = (
        {row.service for row in facts.required_architecture.rows if row.monitoring}
        if facts.architecture
        else set[str]()
    )
    return {node.name for node in facts.nodes if node.name in _of_role(facts) or rows & set(node.dedicated_to)}


def _has_monitoring_nodes(facts: Facts, workload: Workload) -> bool:
    return bool(_of_role(facts)) and workload.is_long_running and not workload.node_agent


@rule(
    id="monitoring-on-its-nodes",
    title="Metrics and log stores run on monitoring nodes; other services do not",
    severity=Severity.MEDIUM,
    rationale="Monitoring must survive what it reports, and its stores take disk and memory without end: servers of "
    "their own keep a full log store from taking the control plane along.",
    sources=(
        Source("004", "5.3.15", "InfluxDB and Elasticsearch subsystems should run on dedicated servers"),
        Source("004", "5.4.15", "InfluxDB and Elasticsearch subsystems should run on dedicated servers"),
    ),
    remediation="Give the stores node affinity to the pools of the monitoring nodes, and others none of their "
    "tolerations.",
    subjects=lambda facts: facts.workloads,
    applies=_has_monitoring_nodes,
    not_applicable_reason="no node of the stack has the role monitoring",
    since="0.2.0",
)
def monitoring_on_its_nodes(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """The aggregator and the alert manager may stand with either."""
    here = {node.name for node in facts.eligible(workload)}
    row = facts.row(workload)
    if _is_store(workload):
        elsewhere = here - _kept(facts)
        if elsewhere:
            yield Problem(f"it may run on {join_names(elsewhere)}, kept for no monitoring", "monitoring nodes alone")
    elif not (row and row.monitoring):
        taken = here & _of_role(facts)
        if taken:
            yield Problem(f"it may run on {join_names(taken)}, of role monitoring", "nodes of other roles")


def _sized(node: Node) -> bool:
    return node.room is not None


def _monitors(facts: Facts, workload: Workload) -> bool:
    if facts.profile != PRODUCTION or not workload.is_long_running:
        return False
    row = facts.row(workload)
    if not (_is_store(workload) or (row and row.monitoring)):
        return False
    return any(_sized(node) for node in facts.eligible(workload))


@rule(
    id="monitoring-node-size",
    title="Nodes that run monitoring have at least 4 cores and 8 GiB of memory",
    severity=Severity.LOW,
    rationale="A log store that is short of memory loses the lines that would have told why.",
    sources=(
        Source("004", "5.3.15", "a typical setup at least requires a quad-core server with 8 GB of RAM"),
        Source("004", "5.4.15", "a typical setup at least requires a quad-core server with 8 GB of RAM"),
    ),
    remediation="Put monitoring on larger machines, or give these more cores and memory (cpu and memory of the "
    "server, cpu and ram of the virtual machine).",
    subjects=lambda facts: facts.workloads,
    applies=_monitors,
    not_applicable_reason="no monitoring in production on nodes that say what they have",
    parameters={"cores": 4, "memory": "8 GiB"},
    since="0.2.0",
)
def monitoring_node_size(facts: Facts, workload: Workload) -> Iterator[Problem]:
    """What a virtual machine or a server has for pods."""
    small = {node.name for node in facts.eligible(workload) if node.room and not LEAST.fits(node.room)}
    if small:
        yield Problem(f"it may run on {join_names(small)} with less", str(LEAST))
