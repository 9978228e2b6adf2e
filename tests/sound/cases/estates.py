"""Shapes of stacks that experts defend: external clusters, single databases, monitoring, pins of one workload alone."""

from __future__ import annotations

from tests.attacks.attack import config, given, mounting, with_container
from tests.policy.tables.commands import ssh
from tests.policy.world import Given, Props, whole_stack
from tests.sound.cases.operators import ceph, custom, mariadb, percona, postgres, rabbitmq
from tests.sound.cases.others import daemon, deployment, holding
from tests.sound.sound import HOST, RACK, SERVER, Sound, member, node, nodes, quorum

READ_ONLY = "[mariadbd]\nread_only = ON\n"
ONE_DATABASE: Props = mounting("mariadb", "wiki-config", "/etc/mysql/conf.d")
DIGEST = f"@sha256:{'0' * 64}"
WITH_CLAIM: Props = {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]}


def job(name: str, program: str, **pod: object) -> Given:
    template: Props = {"spec": {**with_container(program), "restartPolicy": "Never", **pod}}
    return given("batch/v1:Job", name, {"template": template})


def nightly(name: str, program: str, command: list[str]) -> Given:
    pod: Props = {**with_container(program, command=command), "restartPolicy": "Never"}
    return given(
        "batch/v1:CronJob", name, {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": pod}}}}
    )


CASES = [
    Sound(
        "Ceph of another team, whose monitors are none of the stack's",
        [*nodes(3), ceph(external={"enable": True}, mon={"count": 0}, cephVersion={})],
    ),
    Sound(
        "an external Ceph as Rook's example has it",
        [
            *nodes(3),
            custom(
                "ceph.rook.io/v1:CephCluster",
                "rook-ceph-external",
                {"external": {"enable": True}, "dataDirHostPath": "/var/lib/rook", "crashCollector": {"disable": True}},
            ),
        ],
    ),
    Sound(
        "one read-only MariaDB of a wiki, no Galera",
        [
            *nodes(3),
            member("wiki-db", "mariadb", replicas=1, apart=(), pod=ONE_DATABASE),
            config("wiki-config", {"own.cnf": READ_ONLY}),
        ],
    ),
    Sound("one MariaDB in a Deployment", [*nodes(3), deployment("db", "mariadb", 1, **WITH_CLAIM)]),
    Sound("one MySQL of an application", [*nodes(3), member("shop-db", "mysql", replicas=1, apart=())]),
    Sound("one PostgreSQL of an application", [*nodes(3), member("shop-db", "postgresql", replicas=1, apart=())]),
    Sound(
        "a MariaDB of an operator with one instance and no Galera",
        [*nodes(3), mariadb(replicas=1, galera=None, affinity=None)],
    ),
    Sound(
        "a password that is an empty text in quotes",
        [
            *nodes(3),
            deployment("api", "api", 2),
            config("api", {"DB_PASSWORD": '""', "api.conf": "[db]\npassword = ''\n"}),
        ],
    ),
    Sound(
        "an environment variable for a password that is empty",
        [
            *nodes(3),
            deployment("api", "api", 2, **with_container("api", env=[{"name": "REDIS_PASSWORD", "value": "''"}])),
        ],
    ),
    Sound(
        "a digest on one hand-written workload beside a rendered cloud with tags",
        [*whole_stack("100"), deployment("status-page", "status-page", 2, "status")],
    ),
    Sound(
        "Prometheus, Alertmanager, node exporter and Grafana by hand",
        [
            *nodes(5),
            *holding("prometheus", "prometheus", 2),
            *holding("alerts", "alertmanager", 3),
            deployment("grafana", "grafana", 2),
            daemon("node-exporter", "node-exporter", priorityClassName="system-node-critical"),
            given("monitoring.coreos.com/v1:ServiceMonitor", "api", {"endpoints": []}),
            given("monitoring.coreos.com/v1:PrometheusRule", "api", {"groups": []}),
        ],
    ),
    Sound("one Prometheus with its data", [*nodes(3), *holding("prometheus", "prometheus", 1)]),
    Sound(
        "Kafka brokers of four with KRaft controllers of three",
        [*nodes(4), *holding("controller", "kafka-controller", 3)],
    ),
    Sound("three NATS servers with JetStream", [*nodes(3), *quorum("nats", "nats")]),
    Sound("five MongoDB members over five servers", [*nodes(5), *quorum("mongo", "mongo", replicas=5)]),
    Sound("OpenBao of three", [*nodes(3), *quorum("bao", "openbao")]),
    Sound(
        "CockroachDB of five over five racks",
        [*nodes(5, 5), *quorum("cockroach", "cockroach", replicas=5, apart=(HOST, SERVER, RACK))],
    ),
    Sound("TiDB: three placement drivers and three stores", [*nodes(3), *quorum("pd", "pd"), *quorum("tikv", "tikv")]),
    Sound("seven etcd members", [*nodes(7), *quorum("kv", "etcd", replicas=7)]),
    Sound("four OpenSearch members", [*nodes(4), *quorum("logs", "opensearch", replicas=4)]),
    Sound(
        "five RabbitMQ members of an operator",
        [
            *nodes(5),
            rabbitmq(replicas=5),
            given(
                "policy/v1:PodDisruptionBudget",
                "broker",
                {"maxUnavailable": 2, "selector": {"matchLabels": {"app.kubernetes.io/name": "broker"}}},
            ),
        ],
    ),
    Sound("five members of Percona's operator", [*nodes(5), percona(size=5)]),
    Sound("one PostgreSQL of CloudNativePG", [*nodes(3), postgres(instances=1)]),
    Sound("Valkey of one, a cache without data", [*nodes(3), deployment("cache", "valkey", 1)]),
    Sound("memcached of three in a Deployment", [*nodes(3), deployment("cache", "memcached", 3)]),
    Sound("ingress-nginx as a DaemonSet", [*nodes(3), daemon("ingress", "nginx")]),
    Sound("a job that migrates a schema", [*nodes(3), job("migrate", "api")]),
    Sound("a nightly clean-up", [*nodes(3), nightly("clean", "curl", ["curl", "-X", "POST", "http://api/clean"])]),
    Sound(
        "a namespace with quotas of its own and no quorum",
        [*nodes(3), deployment("api", "api", 2, "team"), given("core/v1:Namespace", "team", namespace="")],
    ),
    Sound(
        "a claim of shared files",
        [
            *nodes(3),
            given(
                "core/v1:PersistentVolumeClaim",
                "files",
                {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}},
            ),
            deployment(
                "files", "nginx", 2, volumes=[{"name": "files", "persistentVolumeClaim": {"claimName": "files"}}]
            ),
        ],
    ),
    Sound(
        "cert-manager's three programs",
        [
            *nodes(3),
            deployment("cert-manager", "cert-manager-controller", 1, "cert-manager"),
            deployment("cainjector", "cert-manager-cainjector", 1, "cert-manager"),
            deployment("webhook", "cert-manager-webhook", 1, "cert-manager"),
        ],
    ),
    Sound(
        "a stack of Namespaces and ServiceAccounts alone",
        [given("core/v1:Namespace", "a", namespace=""), given("core/v1:ServiceAccount", "a")],
    ),
    Sound("a stack of nodes alone", nodes(5)),
    Sound("a stack without anything", []),
    Sound(
        "Deployment of one with Recreate and a claim",
        [*nodes(3), deployment("wiki", "wiki", 1, **WITH_CLAIM).but(spec__strategy={"type": "Recreate"})],
    ),
    Sound(
        "a quorum on nodes chosen by a selector",
        [
            *(node(f"d{each}", disk="ssd") for each in range(3)),
            *nodes(3),
            *quorum("zk", "zookeeper", pod={"nodeSelector": {"disk": "ssd"}}),
        ],
    ),
    Sound("a ProxySQL of two before another team's database", [*nodes(3), deployment("proxysql", "proxysql", 2)]),
    Sound(
        "files and packages over SSH",
        [ssh("motd", "printf 'hello\\n' > /etc/motd", "m1"), ssh("packages", "apt-get install -y htop", "m1")],
    ),
    Sound(
        "a DaemonSet of log shippers with a configuration",
        [*nodes(3), daemon("ship", "fluent-bit"), config("ship", {"fluent-bit.conf": "[OUTPUT]\n  Name es\n"})],
    ),
    Sound(
        "two APIs behind one HAProxy",
        [*nodes(3), deployment("a", "api-a", 2), deployment("b", "api-b", 3), deployment("proxy", "haproxy", 2)],
    ),
]
