"""Broken stacks: each break is caught, and the finding names the workload."""

from __future__ import annotations

from dataclasses import replace

from contract import POOL, SERVER
from proof import rollouts
from proof.checks import check_cluster
from proof.prove import ProvedStack
from proof.simulated_nodes import SimulatedMachine
from proof.simulation import SimulatedCluster
from tests.proof import changes
from tests.proof.conftest import StartCluster


def found(simulated: SimulatedCluster) -> set[tuple[str, str]]:
    """Returns check and subject of each finding in the cluster."""
    return {
        (finding.check, finding.subject)
        for finding in [*simulated.findings, *check_cluster(simulated.state, simulated.cluster())]
    }


def of_pool(subject: ProvedStack, pool: str) -> list[str]:
    """Returns the names of the machines of a pool."""
    return sorted(machine.name for machine in subject.rendered.machines if machine.labels[POOL] == pool)


def test_two_virtual_machines_of_one_server(small: ProvedStack, start_cluster: StartCluster) -> None:
    """Under its scheduling rules the third member of Galera stays Pending; no two members share a server."""
    first, second, _ = of_pool(small, "mysqld")

    def onto_one_host(machine: SimulatedMachine) -> SimulatedMachine:
        return replace(machine, labels={**machine.labels, SERVER: first}) if machine.name == second else machine

    with start_cluster(changes.moved(small.rendered, onto_one_host)) as simulated:
        assert ("no-pending-pod", "StatefulSet mysqld") in found(simulated)


def test_one_anti_affinity_rule_dropped(small: ProvedStack, start_cluster: StartCluster) -> None:
    """Without the rule the members do share a host when two of three nodes simulated on one."""
    first, second, _ = of_pool(small, "mysqld")

    def onto_one_host(machine: SimulatedMachine) -> SimulatedMachine:
        return replace(machine, labels={**machine.labels, SERVER: first}) if machine.name == second else machine

    free = changes.changed(small.rendered, "StatefulSet", "mysqld", changes.without_anti_affinity)
    with start_cluster(changes.moved(free, onto_one_host)) as simulated:
        assert ("one-member-per-server", "StatefulSet mysqld") in found(simulated)


def test_a_budget_widened_to_nothing(small: ProvedStack, start_cluster: StartCluster) -> None:
    wide = changes.changed(small.rendered, "PodDisruptionBudget", "rabbitmq", changes.with_budget_of_nothing)
    with start_cluster(wide) as simulated:
        assert ("budgets-hold", "StatefulSet rabbitmq") in found(simulated)


def test_a_surge_in_a_full_pool(small: ProvedStack, start_cluster: StartCluster) -> None:
    surging = changes.changed(small.rendered, "Deployment", "keystone", changes.with_surge)
    with start_cluster(surging) as simulated:
        assert found(simulated) == set()  # the checks pass: only a rollout shows it
        (keystone,) = [workload for workload in simulated.workloads() if workload.name == "keystone"]
        rollout, findings = rollouts.roll(simulated, keystone)
        assert not rollout.ended
        assert [(each.check, each.subject) for each in findings] == [("rollout-ends", "Deployment keystone")]
        assert "anti-affinity" in findings[0].message


def test_a_toleration_removed(small: ProvedStack, start_cluster: StartCluster) -> None:
    bare = changes.changed(small.rendered, "DaemonSet", "ceph-osd", changes.without_tolerations)
    bare = changes.changed(bare, "Deployment", "nova-conductor", changes.without_tolerations)
    with start_cluster(bare) as simulated:
        assert {
            ("no-pending-pod", "Deployment nova-conductor"),
            ("everywhere", "ceph-osd"),
        } <= found(simulated)


def test_a_mislabelled_node(small: ProvedStack, start_cluster: StartCluster) -> None:
    """A node of Galera's pool has RabbitMQ's label and Galera's taint, so a member of Galera stays Pending."""
    first = of_pool(small, "mysqld")[0]

    def mislabel(machine: SimulatedMachine) -> SimulatedMachine:
        return replace(machine, labels={**machine.labels, POOL: "rabbitmq"}) if machine.name == first else machine

    with start_cluster(changes.moved(small.rendered, mislabel)) as simulated:
        seen = found(simulated)
    assert ("nodes-labelled", f"node {first}") in seen
    assert ("no-pending-pod", "StatefulSet mysqld") in seen
    assert ("dedicated-nodes", "mysqld-server") in seen


def test_an_unknown_field_is_not_swallowed(small: ProvedStack, start_cluster: StartCluster) -> None:
    def misspell(item: changes.Object) -> None:
        item["spec"]["minAvailabel"] = 2

    with start_cluster(changes.changed(small.rendered, "PodDisruptionBudget", "mysqld", misspell)) as simulated:
        accepted = [finding for finding in simulated.findings if finding.check == "manifests-accepted"]
        assert [finding.subject for finding in accepted] == ["PodDisruptionBudget mysqld"]
        assert "minAvailabel" in accepted[0].message
