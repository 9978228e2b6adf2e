"""Rules for monitoring: its stores run on dedicated nodes, and its nodes are large enough."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache

from policy.facts.kubernetes.node import NodeFacts
from policy.facts.kubernetes.quantity import GIB, PodResources
from policy.facts.kubernetes.workload import Workload
from policy.facts.programs import QuorumKind
from policy.facts.quorums.quorums import is_metrics_store, quorum_of
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

ROLE = "monitoring"
LEAST = PodResources(Decimal(4), Decimal(8 * GIB))
"""Minimum size of a monitoring node. Source document 004, 5.3.15: "a quad-core server with 8 GB of RAM"."""


def _is_store(workload: Workload) -> bool:
    return is_metrics_store(workload) or quorum_of(workload) is QuorumKind.LOGS


@lru_cache(maxsize=1)
def _of_role(facts: Facts) -> frozenset[str]:
    """Returns the names of the nodes with the role monitoring."""
    return frozenset(node.name for node in facts.nodes if ROLE in node.roles)


def _dedicated(facts: Facts) -> set[str]:
    """Returns the names of nodes with the role monitoring, or with the dedication taint of a monitoring service."""
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
    rationale="Monitoring must survive the failures that it reports. Its stores keep growing: on dedicated servers, "
    "a full log store takes no disk or memory from the control plane.",
    sources=(
        RuleSource("004", "5.3.15", 36),
        RuleSource("004", "5.4.15", 36),
    ),
    remediation="Give the stores node affinity to the pools of the monitoring nodes. Remove the tolerations of these "
    "pools' taints from other services.",
    subjects=lambda facts: facts.workloads,
    applies=_has_monitoring_nodes,
    not_applicable_reason="no node of the stack has the role monitoring",
    since="0.2.0",
)
def monitoring_on_its_nodes(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Evaluates eligible nodes. The log aggregator and the alert manager may run on any node."""
    here = {node.name for node in facts.eligible(workload)}
    row = facts.row(workload)
    if _is_store(workload):
        elsewhere = here - _dedicated(facts)
        if elsewhere:
            yield RuleProblem(
                f"can run on {join_names(elsewhere)}, which are not monitoring nodes", "monitoring nodes only"
            )
    elif not (row and row.monitoring):
        reserved = here & _of_role(facts)
        if reserved:
            yield RuleProblem(f"can run on monitoring nodes {join_names(reserved)}", "nodes of other roles")


def _sized(node: NodeFacts) -> bool:
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
    rationale="A log store that is short of memory loses log lines during a failure, when they are needed.",
    sources=(
        RuleSource("004", "5.3.15", 19),
        RuleSource("004", "5.4.15", 19),
    ),
    remediation="Put monitoring on larger machines, or give these more cores and memory (cpu and memory of the "
    "server, cpu and ram of the virtual machine).",
    subjects=lambda facts: facts.workloads,
    applies=_monitors,
    not_applicable_reason="the stack is a lab, or no monitoring service runs on nodes whose size is known",
    parameters={"cores": 4, "memory": "8 GiB"},
    since="0.2.0",
)
def monitoring_node_size(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares the allocatable resources of each eligible node with the minimum size."""
    small = {node.name for node in facts.eligible(workload) if node.room and not LEAST.fits(node.room)}
    if small:
        yield RuleProblem(f"can run on {join_names(small)}, which have less", f"{LEAST} or more")
