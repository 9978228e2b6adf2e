"""Hardware that is too weak for the cluster: masters of few cores or little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from policy.facts.machines.machine import MachineFacts
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.rule import ADVISORY, RuleProblem, RuleSource, rule
from text.plural import pluralize


@dataclass(frozen=True)
class _Size:
    nodes: int
    """The most nodes of a cluster that a master of this size serves."""
    cores: int
    memory: int
    """In GiB."""


SIZES = (_Size(50, 2, 8), _Size(250, 4, 16), _Size(1000, 8, 32), _Size(3000, 16, 64))
"""etcd's example configurations (https://etcd.io/docs/v3.6/op-guide/hardware/), as etcd shares the masters."""


def _needed(nodes: int) -> _Size:
    return next((size for size in SIZES if nodes <= size.nodes), SIZES[-1])


def _is_sized_master(facts: Facts, machine: MachineFacts) -> bool:
    if not machine.is_master or machine.is_placed or facts.profile != PRODUCTION:
        return False
    props = machine.resource.props
    return props.at("cpu").given() and props.at("memory").given()


@rule(
    id="masters-fit-cluster",
    title="Masters have the cores and the memory for the nodes of their cluster",
    severity=Severity.MEDIUM,
    rationale="etcd and the API server share a master. Short of cores, etcd misses heartbeats and elects leaders again "
    "and again; short of memory, the kernel ends one of them, on each master under the same load.",
    sources=(RuleSource("project", "Machines", 3),),
    remediation="Give the masters the cores and the memory that the finding names (quorate:servers, or the virtual "
    "machines of a virt host).",
    subjects=lambda facts: facts.machines,
    applies=_is_sized_master,
    not_applicable_reason="no master of a production stack has a known size",
    parameters={f"up to {each.nodes} nodes": f"{each.cores} cores and {each.memory} GiB" for each in SIZES},
    enforcement=ADVISORY,
    since="0.7.0",
)
def masters_fit_cluster(facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Compares the size of each master with etcd's examples, by the number of the stack's nodes."""
    props, size = machine.resource.props, _needed(len(facts.nodes))
    cores, memory = props.at("cpu").real(), props.at("memory").real()
    if cores < size.cores or memory < size.memory:
        yield RuleProblem(
            f"{cores:g} cores and {memory:g} GiB for {pluralize(len(facts.nodes), 'node')}",
            f"{size.cores} cores and {size.memory} GiB or more",
        )
