from policy.rules.distinct_hosts import one_member_per_server, server_label_is_true
from tests.policy.cases import case
from tests.policy.world import (
    HOST,
    UNKNOWN,
    Given,
    daemons,
    etcd,
    etcd_machines,
    machine,
    machine_pool,
    machines,
    quorum,
    virt_host,
    workload,
)

per_server, label = one_member_per_server, server_label_is_true

NODES = machines("rabbitmq")


def vm(name: str, server: str, pool: str = "rabbitmq") -> Given:
    return machine(name, pool, server=server)


def domain(name: str, uri: str) -> Given:
    return Given("libvirt:index/domain:Domain", f"{name}-domain", {"name": name}, provider=uri)


CASES = (
    case(per_server, "three hosts", NODES, quorum(), passes="rabbitmq"),
    case(
        per_server,
        "two nodes are virtual machines on one host",
        vm("a", "virt1"),
        vm("b", "virt1"),
        vm("c", "virt2"),
        quorum(),
        fails="rabbitmq",
        message="eligible nodes span 2 physical hosts (virt1, virt2); expected at least 3, one per member",
    ),
    case(
        per_server,
        "five nodes on three hosts are enough for three",
        vm("a", "virt1"),
        vm("b", "virt1"),
        vm("c", "virt2"),
        vm("d", "virt2"),
        vm("e", "virt3"),
        quorum(),
        passes="rabbitmq",
    ),
    case(
        per_server,
        "apart over nodes, each on a host of its own",
        NODES,
        quorum(apart=(HOST,)),
        passes="rabbitmq",
    ),
    case(
        per_server,
        "apart over nodes, two of them on one host",
        vm("a", "virt1"),
        vm("b", "virt1"),
        vm("c", "virt2"),
        vm("d", "virt3"),
        quorum(apart=(HOST,)),
        fails="rabbitmq",
        message="physical host virt1 can carry 2 of 3 members (no required anti-affinity over quorate.io/server); "
        "expected scheduling rules that allow one member per physical host",
    ),
    case(
        per_server,
        "a node without the label",
        NODES,
        machine("rabbitmq-4", "rabbitmq").but(labels={"quorate.io/pool": "rabbitmq"}),
        quorum(),
        fails="rabbitmq",
        message="no label quorate.io/server on rabbitmq-4; expected it on every eligible node",
    ),
    case(
        per_server,
        "recognised by its image, in any registry",
        NODES,
        workload(
            "queue",
            "StatefulSet",
            image="reg:5000/mirror/rabbitmq:4@sha256:00",
            labels={"app": "q"},
            pools=["rabbitmq"],
            apart=(),
        ),
        fails="queue",
    ),
    case(
        per_server,
        "an exporter beside it is not a member",
        NODES,
        workload("metrics", "StatefulSet", image="kbudde/rabbitmq-exporter", labels={"app": "m"}, pools=["rabbitmq"]),
    ),
    case(
        per_server,
        "an etcd as daemons on shared hosts",
        vm("a", "virt1", "etcd"),
        vm("b", "virt1", "etcd"),
        daemons("etcd", "etcd", row="ceph-mon"),
        fails="etcd",
        message="physical host virt1 can carry 2 of 2 members; expected scheduling rules that allow one member per "
        "physical host",
    ),
    case(
        per_server,
        "no quorum, or one of a single member",
        NODES,
        workload("horizon", row="horizon/apache2"),
        quorum(replicas=1),
    ),
    case(
        per_server,
        "an unknown label of a node",
        vm("a", UNKNOWN),
        vm("b", "virt1"),
        vm("c", "virt2"),
        quorum(),
        undecided="rabbitmq",
        message="labels.quorate.io/server of a",
    ),
    case(
        per_server,
        "an unknown image of a hand-written StatefulSet",
        NODES,
        workload("queue", "StatefulSet", image=UNKNOWN, labels={"app": "q"}),
        undecided="queue",
    ),
    case(label, "carried by the host that its label names", virt_host("virt1", "a"), vm("a", "virt1"), passes="a"),
    case(
        label,
        "carried by another",
        virt_host("virt1", "a"),
        vm("a", "virt2"),
        fails="a",
        message="quorate.io/server=virt2, but VirtHost virt1 carries it; expected one carrier, named in the label",
    ),
    case(
        label,
        "libvirt domains of one provider, with the hypervisor's label",
        [domain(name, "qemu+ssh://h1/system") for name in "ab"],
        vm("a", "h1"),
        vm("b", "h1"),
        passes="a b",
    ),
    case(
        label,
        "libvirt domains of one provider, each with a label of its own",
        [domain(name, "qemu+ssh://h1/system") for name in "abc"],
        vm("a", "h1"),
        vm("b", "h2"),
        vm("c", "h3"),
        fails="a b c",
        message="quorate.io/server=h1, but its libvirt domain has the provider of b, c",
    ),
    case(label, "carried by two", virt_host("virt1", "a"), virt_host("virt2", "a"), vm("a", "virt1"), fails="a"),
    case(
        label,
        "a virtual machine of etcd, which is not a node, carried by another",
        virt_host("virt1", "etcd-1"),
        etcd("etcd-1"),
        etcd_machines("etcd-1", server="virt2"),
        fails="etcd-1",
        message="quorate.io/server=virt2, but VirtHost virt1 carries it",
    ),
    case(label, "physical servers", virt_host("virt1"), machine_pool("compute"), NODES),
    case(
        label,
        "unknown guests of a host",
        Given("quorate:virt:VirtHost", "virt1", {"server": "virt1", "vms": UNKNOWN}),
        vm("a", "virt1"),
        undecided="a",
        message="vms of virt1",
    ),
    case(label, "unknown label", virt_host("virt1", "a"), vm("a", UNKNOWN), undecided="a"),
)
