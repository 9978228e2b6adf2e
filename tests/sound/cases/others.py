"""Products and programs that the sources do not name, each built as its own documentation recommends."""

from tests.attacks.attack import (
    DEFAULT_QUEUE,
    GALERA,
    PAUSE,
    changed,
    config,
    container,
    galera,
    given,
    mounting,
    pinned,
    rabbit,
    with_container,
    without,
)
from tests.policy.tables.commands import local, ssh
from tests.policy.world import REQUIRED, Given, Props, service, whole_stack
from tests.sound.sound import HOST, RACK, SERVER, Sound, around, node, nodes, quorum, spread


def deployment(name: str, program: str, replicas: int, namespace: str = "openstack", **pod: object) -> Given:
    """A Deployment of replicas without data, with a surge of one."""
    own = {"app": name}
    spec: Props = {
        "replicas": replicas,
        "selector": {"matchLabels": own},
        "template": {"metadata": {"labels": own}, "spec": {**with_container(program), **pod}},
    }
    return given("apps/v1:Deployment", name, spec, namespace)


def budget(name: str, **limit: object) -> Given:
    """A budget for the pods of a workload."""
    spec: Props = {**limit, "selector": {"matchLabels": {"app": name}}}
    return given("policy/v1:PodDisruptionBudget", f"{name}-budget", spec)


def holding(name: str, program: str, replicas: int, **container_parts: object) -> list[Given]:
    """A StatefulSet of replicas with data that are not a quorum."""
    return quorum(name, program, replicas=replicas, pod=with_container(program, **container_parts))


def daemon(name: str, program: str, **pod: object) -> Given:
    """A DaemonSet on every node with small requests."""
    small = container(program, resources={"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}})
    inside: Props = {"containers": [small], "tolerations": [{"operator": "Exists"}], **pod}
    template = {"metadata": {"labels": {"app": name}}, "spec": inside}
    return given("apps/v1:DaemonSet", name, {"selector": {"matchLabels": {"app": name}}, "template": template})


NOT_IN = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["nats"]}]}
BY_EXPRESSION = {
    "podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": NOT_IN} for key in (HOST, SERVER)]}
}
SENTINEL = "sentinel monitor primary valkey-0.valkey-members 6379 2\nsentinel failover-timeout primary 60000\n"
ZOO = " ".join(f"server.{each + 1}=zk-{each}.zk-members:2888:3888;2181" for each in range(3))
ETCD = ",".join(f"etcd-{each}=http://etcd-{each}.etcd-members:2380" for each in range(5))
PEERS = {"from": [{"podSelector": {"matchLabels": {"app": "etcd"}}}], "ports": [{"port": 2380, "protocol": "TCP"}]}
CLIENTS = {"ports": [{"port": 2379, "protocol": "TCP"}]}
RAFT = "".join(f'  retry_join {{ leader_api_addr = "http://vault-{each}.vault-members:8200" }}\n' for each in range(5))


CASES = [
    Sound(
        "Vault of five over five racks, two of which may be drained",
        [
            *nodes(10, 5),
            *without(
                quorum(
                    "vault", "vault", replicas=5, apart=(RACK,), pod=mounting("vault", "vault-config", "/vault/config")
                ),
                "vault-budget",
            ),
            budget("vault", maxUnavailable=2),
            config("vault-config", {"vault.hcl": f'storage "raft" {{\n  path = "/vault/data"\n{RAFT}}}\n'}),
        ],
    ),
    Sound(
        "ZooKeeper with its list of servers, a budget of two available",
        [
            *nodes(3),
            *without(
                quorum("zk", "zookeeper", pod=with_container("zookeeper", env=[{"name": "ZOO_SERVERS", "value": ZOO}])),
                "zk-budget",
            ),
            budget("zk", minAvailable=2),
        ],
    ),
    Sound(
        "etcd of five with its arguments, spread over hosts",
        [
            *nodes(7),
            *quorum(
                "etcd",
                "etcd",
                replicas=5,
                apart=(),
                spread=[spread(SERVER, "etcd", minDomains=5)],
                pod=with_container("etcd", command=["etcd", f"--initial-cluster={ETCD}", "--data-dir=/data"]),
            ),
        ],
    ),
    Sound(
        "NATS kept apart by an expression",
        [
            *nodes(3),
            *changed(quorum("nats", "nats", apart=()), "nats", spec__template__spec__affinity=BY_EXPRESSION),
        ],
    ),
    Sound(
        "Valkey of three with three sentinels, two of which decide",
        [
            *nodes(3),
            *quorum("valkey", "valkey"),
            *quorum("sentinel", "valkey-sentinel", pod=mounting("valkey-sentinel", "sentinel-config", "/etc/valkey")),
            config("sentinel-config", {"sentinel.conf": SENTINEL}),
        ],
    ),
    Sound(
        "OVN: two databases of three, northd of two, relays of three",
        [
            *nodes(3),
            *quorum("ovn-nb", "ovn-nb-db-server"),
            *quorum("ovn-sb", "ovn-sb-db-server"),
            deployment("ovn-northd", "ovn-northd", 2),
            deployment("ovn-sb-relay", "ovn-sb-db-relay", 3),
        ],
    ),
    Sound("a RabbitMQ that pauses its minority", rabbit(PAUSE + DEFAULT_QUEUE)),
    Sound("a Galera with its options behind a proxy of its own", galera(GALERA)),
    Sound(
        "OpenSearch: three managers and four data nodes",
        [
            *nodes(5),
            *holding("manager", "opensearch", 3, env=[{"name": "node.roles", "value": "cluster_manager"}]),
            *holding("data", "opensearch", 4, env=[{"name": "node.roles", "value": "data"}]),
        ],
    ),
    Sound("two Alertmanagers", [*nodes(3), *holding("alerts", "alertmanager", 2)]),
    Sound("MinIO of four, which needs parity and no majority", [*nodes(4), *holding("minio", "minio", 4)]),
    Sound("Cassandra of six", [*nodes(6), *holding("ring", "cassandra", 6)]),
    Sound(
        "PostgreSQL of two under Patroni, whose votes are in etcd",
        [*nodes(3), *holding("pg", "patroni", 2), *quorum("etcd", "etcd")],
    ),
    Sound(
        "ClickHouse of two with three keepers",
        [*nodes(3), *holding("clickhouse", "clickhouse-server", 2), *holding("keeper", "clickhouse-keeper", 3)],
    ),
    Sound(
        "storage of VictoriaMetrics and ingesters of Loki",
        [*nodes(4), *holding("vmstorage", "vmstorage", 2), *holding("ingester", "loki", 4)],
    ),
    Sound("CoreDNS of six", [*nodes(6), deployment("coredns", "coredns", 6, "kube-system")]),
    Sound(
        "daemons of the nodes themselves, everywhere",
        [
            *(pinned(each) for each in whole_stack("1000")),
            daemon("node-exporter", "node-exporter", priorityClassName="system-node-critical"),
            daemon("calico-node", "calico-node", priorityClassName="system-node-critical", hostNetwork=True),
        ],
    ),
    Sound(
        "a namespace closed to all but members and clients",
        [
            *nodes(3),
            *quorum("etcd", "etcd"),
            given(
                "networking.k8s.io/v1:NetworkPolicy",
                "etcd",
                {
                    "podSelector": {"matchLabels": {"app": "etcd"}},
                    "policyTypes": ["Ingress"],
                    "ingress": [PEERS, CLIENTS],
                },
            ),
        ],
    ),
    Sound(
        "an autoscaler of a stateless API",
        [
            *nodes(6),
            deployment("api", "placement-api", 3),
            service("api", {"app": "api"}),
            given(
                "autoscaling/v2:HorizontalPodAutoscaler",
                "api",
                {
                    "minReplicas": 3,
                    "maxReplicas": 5,
                    "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"},
                },
            ),
        ],
    ),
    Sound(
        "a backup of etcd at night",
        [
            *nodes(3),
            *quorum("etcd", "etcd"),
            given(
                "batch/v1:CronJob",
                "backup",
                {
                    "schedule": "0 3 * * *",
                    "jobTemplate": {
                        "spec": {
                            "template": {
                                "spec": {
                                    **with_container(
                                        "etcdctl", command=["etcdctl", "snapshot", "save", "/backup/etcd.db"]
                                    ),
                                    "restartPolicy": "Never",
                                }
                            }
                        }
                    },
                },
            ),
        ],
    ),
    Sound(
        "RabbitMQ on each of three labelled nodes, as the documents propose",
        [
            *(node(f"n{each}", messaging="yes") for each in (1, 2, 3)),
            node("n4"),
            given(
                "apps/v1:DaemonSet",
                "rabbit",
                {
                    "selector": {"matchLabels": {"app": "rabbit"}},
                    "template": {
                        "metadata": {"labels": {"app": "rabbit"}},
                        "spec": {
                            "containers": [
                                container(
                                    "rabbitmq",
                                    volumeMounts=[
                                        {"name": "config", "mountPath": "/etc/rabbitmq"},
                                        {"name": "data", "mountPath": "/var/lib/rabbitmq"},
                                    ],
                                )
                            ],
                            "nodeSelector": {"messaging": "yes"},
                            "volumes": [
                                {"name": "config", "configMap": {"name": "rabbit-config"}},
                                {"name": "data", "hostPath": {"path": "/var/lib/rabbitmq"}},
                            ],
                        },
                    },
                },
            ),
            *around("rabbit"),
            config("rabbit-config", {"rabbitmq.conf": PAUSE + DEFAULT_QUEUE}),
        ],
    ),
    Sound(
        "commands of every day",
        [
            ssh("time", "apt-get update && apt-get install -y chrony && systemctl restart chrony", "m1"),
            ssh("save", "etcdctl snapshot save /var/backups/etcd.db", "m1"),
            ssh("clean", "rm -rf /tmp/build /var/cache/apt/archives", "m2"),
            ssh("sysctl", "sysctl -w net.ipv4.ip_forward=1; modprobe br_netfilter", "m3"),
            local("apply", "kubectl apply -f manifests/ && kubectl rollout status deployment/horizon"),
        ],
    ),
]
