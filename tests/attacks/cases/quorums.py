"""Sizes, budgets, updates, data and settings that cost a majority."""

from tests.attacks.attack import (
    GALERA,
    PAUSE,
    Attack,
    changed,
    config,
    container,
    galera,
    given,
    mounting,
    rabbit,
    with_container,
    without,
)
from tests.policy.world import Given, Props
from tests.sound.sound import nodes, quorum


def budgeted(limit: Props, selects: Props | None = None, namespace: str = "openstack") -> list[Given]:
    """An etcd of three members with this PodDisruptionBudget."""
    spec = {**limit, "selector": selects or {"matchLabels": {"app": "etcd"}}}
    other = given("policy/v1:PodDisruptionBudget", "etcd-budget", spec, namespace)
    return [*nodes(3), *without(quorum("etcd", "etcd"), "etcd-budget"), other]


def etcd(*arguments: str, **more: object) -> list[Given]:
    """An etcd of three members with these arguments."""
    named = [f"etcd-{each}=http://etcd-{each}.etcd-members:2380" for each in (0, 1, 2)]
    cluster = f"--initial-cluster={','.join(named)}"
    own = [each for each in arguments if each.startswith("--initial-cluster=")] or [cluster]
    rest = [each for each in arguments if each not in own]
    pod = with_container("etcd", command=["etcd", "--data-dir=/data", *own, *rest], **more)
    return [*nodes(3), *quorum("etcd", "etcd", pod=pod)]


def probing(program: str, kind: str, *command: str) -> list[Given]:
    """A quorum of three members with this probe."""
    probe = {"exec": {"command": list(command)}, "periodSeconds": 10, "failureThreshold": 3}
    return [*nodes(3), *quorum("own", program, pod=with_container(program, **{kind: probe}))]


def data(volume: Props) -> list[Given]:
    """An etcd whose data is in this volume of the pod."""
    inside = with_container("etcd", volumeMounts=[{"name": "data", "mountPath": "/var/lib/etcd"}])
    pod = {**inside, "volumes": [{"name": "data", **volume}]}
    return [*nodes(3), *changed(quorum("etcd", "etcd", pod=pod), "etcd", spec__volumeClaimTemplates=None)]


SENTINEL = "sentinel monitor primary valkey-0.valkey 6379 1\nsentinel down-after-milliseconds primary 5000\n"
ZOO = "server.1=zk-0.zk:2888:3888;2181 server.2=zk-1.zk:2888:3888;2181 server.3=zk-2.zk:2888:3888;2181 "
ZOO_FIVE = ZOO + "server.4=zk-3.zk:2888:3888;2181 server.5=zk-4.zk:2888:3888;2181"
ETCD_FIVE = "--initial-cluster=" + ",".join(f"etcd-{each}=http://etcd-{each}.etcd-members:2380" for each in range(5))
ETCD_TWICE = "--initial-cluster=etcd-0=http://10.0.0.1:2380,etcd-1=http://10.0.0.1:2380,etcd-2=http://10.0.0.3:2380"

CASES = [
    Attack("etcd of two", [*nodes(3), *quorum("etcd", "etcd", replicas=2)], caught_by="etcd-size"),
    Attack("etcd of one", [*nodes(3), *quorum("etcd", "etcd", replicas=1)], caught_by="etcd-size"),
    Attack("RabbitMQ of four", [*nodes(5), *quorum("rabbit", "rabbitmq", replicas=4)], caught_by="rabbitmq-size"),
    Attack(
        "OVN southbound databases of two",
        [*nodes(3), *quorum("ovn-sb", "ovn-sb-db-server", replicas=2)],
        caught_by="quorum-size",
    ),
    Attack("Vault of two", [*nodes(3), *quorum("vault", "vault", replicas=2)], caught_by="quorum-size"),
    Attack("NATS JetStream of four", [*nodes(5), *quorum("nats", "nats", replicas=4)], caught_by="quorum-size"),
    Attack("two sentinels", [*nodes(3), *quorum("sentinel", "valkey-sentinel", replicas=2)], caught_by="quorum-size"),
    Attack(
        "sentinels of which one decides",
        [
            *nodes(3),
            *quorum("sentinel", "valkey", pod=mounting("valkey", "sentinel-config", "/etc/valkey")),
            config("sentinel-config", {"sentinel.conf": SENTINEL}),
        ],
        caught_by="members-agree-on-size",
    ),
    Attack("a budget that keeps one of three", budgeted({"minAvailable": 1}), caught_by="budget-keeps-majority"),
    Attack("a budget of half", budgeted({"maxUnavailable": "50%"}), caught_by="budget-keeps-majority"),
    Attack("a budget of all", budgeted({"maxUnavailable": "100%"}), caught_by="budget-keeps-majority"),
    Attack(
        "a budget for other pods",
        budgeted({"maxUnavailable": 1}, {"matchLabels": {"app": "etc"}}),
        caught_by="quorum-has-budget",
    ),
    Attack(
        "a budget in another namespace",
        budgeted({"maxUnavailable": 1}, namespace="default"),
        caught_by="quorum-has-budget",
    ),
    Attack("a budget that no drain gets past", budgeted({"minAvailable": 3}), caught_by="drain-can-finish"),
    Attack(
        "two budgets for the same pods",
        [
            *budgeted({"maxUnavailable": 1}),
            given(
                "policy/v1:PodDisruptionBudget",
                "all",
                {"minAvailable": 1, "selector": {"matchLabels": {"app": "etcd"}}},
            ),
        ],
        caught_by="quorum-has-budget",
    ),
    Attack("no budget", [*nodes(3), *without(quorum("db", "mariadb"), "db-budget")], caught_by="quorum-has-budget"),
    Attack(
        "two members updated at once",
        [
            *nodes(3),
            *changed(quorum("db", "mariadb"), "db", spec__updateStrategy={"rollingUpdate": {"maxUnavailable": 2}}),
        ],
        caught_by="rollout-keeps-service",
    ),
    Attack("data in an emptyDir", data({"emptyDir": {}}), caught_by="stateful-keeps-data"),
    Attack("data in memory", data({"emptyDir": {"medium": "Memory"}}), caught_by="stateful-keeps-data"),
    Attack("data on any host's path", data({"hostPath": {"path": "/srv/etcd"}}), caught_by="stateful-keeps-data"),
    Attack(
        "claims that are deleted with the replica",
        [
            *nodes(3),
            *changed(
                quorum("db", "mariadb"),
                "db",
                spec__persistentVolumeClaimRetentionPolicy={"whenScaled": "Delete", "whenDeleted": "Delete"},
            ),
        ],
        caught_by="stateful-keeps-data",
    ),
    Attack(
        "members without requests",
        [*nodes(3), *quorum("db", "mariadb", pod=with_container("mariadb", resources={}))],
        caught_by="members-request-resources",
    ),
    Attack(
        "RabbitMQ that heals itself by losing messages",
        rabbit("cluster_partition_handling = autoheal\n"),
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "RabbitMQ in the classic format",
        [
            *nodes(3),
            *quorum("rabbit", "rabbitmq", pod=mounting("rabbitmq", "rabbit-config", "/etc/rabbitmq")),
            config("rabbit-config", {"rabbitmq.config": "[{rabbit, [{cluster_partition_handling, ignore}]}]."}),
        ],
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "RabbitMQ without a word on partitions",
        rabbit("default_vhost = openstack\n"),
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "RabbitMQ without configuration",
        [*nodes(3), *quorum("rabbit", "rabbitmq")],
        caught_by="rabbitmq-pauses-minority",
    ),
    Attack(
        "a Galera that ignores split brain",
        galera(GALERA + 'wsrep_provider_options = "pc.ignore_sb=true"\n'),
        caught_by="galera-keeps-quorum",
    ),
    Attack(
        "a Galera that ignores quorum",
        galera(GALERA + 'wsrep_provider_options="gcache.size=2G; pc.ignore_quorum=1"\n'),
        caught_by="galera-keeps-quorum",
    ),
    Attack(
        "a Galera that always bootstraps",
        galera(GALERA.replace("db-0.db-members,db-1.db-members,db-2.db-members", "")),
        caught_by="galera-keeps-quorum",
    ),
    Attack(
        "a Galera without replication",
        galera(GALERA.replace("wsrep_on = ON", "wsrep_on = OFF")),
        caught_by="galera-keeps-quorum",
    ),
    Attack("etcd without fsync", etcd("--unsafe-no-fsync"), caught_by="etcd-settings-keep-quorum"),
    Attack("etcd of three with a list of five", etcd(ETCD_FIVE), caught_by="members-agree-on-size"),
    Attack("two names of etcd with one address", etcd(ETCD_TWICE), caught_by="members-agree-on-size"),
    Attack("etcd that forces a new cluster", etcd("--force-new-cluster"), caught_by="etcd-settings-keep-quorum"),
    Attack(
        "etcd with elections before heartbeats",
        etcd("--heartbeat-interval=1000", "--election-timeout=1000"),
        caught_by="etcd-settings-keep-quorum",
    ),
    Attack(
        "ZooKeeper of three with a list of five",
        [
            *nodes(3),
            *quorum(
                "zk", "zookeeper", pod=with_container("zookeeper", env=[{"name": "ZOO_SERVERS", "value": ZOO_FIVE}])
            ),
        ],
        caught_by="members-agree-on-size",
    ),
    Attack(
        "Consul that bootstraps alone",
        [
            *nodes(3),
            *quorum(
                "consul",
                "consul",
                pod=with_container("consul", args=["agent", "-server", "-bootstrap-expect=1", "-data-dir=/data"]),
            ),
        ],
        caught_by="members-agree-on-size",
    ),
    Attack(
        "a liveness probe that asks Galera's size",
        probing(
            "mariadb",
            "livenessProbe",
            "sh",
            "-c",
            "mysql -NBe \"show status like 'wsrep_cluster_status'\" | grep -q Primary",
        ),
        caught_by="liveness-asks-the-member",
    ),
    Attack(
        "a liveness probe that asks RabbitMQ's cluster",
        probing("rabbitmq", "livenessProbe", "rabbitmq-diagnostics", "check_if_node_is_quorum_critical"),
        caught_by="liveness-asks-the-member",
    ),
    Attack(
        "a liveness probe that asks all of etcd",
        probing("etcd", "livenessProbe", "etcdctl", "endpoint", "health", "--cluster"),
        caught_by="liveness-asks-the-member",
    ),
    Attack(
        "a member that is killed at once",
        [*nodes(3), *quorum("db", "etcd", pod={**with_container("etcd"), "terminationGracePeriodSeconds": 0})],
        caught_by="members-shut-down-in-time",
    ),
    Attack(
        "a password in the environment",
        galera(GALERA, with_container("mariadb", env=[{"name": "MYSQL_ROOT_PASSWORD", "value": "hunter2"}])),
        caught_by="no-clear-secrets",
    ),
    Attack(
        "a password in a ConfigMap", galera(GALERA + "wsrep_sst_auth = sst:hunter2\n"), caught_by="no-clear-secrets"
    ),
    Attack(
        "an image by the name latest",
        rabbit(
            PAUSE,
            {
                **mounting("rabbitmq", "rabbit-config", "/etc/rabbitmq"),
                "containers": [container("rabbitmq", image="registry.example/rabbitmq:latest")],
            },
        ),
        caught_by="no-floating-tag",
    ),
    Attack(
        "a member with the host's root",
        [
            *nodes(3),
            *quorum(
                "etcd",
                "etcd",
                pod={
                    "containers": [container("etcd", volumeMounts=[{"name": "host", "mountPath": "/host"}])],
                    "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
                },
            ),
        ],
        caught_by="host-access-where-needed",
    ),
    Attack(
        "an API server that knows one etcd of three",
        [
            *etcd(),
            given(
                "core/v1:Pod",
                "kube-apiserver",
                {
                    "containers": [
                        container(
                            "kube-apiserver",
                            command=["kube-apiserver", "--etcd-servers=http://etcd-0.etcd-members:2379"],
                        )
                    ]
                },
                "kube-system",
            ),
        ],
        caught_by="api-server-lists-etcd",
    ),
    Attack(
        "schedulers without a leader",
        [
            *nodes(3),
            given(
                "apps/v1:Deployment",
                "kube-scheduler",
                {
                    "replicas": 3,
                    "selector": {"matchLabels": {"app": "kube-scheduler"}},
                    "template": {
                        "metadata": {"labels": {"app": "kube-scheduler"}},
                        "spec": with_container("kube-scheduler", command=["kube-scheduler", "--leader-elect=false"]),
                    },
                },
                "kube-system",
            ),
        ],
        caught_by="leader-election",
    ),
]
