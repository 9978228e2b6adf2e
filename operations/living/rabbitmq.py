"""Reads a RabbitMQ cluster: members, partitions, alarms, and replicated queues without a majority or not balanced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from blueprint.plan.quorum_limits import majority
from cluster.objects import Object, listed, mapping, number, text, words
from openstack.monitoring import replicated_queues
from operations.living.answers import DISK, Answer, Unanswered, disk_use, first
from operations.living.quorum import LivingMember, LivingQuorum, heard, with_votes

CLUSTER, QUEUES = "cluster", "queues"
UNBALANCED = 10
"""Leaders of queues that a member has beyond its equal share from which the imbalance is named. Project figure."""
_CTL = "rabbitmqctl --quiet --timeout 8"
QUESTIONS = {
    CLUSTER: f"{_CTL} cluster_status --formatter=json",
    QUEUES: f'{_CTL} eval --formatter=json "{replicated_queues.COUNT}"',
    DISK: "df -Pk /var/lib/rabbitmq",
}


def read(name: str, declared: Sequence[str], answers: Mapping[str, Answer]) -> LivingQuorum:
    """Returns the state of a RabbitMQ cluster. `declared`: names of the stack's members; `answers`: theirs, by name."""
    found, silent = heard(declared, answers, _status)
    seen = Counter(_running(each) for member, each in found.items() if member in _running(each))
    together = max(seen, key=lambda each: (len(each), seen[each]), default=frozenset[str]())
    voters = _voters(found, together) or frozenset(declared)
    queues = first((answers[member] for member in sorted(together & answers.keys())), _queues) or {}
    uncounted = ("its replicated queues could not be counted",) if together and not queues else ()
    return LivingQuorum(
        name,
        "rabbitmq",
        with_votes(
            (silent.get(member) or _member(member, found[member], together, answers[member]) for member in declared),
            voters,
        ),
        serves=len(together) >= majority(len(voters)) if found else None,
        figures=(f"{number(queues, 'all')} replicated queues",) if queues else (),
        troubles=tuple(dict.fromkeys((*_partitions(found), *_alarms(found), *_without_majority(queues), *uncounted))),
        notes=tuple(_notes(queues)),
        critical=dict(_critical(queues)),
    )


def _status(answer: Answer) -> Object:
    found = answer.document(CLUSTER)
    if "running_nodes" not in found:
        raise Unanswered("what it says is not the status of a RabbitMQ cluster")
    return found


def _running(status: Object) -> frozenset[str]:
    return frozenset(map(_member_name, words(status, "running_nodes")))


def _voters(found: Mapping[str, Object], together: frozenset[str]) -> frozenset[str]:
    """Returns the members that the cluster itself lists; none while another member runs that is not with it.

    A cluster that goes on alone after its majority was lost has forgotten the others, and is its own majority.
    """
    if any(member in (own := _running(status)) and own != together for member, status in found.items()):
        return frozenset()
    lists = {frozenset(map(_member_name, words(found[each], "disk_nodes"))) for each in together & found.keys()}
    return lists.pop() if len(lists) == 1 else frozenset()


def _member_name(node: str) -> str:
    """Returns the member's name, such as rabbitmq-0, of an Erlang node's."""
    return node.partition("@")[2].partition(".")[0]


def _member(name: str, status: Object, together: frozenset[str], answer: Answer) -> LivingMember:
    own = _running(status)
    if name not in own:
        says = "its broker does not run: it waits for the others, or was stopped"
    elif own != together:
        others = ", ".join(sorted(own - {name}))
        says = f"runs with {others} only" if others else "runs alone: it does not see the others"
    else:
        says = "runs"
    node = next((each for each in mapping(status, "versions") if _member_name(each) == name), "")
    if text(status, "maintenance_status", node) not in ("", "not under maintenance"):
        says += ", under maintenance"
    version = text(status, "versions", node, "rabbitmq_version")
    return LivingMember(name, name in own and own == together, says, troubles=disk_use(answer), version=version)


def _queues(answer: Answer) -> Object:
    """Returns what a member says about replicated queues. Raises Unanswered if it cannot count them."""
    found = mapping(answer.document(QUEUES), "value")
    if "all" not in found:
        raise Unanswered("what it says is not a count of replicated queues")
    return found


def _partitions(found: Mapping[str, Object]) -> Iterator[str]:
    for member, status in found.items():
        for node, apart in mapping(status, "partitions").items():
            names = ", ".join(map(_member_name, words({"apart": apart}, "apart")))
            yield f"partition: {member} says that {_member_name(node)} does not reach {names}"


def _alarms(found: Mapping[str, Object]) -> Iterator[str]:
    for status in found.values():
        for alarm in listed(status, "alarms"):
            kind = text(alarm, "resource") or text(alarm, "type")
            yield f"{_member_name(text(alarm, 'node'))} has an alarm ({kind}): publishers are blocked on all members"


def _without_majority(queues: Object) -> Iterator[str]:
    if lost := number(queues, "lost"):
        yield f"{lost} replicated queues have no majority, such as {', '.join(words(queues, 'named'))}"


def _critical(queues: Object) -> Iterator[tuple[str, str]]:
    """Yields members with what would stop without each: queues whose other replicas are too few."""
    for node, count in mapping(queues, "critical").items():
        if int(count):
            member = _member_name(node)
            yield member, f"{int(count)} replicated queues would lose their majority without {member}"


def _notes(queues: Object) -> Iterator[str]:
    if reduced := number(queues, "reduced"):
        yield f"{reduced} replicated queues lack a replica that runs"
    led = {_member_name(node): int(count) for node, count in mapping(queues, "led").items()}
    share = sum(led.values()) / len(led) if led else 0
    if most := [member for member, count in led.items() if count - share >= UNBALANCED and count > 2 * share]:
        shown = ", ".join(f"{led[member]} on {member}" for member in most)
        total = sum(led.values())
        yield f"leaders of replicated queues are not balanced: {shown} of {total} (rabbitmq-queues rebalance)"
