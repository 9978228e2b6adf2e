from policy.rule import Rule, S
from policy.rules.quorum_sizes import (
    ceph_mon_size,
    etcd_size,
    galera_size,
    log_store_size,
    metrics_store_size,
    quorum_size,
    rabbitmq_size,
)
from tests.policy.cases import Case, case
from tests.policy.world import UNKNOWN, Given, cloud, daemons, etcd, machines, names, of_cluster, quorum, workload


def members(name: str, row: str | None = None, replicas: object = 3, image: object = "x") -> Given:
    """A StatefulSet whose pods are named after what they run."""
    return quorum(name, row, replicas=replicas, image=image)


def sized(count: int) -> Given:
    return etcd(*(f"m{number}" for number in range(count)))


def by_image(image: object, replicas: int = 3) -> Given:
    """A hand-written StatefulSet that says nothing of itself but its image."""
    return workload("store", "StatefulSet", image=image, labels={"app": "store"}, replicas=replicas)


def naming(name: str, other: str) -> Given:
    """A workload of one pod whose configuration names another."""
    container = {"name": "main", "image": "registry/ledger:1", "env": [{"name": "PEERS", "value": f"{other}:2888"}]}
    return workload(name, replicas=1).but(spec__template__spec__containers=[container])


NO_QUORUM = (
    workload("etcd-backup", "Job", image="etcd"),
    workload("mariadb", image="mariadb", labels={"app": "blog"}, replicas=1),
    workload("exporter", image="rabbitmq-exporter", labels={"app": "exporter"}),
)


def operated(kind: str, spec: dict[str, object]) -> Given:
    """The custom resource of an operator, which stands for a whole cluster."""
    return Given(f"kubernetes:{kind}", "operated", {"metadata": {"name": "operated"}, "spec": spec})


def store(rule: Rule[S], name: str, row: str, image: str) -> list[Case]:
    """Returns the cases of the rule for a store of metrics or logs; both rules have the same limits."""
    return [
        case(rule, "three or four", members(name, row), by_image(image, 4), passes=f"{name} store"),
        case(
            rule,
            "two",
            members(name, row, 2),
            by_image(image, 1),
            fails=f"{name} store",
            message="expected 3 or more",
        ),
        case(rule, "none", *NO_QUORUM, by_image("opensearch-dashboards:2")),
        case(rule, "unknown replicas", members(name, row, UNKNOWN), undecided=name),
    ]


def started(image: str, command: object, name: str = "store") -> Given:
    """Two members whose image is named like a program without votes."""
    container = {"name": "main", "image": image, "command": command}
    return workload(name, "StatefulSet", labels={"app": name}, replicas=2).but(
        spec__template__spec__containers=[container]
    )


CASES = (
    case(etcd_size, "three, five, seven on machines", sized(3), passes="etcd"),
    case(
        etcd_size,
        "four of an operator",
        operated("operator.etcd.io/v1alpha1:EtcdCluster", {"size": 4}),
        fails="operated",
    ),
    case(
        galera_size,
        "two of an operator",
        operated("pxc.percona.com/v1:PerconaXtraDBCluster", {"pxc": {"size": 2}}),
        fails="operated",
    ),
    case(
        galera_size,
        "a single member of another operator",
        operated("k8s.mariadb.com/v1alpha1:MariaDB", {"galera": {"enabled": True}}),
        fails="operated",
    ),
    case(rabbitmq_size, "one of an operator", operated("rabbitmq.com/v1beta1:RabbitmqCluster", {}), fails="operated"),
    case(
        ceph_mon_size,
        "four of an operator",
        operated("ceph.rook.io/v1:CephCluster", {"mon": {"count": 4}}),
        fails="operated",
    ),
    case(ceph_mon_size, "the operator's default", operated("ceph.rook.io/v1:CephCluster", {}), passes="operated"),
    case(
        etcd_size,
        "five as pods",
        members("etcd", replicas=5),
        by_image("quay.io/coreos/etcd:v3.6.5"),
        passes="etcd store",
    ),
    case(etcd_size, "seven", sized(7), passes="etcd"),
    case(
        etcd_size,
        "four",
        sized(4),
        fails="etcd",
        message="4 members tolerate 1 failure, no more than 3; expected 3, 5 or 7",
    ),
    case(etcd_size, "nine", sized(9), fails="etcd"),
    case(etcd_size, "two", by_image("etcd", 2), fails="store"),
    case(etcd_size, "one, in production", cloud(), sized(1), fails="etcd"),
    case(etcd_size, "one, in a lab", cloud(profile="lab"), sized(1), passes="etcd"),
    case(etcd_size, "two, in a lab", cloud(profile="lab"), sized(2), fails="etcd"),
    case(
        etcd_size,
        "as daemons, on as many nodes as there are",
        machines("master", 4),
        daemons("store", "master", labels={"app": "x"}).but(metadata__annotations={"quorate.io/row": "etcd"}),
    ),
    case(etcd_size, "none", *NO_QUORUM, members("rabbitmq", replicas=2)),
    case(
        etcd_size,
        "unknown members",
        Given("quorate:k8s:Etcd", "etcd", {"members": UNKNOWN}),
        undecided="etcd",
        message="members of etcd",
    ),
    case(
        galera_size,
        "three or five",
        members("mysqld", "mysqld-server"),
        by_image("quay.io/openstack.kolla/mariadb-server:2026.1-debian", 5),
        passes="mysqld store",
    ),
    case(
        galera_size,
        "four or seven",
        members("mysqld", "mysqld-server", 4),
        by_image("percona-xtradb-cluster", 7),
        fails="mysqld store",
        message="expected 3 or 5",
    ),
    case(galera_size, "none", *NO_QUORUM, by_image("prom/mysqld-exporter", 1), by_image("mariadb-backup", 1)),
    case(galera_size, "one database without Galera", by_image("mariadb:11.8", 1), by_image("mysql:8", 1)),
    case(
        galera_size,
        "one database with the settings of a Galera",
        by_image("mariadb:11.8", 1).but(
            spec__template__spec__containers=[{"name": "db", "image": "mariadb:11.8", "args": ["--wsrep-on=ON"]}]
        ),
        fails="store",
        message="1 member tolerates 0 failures",
    ),
    case(galera_size, "a number that is not written", by_image("mariadb:11.8").but(spec__replicas=None), fails="store"),
    case(galera_size, "an image that is a Galera alone", by_image("percona-xtradb-cluster", 1), fails="store"),
    case(galera_size, "unknown image", by_image(UNKNOWN), undecided="store"),
    case(
        galera_size,
        "replicas that are not a number",
        members("mysqld", "mysqld-server", "three"),
        undecided="mysqld",
        message="spec.replicas of mysqld is str, not a whole number",
    ),
    case(
        rabbitmq_size,
        "three, five, nine",
        members("rabbitmq", "rabbitmq-server"),
        by_image("rabbitmq", 9),
        passes="rabbitmq store",
    ),
    case(
        rabbitmq_size,
        "four or one",
        members("rabbitmq", "rabbitmq-server", 4),
        by_image("rabbitmq:4-management", 1),
        fails="rabbitmq store",
        message="expected 3 or more, an odd number",
    ),
    case(rabbitmq_size, "none", *NO_QUORUM, members("mysqld")),
    case(rabbitmq_size, "unknown replicas", members("rabbitmq", "rabbitmq-server", UNKNOWN), undecided="rabbitmq"),
    case(
        ceph_mon_size,
        "three or five",
        members("ceph-mon", "ceph-mon"),
        by_image("ceph/ceph-mon:19", 5),
        passes="ceph-mon store",
    ),
    case(
        ceph_mon_size,
        "four or seven",
        members("ceph-mon", "ceph-mon", 4),
        by_image("ceph-mon", 7),
        fails="ceph-mon store",
    ),
    case(ceph_mon_size, "none", *NO_QUORUM, daemons("ceph-osd", row="ceph-osd")),
    case(ceph_mon_size, "unknown replicas", members("ceph-mon", "ceph-mon", UNKNOWN), undecided="ceph-mon"),
    *store(metrics_store_size, "influxdb-grafana", "Influxdb + Grafana", "influxdb:3"),
    *store(log_store_size, "elasticsearch-kibana", "Elasticsearch + Kibana", "quay.io/kolla/opensearch:2026.1"),
    case(
        rabbitmq_size,
        "a StatefulSet for each member",
        *(of_cluster(quorum(name, replicas=1)) for name in ("r1", "r2", "r3")),
        passes="r1",
    ),
    case(
        rabbitmq_size,
        "two StatefulSets of one member each",
        *(of_cluster(quorum(name, replicas=1)) for name in ("r1", "r2")),
        fails="r1",
        message="StatefulSets r1, r2: 2 members",
    ),
    case(
        quorum_size,
        "three, five and seven, whatever runs in them",
        by_image("zookeeper:3.9"),
        members("consul", image="hashicorp/consul:1.21", replicas=5),
        members("ledger", image="registry/ledger:1", replicas=7),
        passes="store consul ledger",
    ),
    case(
        quorum_size,
        "two or four",
        by_image("mongo:8", 4),
        workload("sentinel", image="valkey-sentinel:8", labels={"app": "s"}, replicas=2),
        members("ledger", "none", image="registry/ledger:1", replicas=2),
        fails="store sentinel ledger",
        message="4 members tolerate 1 failure, no more than 3; expected 3 or more, an odd number",
    ),
    case(
        quorum_size,
        "two workloads that name each other",
        *(naming(name, other) for name, other in (("z1", "z2"), ("z2", "z1"))),
        fails="z1",
        message="Deployments z1, z2: 2 members",
    ),
    case(
        quorum_size,
        "programs without votes, and instances without data or names",
        by_image("prom/prometheus:v3", 2),
        members("cache", image="memcached:1.6", replicas=2),
        workload("website", image="nginx:1.29", replicas=2),
        workload("vault-injector", image="vault:1.20", labels={"app": "v"}, replicas=2),
        members("rabbitmq", "rabbitmq-server", 2),
        by_image("postgres:17", 2),
    ),
    case(
        galera_size,
        "a database under the name of a cache",
        started("memcached:1.6", ["mariadbd", "--wsrep-on=ON"]),
        fails="store",
        message="2 members tolerate 0 failures",
    ),
    case(
        etcd_size,
        "an etcd that a shell starts under the name of a web server",
        started("nginx:1.29", ["/bin/sh", "-c", "sleep 1; exec /usr/local/bin/etcd --name a"]),
        fails="store",
    ),
    case(
        etcd_size,
        "a shell that only names it",
        started("nginx:1.29", ["sh", "-c", "until nc -z etcd 2379; do sleep 1; done; exec nginx"]),
    ),
    case(etcd_size, "a command that is not known", started("nginx:1.29", UNKNOWN, "other"), undecided="other"),
    case(quorum_size, "unknown replicas", members("ledger", replicas=UNKNOWN), undecided="ledger"),
    case(
        etcd_size,
        "members known by the Service that they share",
        *(
            workload(name, "StatefulSet", image="etcd:3.6", labels={"app": "etcd", "member": name}, replicas=1)
            for name in ("e1", "e2", "e3", "e4")
        ),
        names("etcd", {"app": "etcd"}),
        fails="e1",
        message="StatefulSets e1, e2, e3, e4: 4 members",
    ),
    case(
        etcd_size,
        "members of one headless Service that claim clusters of their own",
        *(
            of_cluster(
                workload(name, "StatefulSet", image="etcd:3.6", labels={"app": "etcd", "member": name}, replicas=1),
                name,
            )
            for name in ("e1", "e2")
        ),
        names("etcd", {"app": "etcd"}),
        fails="e1",
        message="StatefulSets e1, e2: 2 members",
    ),
    case(
        galera_size,
        "hand-written Deployments of several replicas",
        workload("shop", image="docker.io/library/mysql:8.4", labels={"app": "shop"}, replicas=2),
        workload("wiki", image="mariadb:11", labels={"app": "wiki"}, replicas=2),
        fails="shop wiki",
        message="2 members tolerate 0 failures",
    ),
)
