from collections.abc import Iterable, Mapping

from policy.rules.updates import (
    majority_survives_change,
    one_member_at_a_time,
    one_server_at_a_time,
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
    etcd_machines,
    machine,
    machine_pool,
    masters,
    of_cluster,
    quorum,
    stack,
    virt_host,
)

one, host, majority, empty, storage = (
    one_member_at_a_time,
    one_server_at_a_time,
    majority_survives_change,
    virt_host_leaves_empty,
    one_storage_node_at_a_time,
)

RABBITS = {f"rabbitmq-{number}": f"rabbitmq-{number}" for number in (1, 2, 3)}


Nodes = Mapping[str, object]
"""Each with its physical host, or with all that is recorded of it."""


def previous(stores: Nodes | None = None, **quorums: Nodes | tuple[int, Nodes]) -> Given:
    """What the last deployment left: each quorum by its nodes, or by its number of members and its nodes."""
    counted = {name: each if isinstance(each, tuple) else (len(each), each) for name, each in quorums.items()}
    left = {name: {"members": members, "nodes": recorded(nodes)} for name, (members, nodes) in counted.items()}
    return Given("quorate:index:Previous", "previous", {"stood": {"quorums": left, "storage": recorded(stores or {})}})


def recorded(nodes: Nodes) -> dict[str, object]:
    return {name: each if isinstance(each, dict) else {"server": each} for name, each in nodes.items()}


FIRST = Given("quorate:index:Previous", "previous", {"stood": None})
UNKNOWN_PREVIOUS = Given("quorate:index:Previous", "previous", {"stood": UNKNOWN})
ETCD = {name: name for name in MASTERS}
DISK = "<domain><devices><disk device='disk'><source pool='p' volume='a'/><target dev='vda'/></disk></devices></domain>"


def rabbits(*names: str, replicas: int = 3, **servers: str) -> list[Given]:
    """A stack with a RabbitMQ that may run on these nodes."""
    nodes = [machine(name, "rabbitmq", server=servers.get(name.replace("-", "_"))) for name in names]
    return [cloud(), quorum(replicas=replicas), *nodes]


def at(addresses: Iterable[str]) -> Nodes:
    """The nodes of RabbitMQ, with these addresses."""
    return {name: {"server": name, "address": each} for name, each in zip(RABBITS, addresses, strict=True)}


def addressed(*names: str) -> list[Given]:
    """A stack with a RabbitMQ on these nodes, whose addresses are 10.0.0.1 and the following ones."""
    nodes = [machine(name, "rabbitmq").but(address=f"10.0.0.{n}") for n, name in enumerate(names, start=1)]
    return [cloud(), quorum(), *nodes]


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
        message="2 of 3 members are removed at once (rabbitmq-2, rabbitmq-3 no longer among its nodes); "
        "expected at most 1",
    ),
    case(
        one,
        "two move to other servers under their old names",
        previous(rabbitmq=RABBITS),
        rabbits(*RABBITS, rabbitmq_1="virt7", rabbitmq_2="virt8"),
        fails="rabbitmq",
        message="rabbitmq-1, rabbitmq-2 on another physical host",
    ),
    case(
        one,
        "two replicas less",
        previous(rabbitmq=(5, {**RABBITS, "rabbitmq-4": "a", "rabbitmq-5": "b"})),
        rabbits("rabbitmq-1", "rabbitmq-2", "rabbitmq-3", "rabbitmq-4", "rabbitmq-5", rabbitmq_4="a", rabbitmq_5="b"),
        fails="rabbitmq",
        message="2 of 5 members are removed at once (3 members instead of 5)",
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
    case(
        one,
        "five masters become three at once",
        previous(etcd=(5, {f"master-{n}": f"master-{n}" for n in range(1, 6)})),
        etcd("master-1", "master-2", "master-3"),
        fails="etcd",
        message="2 of 5 members are removed at once (master-4, master-5 no longer among its nodes",
    ),
    case(one, "two masters are replaced", previous(etcd=ETCD), etcd("master-1", "b", "c"), fails="etcd"),
    case(
        majority,
        "etcd moves from the masters to machines of its own",
        previous(etcd=ETCD),
        masters(),
        etcd("etcd-1", "etcd-2", "etcd-3"),
        etcd_machines("etcd-1", "etcd-2", "etcd-3"),
        fails="etcd",
        message="3 of 3 members are removed at once (master-1, master-2, master-3 no longer among its nodes); "
        "expected at least 2 of them to stay",
    ),
    case(
        majority,
        "etcd moves from machines of its own to the masters",
        previous(etcd={"etcd-1": "etcd-1"}),
        masters(1),
        etcd("master-1"),
        fails="etcd",
        message="1 of 1 members is removed at once (etcd-1 no longer among its nodes); expected at least 1",
    ),
    case(
        one,
        "a virtual machine of etcd keeps its disk",
        previous(etcd={"a": {"server": "a", "address": "10.0.0.1", "pool": "", "data": ["vda pool=p volume=a"]}}),
        etcd("a"),
        [each.but(definition={"domain.xml": DISK}) for each in etcd_machines("a")],
        passes="etcd",
    ),
    case(
        one,
        "two virtual machines of etcd get other disks",
        previous(etcd={name: {"server": name, "data": [f"vda pool=p volume={name}"]} for name in ("b", "c")}),
        etcd("b", "c"),
        [each.but(definition={"domain.xml": DISK}) for each in etcd_machines("b", "c")],
        fails="etcd",
        message="2 of 2 members are removed at once (b, c without its data)",
    ),
    case(one, "a quorum that is gone", previous(etcd=ETCD), cloud(), fails="previous", message="3 of 3"),
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
    case(
        host,
        "one server with a member of each of two quorums",
        previous(rabbitmq={**RABBITS, "rabbitmq-3": "virt3"}, etcd={**ETCD, "master-3": "virt3"}),
        rabbits("rabbitmq-1", "rabbitmq-2", "rabbitmq-4"),
        etcd("master-1", "master-2", "master-9"),
        passes="previous",
    ),
    case(
        host,
        "two servers, each with a member of another quorum",
        previous(rabbitmq=RABBITS, etcd=ETCD),
        rabbits("rabbitmq-1", "rabbitmq-2", "rabbitmq-4"),
        etcd("master-1", "master-2", "master-9"),
        fails="previous",
        message="members on 2 physical hosts leave in one update (quorum etcd: "
        "master-3 no longer among its nodes; "
        "quorum rabbitmq: rabbitmq-3 no longer among its nodes); expected members on at most 1",
    ),
    case(
        host,
        "nodes of two quorums change places: each leaves one pool and joins another",
        previous(
            rabbitmq={**RABBITS, "rabbitmq-3": {"server": "rabbitmq-3", "pool": "rabbitmq"}},
            mysqld={"mysqld-1": {"server": "mysqld-1", "pool": "mysqld"}, "mysqld-2": "mysqld-2"},
        ),
        [machine("rabbitmq-3", "mysqld"), machine("mysqld-1", "rabbitmq"), machine("mysqld-2", "mysqld")],
        [machine("rabbitmq-1", "rabbitmq"), machine("rabbitmq-2", "rabbitmq"), cloud()],
        [quorum(), quorum("mysqld", "mysqld-server", replicas=2)],
        fails="previous",
        message="mysqld-1 no longer among its nodes",
    ),
    case(
        host,
        "a node in another pool that the quorum's pods may use as well, and a member elsewhere",
        previous(rabbitmq={**RABBITS, "rabbitmq-3": {"server": "rabbitmq-3", "pool": "spare"}}, etcd=ETCD),
        rabbits(*RABBITS),
        etcd("master-1", "master-2", "master-9"),
        fails="previous",
        message="rabbitmq-3 in another pool",
    ),
    case(
        host,
        "one node at another address",
        previous(rabbitmq=at(f"10.0.0.{number}" for number in (1, 2, 9))),
        addressed(*RABBITS),
        passes="previous",
    ),
    case(
        host,
        "two nodes at other addresses under their old names",
        previous(rabbitmq=at(f"10.0.0.{number}" for number in (1, 8, 9))),
        addressed(*RABBITS),
        fails="previous",
        message="rabbitmq-2, rabbitmq-3 at another address",
    ),
    case(
        host,
        "disks of two members' machines are made anew",
        previous(rabbitmq={name: {"server": name, "data": ["vda file=/old"]} for name in RABBITS}),
        rabbits(*RABBITS),
        fails="previous",
        message="rabbitmq-1, rabbitmq-2, rabbitmq-3 without its data",
    ),
    case(
        host,
        "two quorums lose a replica each, and it is not known from which host",
        previous(rabbitmq=(4, RABBITS), etcd=ETCD),
        rabbits(*RABBITS),
        etcd("master-1", "master-2"),
        fails="previous",
        message="members on 2 physical hosts",
    ),
    case(
        host,
        "a quorum of a workload for each member loses one",
        previous(rabbitmq=(3, RABBITS)),
        [cloud(), *(machine(name, "rabbitmq") for name in RABBITS)],
        [of_cluster(quorum(f"rabbitmq-{n}", replicas=1, pools=["rabbitmq"])) for n in (1, 2)],
        passes="previous",
    ),
    case(host, "the first deployment", FIRST, rabbits(*RABBITS)),
    case(host, "what stood is unknown", stack(), UNKNOWN_PREVIOUS, undecided="quorate-test"),
    case(majority, "one of three", previous(etcd=ETCD), etcd("master-1", "master-2", "d"), passes="etcd"),
    case(
        majority,
        "two of three",
        previous(etcd=ETCD),
        etcd("master-1", "d", "e"),
        masters(1),
        fails="etcd",
        message="expected at least 2 of them to stay",
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
        message="virt host virt2: removed while b, d were quorum nodes on it; "
        "expected their removal in an earlier update",
    ),
    case(empty, "members on servers", previous(etcd=ETCD), etcd()),
    case(empty, "the first deployment", FIRST),
    case(
        empty,
        "an unknown server",
        stack(),
        previous(etcd={"a": UNKNOWN}),
        undecided="quorate-test",
        message="stood.quorums.etcd.nodes.a.server of previous",
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
        message="old1, old2 are removed or moved in one update; expected at most 1",
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
