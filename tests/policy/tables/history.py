from collections.abc import Mapping

from policy.rules.updates import (
    majority_survives_change,
    one_member_at_a_time,
    one_storage_node_at_a_time,
    virt_host_leaves_empty,
)
from tests.policy.cases import case
from tests.policy.world import (
    MASTERS,
    UNKNOWN,
    Given,
    cloud,
    etcd,
    machine,
    machine_pool,
    masters,
    quorum,
    stack,
    virt_host,
)

one, majority, empty, storage = (
    one_member_at_a_time,
    majority_survives_change,
    virt_host_leaves_empty,
    one_storage_node_at_a_time,
)

RABBITS = {f"rabbitmq-{number}": f"rabbitmq-{number}" for number in (1, 2, 3)}


Nodes = Mapping[str, object]
"""Each with its physical host."""


def previous(stores: Nodes | None = None, **quorums: Nodes | tuple[int, Nodes]) -> Given:
    """What the last deployment left: each quorum by its nodes, or by its number of members and its nodes."""
    pluralize = {name: each if isinstance(each, tuple) else (len(each), each) for name, each in quorums.items()}
    left = {name: {"members": members, "nodes": nodes} for name, (members, nodes) in pluralize.items()}
    return Given("quorate:index:Previous", "previous", {"stood": {"quorums": left, "storage": stores or {}}})


FIRST = Given("quorate:index:Previous", "previous", {"stood": None})
UNKNOWN_PREVIOUS = Given("quorate:index:Previous", "previous", {"stood": UNKNOWN})
ETCD = {name: name for name in MASTERS}


def rabbits(*names: str, replicas: int = 3, **servers: str) -> list[Given]:
    """RabbitMQ on these nodes."""
    nodes = [machine(name, "rabbitmq", server=servers.get(name.replace("-", "_"))) for name in names]
    return [cloud(), quorum(replicas=replicas), *nodes]


CASES = (
    case(one, "nothing goes", previous(rabbitmq=RABBITS), rabbits(*RABBITS), passes="rabbitmq"),
    case(
        one,
        "one is replaced",
        previous(rabbitmq=RABBITS, etcd=ETCD),
        rabbits("rabbitmq-1", "rabbitmq-2", "rabbitmq-4"),
        etcd("master-1", "master-2", "master-9"),
        passes="rabbitmq etcd",
    ),
    case(
        one,
        "two are replaced",
        previous(rabbitmq=RABBITS),
        rabbits("rabbitmq-1", "rabbitmq-4", "rabbitmq-5"),
        fails="rabbitmq",
        message="2 of its 3 members go at once; rabbitmq-2, rabbitmq-3 may carry one and will not be there",
    ),
    case(
        one,
        "two move to other servers under their old names",
        previous(rabbitmq=RABBITS),
        rabbits(*RABBITS, rabbitmq_1="virt7", rabbitmq_2="virt8"),
        fails="rabbitmq",
        message="rabbitmq-1, rabbitmq-2 may carry one and will not be there, or be on another server",
    ),
    case(
        one,
        "two replicas less",
        previous(rabbitmq=(5, {**RABBITS, "rabbitmq-4": "a", "rabbitmq-5": "b"})),
        rabbits("rabbitmq-1", "rabbitmq-2", "rabbitmq-3", "rabbitmq-4", "rabbitmq-5", rabbitmq_4="a", rabbitmq_5="b"),
        fails="rabbitmq",
        message="2 of its 5 members go at once; 3 members will be left",
    ),
    case(
        one,
        "a replica less, with the node that carried it",
        previous(rabbitmq=(4, {**RABBITS, "rabbitmq-4": "rabbitmq-4"})),
        rabbits(*RABBITS),
        passes="rabbitmq",
    ),
    case(
        one,
        "more than there were",
        previous(rabbitmq=RABBITS),
        rabbits("rabbitmq-1", "rabbitmq-2", "rabbitmq-3", "rabbitmq-4", "rabbitmq-5", replicas=5),
        passes="rabbitmq",
    ),
    case(
        one,
        "more nodes than members, and two of them go",
        previous(rabbitmq=(3, {**RABBITS, "rabbitmq-4": "rabbitmq-4", "rabbitmq-5": "rabbitmq-5"})),
        rabbits(*RABBITS),
        fails="rabbitmq",
    ),
    case(one, "two masters are replaced", previous(etcd=ETCD), etcd("master-1", "b", "c"), fails="etcd"),
    case(one, "a quorum that is gone", previous(etcd=ETCD), cloud(), fails="previous", message="3 of its 3"),
    case(one, "the first deployment", FIRST, rabbits(*RABBITS)),
    case(one, "a program that does not look back", rabbits(*RABBITS)),
    case(
        one,
        "what stood is unknown",
        stack(),
        UNKNOWN_PREVIOUS,
        undecided="quorate-test",
        message="stood of previous",
    ),
    case(majority, "one of three", previous(etcd=ETCD), etcd("master-1", "master-2", "d"), passes="etcd"),
    case(
        majority,
        "two of three",
        previous(etcd=ETCD),
        etcd("master-1", "d", "e"),
        masters(1),
        fails="etcd",
        message="expected at least 2 of them stay",
    ),
    case(
        majority,
        "two of five keep a majority",
        previous(etcd={**ETCD, "d": "d", "e": "e"}),
        etcd(),
        passes="etcd",
    ),
    case(majority, "one of two", previous(etcd={"a": "a", "b": "b"}), etcd("a"), fails="etcd"),
    case(majority, "a single one that moves", previous(etcd={"a": "virt1"}), etcd("a", a="virt2"), fails="etcd"),
    case(majority, "the first deployment", FIRST, etcd()),
    case(majority, "what stood is unknown", stack(), UNKNOWN_PREVIOUS, undecided="quorate-test"),
    case(
        empty,
        "it stays",
        previous(etcd={"a": "virt1", "b": "virt2", "c": "c"}),
        virt_host("virt1", "a"),
        virt_host("virt2", "b"),
        passes="virt1 virt2",
    ),
    case(empty, "it stays without its member", previous(etcd={"a": "virt1"}), virt_host("virt1"), passes="virt1"),
    case(
        empty,
        "it goes with its member",
        previous(etcd={"a": "virt1", "b": "virt2"}, mysqld={"d": "virt2"}),
        virt_host("virt1", "a"),
        passes="virt1",
        fails="previous",
        message="virt host virt2: it goes, and carried b, d",
    ),
    case(empty, "members on servers", previous(etcd=ETCD), etcd()),
    case(empty, "the first deployment", FIRST),
    case(
        empty,
        "an unknown server",
        stack(),
        previous(etcd={"a": UNKNOWN}),
        undecided="quorate-test",
        message="stood.quorums.etcd.nodes.a of previous",
    ),
    case(
        storage,
        "one goes",
        previous({"storage-1": "storage-1", "storage-2": "storage-2", "old": "old"}),
        machine_pool("storage", 2),
        passes="previous",
    ),
    case(
        storage,
        "two go",
        previous({"storage-1": "storage-1", "old1": "old1", "old2": "old2"}),
        machine_pool("storage", 2),
        fails="previous",
        message="old1, old2 go in one update",
    ),
    case(
        storage,
        "two move to other servers",
        previous({"storage-1": "virt1", "storage-2": "virt2"}),
        machine_pool("storage", 2),
        fails="previous",
    ),
    case(storage, "the first deployment", FIRST, machine_pool("storage", 2)),
    case(storage, "no node with data", previous(etcd=ETCD)),
    case(storage, "what stood is unknown", UNKNOWN_PREVIOUS, undecided="previous"),
)
