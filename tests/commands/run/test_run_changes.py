"""Tests of the groups in which changes are shown."""

from __future__ import annotations

import contract
from commands.run.run_changes import RunChanges
from policy.engine.events import Event
from tests.commands.run.events import begins, finished

CONFIG_MAP, POLICY = "kubernetes:core/v1:ConfigMap", "kubernetes:networking.k8s.io/v1:NetworkPolicy"
SET = "kubernetes:apps/v1:StatefulSet"


def lines(*events: Event) -> list[str]:
    changes = RunChanges()
    for event in events:
        changes.take(event)
    return list(changes.lines())


def test_changes_are_grouped_by_operation_kind_and_namespace() -> None:
    assert lines(
        *(finished("create", CONFIG_MAP, f"cloud-{number}") for number in range(12)),
        *(finished("create", POLICY, f"cloud-{number}", namespace="openstack") for number in range(4)),
        finished("create", contract.TREE, "master1-tree"),
        finished("create", contract.PROJECT, "cloud-nova", custom=False),
        finished("same", SET, "cloud-mysqld"),
    ) == [
        "+ 1 component or provider: cloud-nova",
        "+ 1 machine directory: master1-tree",
        "+ 12 ConfigMaps in nova",
        "+ 4 NetworkPolicies in openstack",
    ]


def test_removals_come_first_and_few_resources_are_named_with_what_changes() -> None:
    assert lines(
        finished("create", CONFIG_MAP, "cloud-new"),
        finished("update", CONFIG_MAP, "cloud-nova-api", diffs=["data", "metadata"]),
        finished("create-replacement", SET, "cloud-rabbitmq"),
        finished("replace", SET, "cloud-rabbitmq", diffs=["spec"]),
        finished("delete-replaced", SET, "cloud-rabbitmq"),
        finished("delete", SET, "cloud-mysqld"),
    ) == [
        "- 1 StatefulSet in nova: mysqld",
        "± 1 StatefulSet in nova: rabbitmq (spec)",
        "~ 1 ConfigMap in nova: nova-api (data, metadata)",
        "+ 1 ConfigMap in nova: new",
    ]


def test_only_the_last_phase_counts_and_pulumis_own_providers_do_not() -> None:
    preview = [finished("create", SET, "cloud-one"), finished("create", SET, "cloud-two")]
    provider = finished("create", "pulumi:providers:kubernetes", "default_4_25_0")
    assert lines(*preview, begins(), finished("create", SET, "cloud-one"), provider) == ["+ 1 StatefulSet in nova: one"]
    assert lines() == []


def test_a_component_that_is_reported_twice_is_one_change() -> None:
    project = finished("create", contract.PROJECT, "cloud-nova", custom=False)
    assert lines(project, project) == ["+ 1 component or provider: cloud-nova"]
