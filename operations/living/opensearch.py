"""Reads OpenSearch: its elected manager, the health of its indices, and its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from cluster.objects import Object, number, text
from operations.living.answers import DISK, Answer, Unanswered, disk_use, first
from operations.living.quorum import LivingMember, LivingQuorum, heard

HEALTH, NODES = "health", "nodes"
_GET = "curl --silent --show-error --max-time 8 'http://localhost:9200/{}'"
QUESTIONS = {
    HEALTH: _GET.format("_cluster/health?timeout=3s&cluster_manager_timeout=3s"),
    NODES: _GET.format("_cat/nodes?format=json&h=name,version,cluster_manager&cluster_manager_timeout=3s"),
    DISK: "df -Pk /var/lib/opensearch",
}


def read(name: str, declared: Sequence[str], answers: Mapping[str, Answer]) -> LivingQuorum:
    """Returns the state of OpenSearch. `declared`: names of the stack's members; `answers`: theirs, by name."""
    healths, silent = heard(declared, answers, _health)
    managed = {member: each for member, each in healths.items() if each.get("discovered_cluster_manager")}
    listed_nodes = first((answers[member] for member in managed), lambda answer: answer.objects(NODES)) or []
    # The nodes that the elected manager knows.
    nodes = {text(each, "name"): each for each in listed_nodes}
    members = [
        silent.get(member) or _member(member, nodes.get(member), answers[member], in_cluster=member in managed)
        for member in declared
    ]
    state = managed[min(managed)] if managed else Object()
    return LivingQuorum(
        name,
        "opensearch",
        tuple(members),
        serves=bool(managed) if healths else None,
        figures=tuple(_figures(state)),
        troubles=tuple(_troubles(state)),
        notes=("replicas of some indices are not placed (yellow)",) if state.get("status") == "yellow" else (),
    )


def _health(answer: Answer) -> Object:
    """Returns a member's answer. A member without an elected manager gives an error with a type and a status."""
    found = answer.document(HEALTH)
    if "status" not in found or ("cluster_name" not in found and "error" not in found):
        raise Unanswered("what it says about its health is not OpenSearch's")
    return found


def _member(name: str, node: Object | None, answer: Answer, *, in_cluster: bool) -> LivingMember:
    leads = text(node or {}, "cluster_manager") == "*"
    if not in_cluster:
        says = "knows no elected manager"
    elif node is None:
        says = "the elected manager does not know it"
    else:
        says = "elected manager" if leads else "in the cluster"
    counts = in_cluster and node is not None
    return LivingMember(name, counts, says, leads=leads, troubles=disk_use(answer), version=text(node or {}, "version"))


def _figures(state: Object) -> Iterator[str]:
    if state:
        yield f"{number(state, 'number_of_nodes')} nodes, {number(state, 'active_shards')} shards active"


def _troubles(state: Object) -> Iterator[str]:
    if state.get("status") == "red":
        yield f"some indices are not available (red): {number(state, 'unassigned_shards')} shards have no place"
