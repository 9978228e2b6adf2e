"""Members that one host or one rack may carry together, or that can run nowhere."""

from tests.attacks.attack import Attack, changed, container, given, single
from tests.policy.world import REQUIRED, Given, apart_term
from tests.sound.cases.placement import LOCAL, local_volumes
from tests.sound.sound import HOST, RACK, SERVER, around, member, node, nodes, quorum, spread

ONE_SERVER = [node("n1", "s1"), node("n2", "s1"), node("n3", "s2")]
ZONE = "topology.kubernetes.io/zone"
MEMBER = {"app": "consul"}


def with_affinity(name: str, program: str, affinity: object) -> list[Given]:
    """A quorum with this affinity instead of its own."""
    made = quorum(name, program, apart=())
    return changed(made, name, spec__template__spec__affinity=affinity)


SOFT = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": apart_term(HOST, {"app": "db"})}
        ]
    }
}
WRONG_NAMESPACE = {"podAntiAffinity": {REQUIRED: [apart_term(HOST, MEMBER, namespaces=["consul"])]}}
WRONG_LABELS = {"podAntiAffinity": {REQUIRED: [apart_term(HOST, {"app": "zookeper"})]}}
TOGETHER = {"podAffinity": {REQUIRED: [apart_term(HOST, {"app": "storage"})]}}
AWAY_FROM_OTHERS = {"podAntiAffinity": {REQUIRED: [apart_term(HOST, {"app": "web"})]}}
ONLY_N1 = {"nodeSelector": {HOST: "n1"}}
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "everything"}}
MONGO_PEERS = "rs0/mongo-0.mongo-0:27017,mongo-1.mongo-1:27017,mongo-2.mongo-2:27017"


def mongo(number: int, host: str) -> Given:
    """One of three members of a replica set in workloads of their own, on a node by name."""
    peers = container("mongod", args=["--replSet", "rs0"], env=[{"name": "REPLICA_SET_MEMBERS", "value": MONGO_PEERS}])
    return single(f"mongo-{number}", "mongod", "mongo", nodeName=host, containers=[peers])


CASES = [
    Attack(
        "Galera that only prefers to be apart",
        [*nodes(5), *with_affinity("db", "mariadb", SOFT)],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "anti-affinity with a typo in its labels",
        [*nodes(5), *with_affinity("zk", "zookeeper", WRONG_LABELS)],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "anti-affinity in another namespace",
        [*nodes(5), *with_affinity("consul", "consul", WRONG_NAMESPACE)],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "anti-affinity with other pods only",
        [*nodes(5), *with_affinity("ovn-sb", "ovn-sb-db", AWAY_FROM_OTHERS)],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "members drawn to the node of another pod",
        [*nodes(5), *with_affinity("db", "mariadb", TOGETHER)],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "apart over nodes, two nodes on one server",
        [*ONE_SERVER, *quorum("etcd", "etcd", apart=(HOST,))],
        caught_by="one-member-per-server",
    ),
    Attack(
        "apart over a label that the nodes do not have",
        [*nodes(5), *quorum("etcd", "etcd", apart=(ZONE,))],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "spread over two racks and over nothing else",
        [*nodes(6, 2), *quorum("vault", "vault", apart=(), spread=[spread(RACK, "vault")])],
        caught_by="quorum-survives-host",
    ),
    Attack(
        "a spread that is only a wish",
        [
            *nodes(3),
            *quorum("nats", "nats", apart=(), spread=[spread(HOST, "nats", whenUnsatisfiable="ScheduleAnyway")]),
        ],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "a spread over the pods of another program",
        [*nodes(3), *quorum("nats", "nats", apart=(), spread=[spread(SERVER, "gnats")])],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "all members on a node by its name",
        [*nodes(3), *quorum("etcd", "etcd", apart=(), pod=ONLY_N1)],
        caught_by="one-instance-per-node",
    ),
    Attack(
        "anti-affinity of three on one selected node",
        [*nodes(3), *quorum("etcd", "etcd", pod=ONLY_N1)],
        caught_by="replicas-fit-nodes",
    ),
    Attack(
        "three replicas, two nodes with the label",
        [
            node("n1", disk="ssd"),
            node("n2", disk="ssd"),
            node("n3", disk="hdd"),
            *quorum("db", "mariadb", pod={"nodeSelector": {"disk": "ssd"}}),
        ],
        caught_by="replicas-fit-nodes",
    ),
    Attack(
        "three replicas, one of three nodes tainted",
        [*changed(nodes(3), "n3", spec__taints=[{"key": "gpu", "effect": "NoSchedule"}]), *quorum("db", "mariadb")],
        caught_by="replicas-fit-nodes",
    ),
    Attack(
        "three replicas, one of three nodes cordoned",
        [*changed(nodes(3), "n3", spec__unschedulable=True), *quorum("db", "mariadb")],
        caught_by="replicas-fit-nodes",
    ),
    Attack(
        "one volume for three members of etcd",
        [
            *nodes(3),
            *(
                each.but(spec__volumeClaimTemplates=None) if each.name == "etcd" else each
                for each in quorum("etcd", "etcd", pod={"volumes": [CLAIM]})
            ),
        ],
        caught_by="stateful-keeps-data",
    ),
    Attack(
        "local volumes that are all on one node",
        [
            *nodes(3),
            *local_volumes("a", "n1"),
            *local_volumes("b", "n1"),
            *local_volumes("c", "n1"),
            *changed(quorum("ledger", "ledger", apart=()), "ledger", spec__volumeClaimTemplates=[LOCAL]),
        ],
        caught_by="quorum-survives-host",
    ),
    Attack(
        "a replica set in three workloads on one node",
        [*nodes(3), *(mongo(each, "n1") for each in (0, 1, 2))],
        caught_by="quorum-survives-host",
    ),
    Attack(
        "a replica set in three workloads on two servers",
        [*ONE_SERVER, mongo(0, "n1"), mongo(1, "n2"), mongo(2, "n3")],
        caught_by="quorum-survives-host",
    ),
    Attack(
        "bare pods of etcd on one node",
        [
            *nodes(3),
            *(
                given(
                    "core/v1:Pod",
                    f"etcd-{each}",
                    {
                        "nodeName": "n1",
                        "containers": [
                            container(
                                "etcd",
                                command=[
                                    "etcd",
                                    f"--name=etcd-{each}",
                                    "--initial-cluster=etcd-0=http://etcd-0:2380,etcd-1=http://etcd-1:2380,"
                                    "etcd-2=http://etcd-2:2380",
                                ],
                            )
                        ],
                    },
                )
                for each in (0, 1, 2)
            ),
        ],
        caught_by="quorum-survives-host",
    ),
    Attack(
        "five members over two racks",
        [*nodes(6, 2), *quorum("etcd", "etcd", replicas=5)],
    ),
    Attack(
        "an update that needs a fourth node",
        [
            *nodes(3),
            given(
                "apps/v1:Deployment",
                "keystone",
                {
                    "replicas": 3,
                    "selector": {"matchLabels": {"app": "keystone"}},
                    "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
                    "template": {
                        "metadata": {"labels": {"app": "keystone"}},
                        "spec": {
                            "containers": [container("keystone")],
                            "affinity": {"podAntiAffinity": {REQUIRED: [apart_term(HOST, {"app": "keystone"})]}},
                        },
                    },
                },
            ),
        ],
        caught_by="rollout-can-finish",
    ),
    Attack(
        "requests that fit no node",
        [
            *(each.but(status__allocatable={"cpu": "8", "memory": "16Gi", "pods": "110"}) for each in nodes(3)),
            *quorum(
                "db",
                "mariadb",
                pod={"containers": [container("mariadb", resources={"requests": {"cpu": "16", "memory": "64Gi"}})]},
            ),
        ],
        caught_by="pod-fits-node",
    ),
    Attack(
        "a Galera of two with an arbitrator beside one of them",
        [
            *nodes(3),
            *quorum("db", "mariadb", replicas=2, labels={"app": "db"}),
            member(
                "garbd",
                "garbd",
                replicas=1,
                apart=(),
                pod={
                    "nodeSelector": {HOST: "n1"},
                    "containers": [container("garbd", args=["--group=openstack", "--address=gcomm://db-0.db,db-1.db"])],
                },
            ),
            *around("garbd"),
        ],
        caught_by="galera-size",
    ),
]
