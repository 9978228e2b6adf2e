"""Sound stacks with clusters of operators, an autoscaler of a service, and a NetworkPolicy."""

from tests.policy.world import REQUIRED, Given, Props, apart_term
from tests.sound.sound import HOST, NAMESPACE, SERVER, Sound, nodes, quorum

DIGEST = f"@sha256:{'0' * 64}"
RESOURCES: Props = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
QUEUES = "default_queue_type = quorum\n"


def custom(kind: str, name: str, spec: Props) -> Given:
    """A custom resource by its group, version and kind, as group/version:Kind."""
    return Given(f"kubernetes:{kind}", name, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec})


def apart(labels: Props, *keys: str) -> Props:
    return {"podAntiAffinity": {REQUIRED: [apart_term(key, labels) for key in keys or (HOST, SERVER)]}}


def budget(name: str, labels: Props) -> Given:
    spec: Props = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
    return Given("kubernetes:policy/v1:PodDisruptionBudget", f"{name}-budget", {"metadata": _of(name), "spec": spec})


def _of(name: str) -> Props:
    return {"name": name, "namespace": NAMESPACE}


def rabbitmq(**changes: object) -> Given:
    spec: Props = {
        "replicas": 3,
        "image": f"registry.example/rabbitmq:4.1.2{DIGEST}",
        "affinity": apart({"app.kubernetes.io/name": "broker"}),
        "resources": RESOURCES,
        "rabbitmq": {"additionalConfig": QUEUES},
        **changes,
    }
    return custom("rabbitmq.com/v1beta1:RabbitmqCluster", "broker", spec)


def percona(**changes: object) -> Given:
    pxc: Props = {
        "size": 3,
        "image": f"registry.example/percona-xtradb-cluster:8.4{DIGEST}",
        "volumeSpec": {"persistentVolumeClaim": {}},
        "resources": RESOURCES,
        **changes,
    }
    return custom("pxc.percona.com/v1:PerconaXtraDBCluster", "db", {"secretsName": "db-secrets", "pxc": pxc})


def mariadb(**changes: object) -> Given:
    spec: Props = {
        "replicas": 3,
        "galera": {"enabled": True},
        "image": f"registry.example/mariadb:11.8.2{DIGEST}",
        "affinity": {"antiAffinityEnabled": True},
        "rootPasswordSecretKeyRef": {"name": "mariadb", "key": "password"},
        "resources": RESOURCES,
        "storage": {"size": "10Gi"},
        **changes,
    }
    return custom("k8s.mariadb.com/v1alpha1:MariaDB", "galera", spec)


def ceph(**changes: object) -> Given:
    spec: Props = {
        "cephVersion": {"image": f"registry.example/ceph:v20.2.5{DIGEST}"},
        "mon": {"count": 3},
        "resources": {"mon": {"requests": {"cpu": "1", "memory": "2Gi"}}},
        "disruptionManagement": {"managePodBudgets": True},
        **changes,
    }
    return custom("ceph.rook.io/v1:CephCluster", "ceph", spec)


def etcd(**changes: object) -> Given:
    affinity = apart({"app": "kv"})
    spec: Props = {"size": 3, "storageSpec": {}, "podTemplate": {"spec": {"affinity": affinity}}, **changes}
    return custom("operator.etcd.io/v1alpha1:EtcdCluster", "kv", spec)


def postgres(**changes: object) -> Given:
    spec: Props = {
        "instances": 3,
        "imageName": f"registry.example/postgresql:17.5{DIGEST}",
        "affinity": {"podAntiAffinityType": "required"},
        "resources": RESOURCES,
        **changes,
    }
    return custom("postgresql.cnpg.io/v1:Cluster", "pg", spec)


BUDGET = budget("broker", {"app.kubernetes.io/name": "broker"})

LABELS: Props = {"app": "zk"}
PEERS: Props = {"podSelector": {"matchLabels": LABELS}}
ADMITS_PEERS: Props = {
    "podSelector": {"matchLabels": LABELS},
    "ingress": [{"from": [PEERS], "ports": [{"port": 2888}, {"port": 3888}]}, {"ports": [{"port": 2181}]}],
}

MONITORING = [
    *nodes(3),
    custom(
        "monitoring.coreos.com/v1:Prometheus",
        "metrics",
        {
            "replicas": 2,
            "image": f"registry.example/prometheus:3.5.0{DIGEST}",
            "resources": RESOURCES,
            "storage": {"volumeClaimTemplate": {"spec": {}}},
        },
    ),
    custom(
        "monitoring.coreos.com/v1:Alertmanager",
        "alerts",
        {"replicas": 3, "image": f"registry.example/alertmanager:0.28.1{DIGEST}", "resources": RESOURCES},
    ),
    custom(
        "grafana.integreatly.org/v1beta1:Grafana",
        "pictures",
        {
            "version": f"registry.example/grafana:12.0.0{DIGEST}",
            "deployment": {
                "spec": {"template": {"spec": {"containers": [{"name": "grafana", "resources": RESOURCES}]}}}
            },
        },
    ),
    custom("monitoring.coreos.com/v1:ServiceMonitor", "targets", {"endpoints": [{"port": "metrics"}]}),
    custom("monitoring.coreos.com/v1:PrometheusRule", "rules", {"groups": []}),
    custom("grafana.integreatly.org/v1beta1:GrafanaDashboard", "board", {"json": "{}"}),
    custom("cert-manager.io/v1:Issuer", "authority", {"selfSigned": {}}),
    custom("cert-manager.io/v1:Certificate", "server", {"secretName": "server", "issuerRef": {"name": "authority"}}),
]

CASES = [
    Sound("RabbitMQ of an operator", [*nodes(4), rabbitmq(), BUDGET]),
    Sound("Percona XtraDB Cluster with the operator's defaults", [*nodes(3), percona()]),
    Sound("MariaDB Galera of an operator", [*nodes(5), mariadb()]),
    Sound("Ceph monitors of Rook", [*nodes(3), ceph()]),
    Sound("Prometheus, Alertmanager, Grafana and certificates by operators", MONITORING),
    Sound("five Ceph monitors of Rook, two of them evictable", [*nodes(5), ceph(mon={"count": 5})]),
    Sound("PostgreSQL of CloudNativePG", [*nodes(3), postgres()]),
    Sound(
        "ZooKeeper behind a NetworkPolicy",
        [
            *nodes(3),
            *quorum("zk", "zookeeper"),
            Given("kubernetes:networking.k8s.io/v1:NetworkPolicy", "zk", {"metadata": _of("zk"), "spec": ADMITS_PEERS}),
        ],
    ),
]
