"""The data of a quorum's members on local volumes, by the node that has the volume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policy.facts.quorums.quorum_state import quorum_state
from policy.facts.quorums.quorums import group_of
from tests.policy.world import HOST, Given, facts, machine_pool, quorum

OF_RABBITMQ = {"app": "rabbitmq"}


def volume(name: str, labels: Mapping[str, str], *nodes: str, key: str = HOST, **source: object) -> Given:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(nodes)}]}
    spec = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}, **(source or {"local": {"path": f"/{name}"}})}
    props = {"metadata": {"name": name, "labels": dict(labels)}, "spec": spec}
    return Given("kubernetes:core/v1:PersistentVolume", name, props)


def data_of(*volumes: Given, selectors: Sequence[Mapping[str, str]] = (OF_RABBITMQ,)) -> dict[str, list[str]]:
    """Returns the data of a member on each node on which it may run, as its volumes allow."""
    claims = [
        {"metadata": {"name": f"data{number}"}, "spec": {"selector": {"matchLabels": dict(selector)}}}
        for number, selector in enumerate(selectors)
    ]
    given = facts([machine_pool("rabbitmq"), quorum().but(spec__volumeClaimTemplates=claims), *volumes])
    (workload,) = given.workloads
    state = quorum_state(given, group_of(given, workload))
    assert state.members == 3
    return {name: sorted(node.data) for name, node in state.nodes.items()}


def test_a_member_has_the_volumes_of_its_node_that_its_claim_selects() -> None:
    assert data_of(
        volume("a", OF_RABBITMQ, "rabbitmq-1"),
        volume("b", {**OF_RABBITMQ, "disk": "fast"}, "rabbitmq-1"),
        volume("c", OF_RABBITMQ, "rabbitmq-2"),
        volume("of-another", {"app": "mysqld"}, "rabbitmq-2"),
    ) == {"rabbitmq-1": ["/a", "/b"], "rabbitmq-2": ["/c"]}


def test_other_volumes_are_no_data_of_a_node() -> None:
    assert data_of(
        volume("shared", OF_RABBITMQ, "rabbitmq-1", nfs={"path": "/shared"}),
        volume("of-a-zone", OF_RABBITMQ, "rabbitmq-1", key="topology.kubernetes.io/zone"),
    ) == {"rabbitmq-1": []}


def test_a_claim_without_labels_selects_none() -> None:
    volumes = volume("a", OF_RABBITMQ, "rabbitmq-1"), volume("b", {}, "rabbitmq-1")
    assert data_of(*volumes, selectors=[{}]) == {"rabbitmq-1": []}
    assert data_of(*volumes, selectors=[{}, OF_RABBITMQ]) == {"rabbitmq-1": ["/a"]}
