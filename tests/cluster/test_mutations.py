"""Broken stacks: each break is caught, and the finding names the workload."""

from __future__ import annotations

from dataclasses import replace

from contract import POOL, SERVER
from proof import rollouts
from proof.checks import judge
from proof.prove import Subject
from proof.simulated_nodes import Machine
from proof.simulation import Stand
from tests.cluster import changes
from tests.cluster.conftest import Standing


def found(stand: Stand) -> set[tuple[str, str]]:
    """Check and subject of everything that does not hold."""
    return {(finding.check, finding.subject) for finding in [*stand.findings, *judge(stand.norm, stand.cluster())]}


def of_pool(subject: Subject, pool: str) -> list[str]:
    """Names of the machines of a pool."""
    return sorted(machine.name for machine in subject.rendered.machines if machine.labels[POOL] == pool)


def test_two_virtual_machines_of_one_server(small: Subject, stand_up: Standing) -> None:
    """With its rules in force the third member of Galera finds no place; nothing is put beside a twin."""
    first, second, _ = of_pool(small, "mysqld")

    def onto_one_host(machine: Machine) -> Machine:
        return replace(machine, labels={**machine.labels, SERVER: first}) if machine.name == second else machine

    with stand_up(changes.moved(small.rendered, onto_one_host)) as stand:
        assert ("no-pending-pod", "StatefulSet mysqld") in found(stand)


def test_one_anti_affinity_rule_dropped(small: Subject, stand_up: Standing) -> None:
    """Without the rule the members do share a host when two of three nodes stand on one."""
    first, second, _ = of_pool(small, "mysqld")

    def onto_one_host(machine: Machine) -> Machine:
        return replace(machine, labels={**machine.labels, SERVER: first}) if machine.name == second else machine

    free = changes.changed(small.rendered, "StatefulSet", "mysqld", changes.without_anti_affinity)
    with stand_up(changes.moved(free, onto_one_host)) as stand:
        assert ("one-member-per-server", "StatefulSet mysqld") in found(stand)


def test_a_budget_widened_to_nothing(small: Subject, stand_up: Standing) -> None:
    wide = changes.changed(small.rendered, "PodDisruptionBudget", "rabbitmq", changes.with_budget_of_nothing)
    with stand_up(wide) as stand:
        assert ("budgets-hold", "StatefulSet rabbitmq") in found(stand)


def test_a_surge_in_a_full_pool(small: Subject, stand_up: Standing) -> None:
    surging = changes.changed(small.rendered, "Deployment", "keystone", changes.with_surge)
    with stand_up(surging) as stand:
        assert found(stand) == set()  # it stands well: only a rollout shows it
        (keystone,) = [workload for workload in stand.workloads() if workload.name == "keystone"]
        rollout, findings = rollouts.roll(stand, keystone)
        assert not rollout.ended
        assert [(each.check, each.subject) for each in findings] == [("rollout-ends", "Deployment keystone")]
        assert "anti-affinity" in findings[0].message


def test_a_toleration_removed(small: Subject, stand_up: Standing) -> None:
    bare = changes.changed(small.rendered, "DaemonSet", "ceph-osd", changes.without_tolerations)
    bare = changes.changed(bare, "Deployment", "nova-conductor", changes.without_tolerations)
    with stand_up(bare) as stand:
        assert {
            ("no-pending-pod", "Deployment nova-conductor"),
            ("everywhere", "ceph-osd"),
        } <= found(stand)


def test_a_mislabelled_node(small: Subject, stand_up: Standing) -> None:
    """A node of Galera's pool that says it is RabbitMQ's: its taint tells otherwise, and a member has no place."""
    first = of_pool(small, "mysqld")[0]

    def mislabel(machine: Machine) -> Machine:
        return replace(machine, labels={**machine.labels, POOL: "rabbitmq"}) if machine.name == first else machine

    with stand_up(changes.moved(small.rendered, mislabel)) as stand:
        seen = found(stand)
    assert ("nodes-labelled", f"node {first}") in seen
    assert ("no-pending-pod", "StatefulSet mysqld") in seen
    assert ("dedicated-nodes", "mysqld-server") in seen


def test_an_unknown_field_is_not_swallowed(small: Subject, stand_up: Standing) -> None:
    def misspell(item: changes.Object) -> None:
        item["spec"]["minAvailabel"] = 2

    with stand_up(changes.changed(small.rendered, "PodDisruptionBudget", "mysqld", misspell)) as stand:
        accepted = [finding for finding in stand.findings if finding.check == "manifests-accepted"]
        assert [finding.subject for finding in accepted] == ["PodDisruptionBudget mysqld"]
        assert "minAvailabel" in accepted[0].message
