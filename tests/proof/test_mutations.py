"""Broken stacks: each break is caught, and the finding names the workload.

A cluster has several breaks, each in a workload, budget or node that no other break of the cluster touches.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, replace
from functools import cache
from pathlib import Path

import pytest

from contract import POOL, SERVER
from proof import rollouts
from proof.checks import check_cluster
from proof.expected import expected_state
from proof.prove import ProvedStack
from proof.simulated_nodes import SimulatedMachine
from proof.simulation import Rendered, SimulatedCluster, simulated_cluster
from proof.violations import Violation
from tests.proof import changes
from tests.proof.conftest import StartCluster
from tests.shared import made_once

Findings = Callable[[Callable[[ProvedStack], Rendered]], list[Violation]]


def findings(simulated: SimulatedCluster) -> list[Violation]:
    """Returns the findings in the cluster, of its start and of the checks."""
    return [*simulated.findings, *check_cluster(simulated.state, simulated.cluster())]


def named(found: list[Violation]) -> set[tuple[str, str]]:
    """Returns check and subject of each finding."""
    return {(finding.check, finding.subject) for finding in found}


def of_pool(subject: ProvedStack, pool: str) -> list[str]:
    """Returns the names of the machines of a pool."""
    return sorted(machine.name for machine in subject.rendered.machines if machine.labels[POOL] == pool)


def labelled(rendered: Rendered, name: str, **labels: str) -> Rendered:
    """Returns the rendered stack with other labels of a machine."""

    def change(machine: SimulatedMachine) -> SimulatedMachine:
        return replace(machine, labels={**machine.labels, **labels}) if machine.name == name else machine

    return changes.moved(rendered, change)


def galera_on_one_server(small: ProvedStack) -> Rendered:
    """Returns the stack with two nodes of Galera on one physical host."""
    first, second, _ = of_pool(small, "mysqld")
    return labelled(small.rendered, second, **{SERVER: first})


def first_cluster(small: ProvedStack) -> Rendered:
    """Two nodes of Galera on one host, no toleration of two workloads, a budget of RabbitMQ without limits."""
    broken = galera_on_one_server(small)
    broken = changes.changed(broken, "DaemonSet", "ceph-osd", changes.without_tolerations)
    broken = changes.changed(broken, "Deployment", "nova-conductor", changes.without_tolerations)
    return changes.changed(broken, "PodDisruptionBudget", "rabbitmq", changes.with_budget_of_nothing)


def second_cluster(small: ProvedStack) -> Rendered:
    """No anti-affinity of Galera and two of its nodes on one host, a mislabelled node of RabbitMQ, a misspelt field."""
    broken = changes.changed(galera_on_one_server(small), "StatefulSet", "mysqld", changes.without_anti_affinity)
    broken = changes.changed(broken, "PodDisruptionBudget", "ceph-mon", misspell)
    return labelled(broken, of_pool(small, "rabbitmq")[0], **{POOL: "mysqld"})


def misspell(item: changes.Object) -> None:
    item["spec"]["minAvailabel"] = 2


@pytest.fixture(scope="module")
def found(small: ProvedStack, binaries: Path, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Returns a function that returns the findings in a cluster with a broken stack, which starts once a run."""

    @cache
    def get(breaks: Callable[[ProvedStack], Rendered]) -> list[Violation]:
        def start(directory: Path) -> None:
            state = expected_state(small.settings)
            with simulated_cluster(breaks(small), state, binaries, lambda _said: None) as simulated:
                text = json.dumps([astuple(finding) for finding in findings(simulated)])
            (directory / "findings.json").write_text(text, encoding="utf-8")

        file = made_once(tmp_path_factory, breaks.__name__, start) / "findings.json"
        return [Violation(*each) for each in json.loads(file.read_text(encoding="utf-8"))]

    return get


def test_two_virtual_machines_of_one_server(found: Findings) -> None:
    """Under its scheduling rules the third member of Galera stays Pending; no two members share a server."""
    seen = named(found(first_cluster))
    assert ("no-pending-pod", "StatefulSet mysqld") in seen
    assert ("one-member-per-server", "StatefulSet mysqld") not in seen


def test_one_anti_affinity_rule_dropped(found: Findings) -> None:
    """Without the rule the members do share a host when two of three nodes are on one."""
    assert ("one-member-per-server", "StatefulSet mysqld") in named(found(second_cluster))


def test_a_budget_widened_to_nothing(found: Findings) -> None:
    assert ("budgets-hold", "StatefulSet rabbitmq") in named(found(first_cluster))


def test_a_surge_in_a_full_pool(small: ProvedStack, start_cluster: StartCluster) -> None:
    surging = changes.changed(small.rendered, "Deployment", "keystone", changes.with_surge)
    with start_cluster(surging) as simulated:
        assert findings(simulated) == []  # the checks pass: only a rollout shows it
        (keystone,) = [workload for workload in simulated.workloads() if workload.name == "keystone"]
        rollout, later = rollouts.roll(simulated, keystone)
        assert not rollout.ended
        assert [(each.check, each.subject) for each in later] == [("rollout-ends", "Deployment keystone")]
        assert "anti-affinity" in later[0].message


def test_a_toleration_removed(found: Findings) -> None:
    assert {
        ("no-pending-pod", "Deployment nova-conductor"),
        ("everywhere", "ceph-osd"),
    } <= named(found(first_cluster))


def test_a_mislabelled_node(small: ProvedStack, found: Findings) -> None:
    """A node of RabbitMQ's pool has Galera's label and RabbitMQ's taint, so a member of RabbitMQ stays Pending."""
    seen = named(found(second_cluster))
    assert ("nodes-labelled", f"node {of_pool(small, 'rabbitmq')[0]}") in seen
    assert ("no-pending-pod", "StatefulSet rabbitmq") in seen
    assert ("dedicated-nodes", "rabbitmq-server") in seen


def test_an_unknown_field_is_not_swallowed(found: Findings) -> None:
    accepted = [finding for finding in found(second_cluster) if finding.check == "manifests-accepted"]
    assert [finding.subject for finding in accepted] == ["PodDisruptionBudget ceph-mon"]
    assert "minAvailabel" in accepted[0].message
