"""Default values of product settings, each with the page that documents it.

The table has the defaults that policy rules need, and no others. `version` is the product version whose documentation
or source was read; a default that differs between versions needs two entries. Liveness probes have no entry, because
Kubernetes has no default probe.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Default:
    """A product's default value of a setting."""

    product: str
    version: str
    setting: str
    """The setting's name in the product's configuration."""
    value: str
    """The default as text; empty if the default is an empty text."""
    documented: str
    """The page that states the value."""

    @property
    def unset(self) -> str:
        """Text for a finding if the setting is not set, such as "wsrep_on is not set (default: OFF)"."""
        return f"{self.setting} is not set (default: {self.value or 'empty'})"

    def actual(self, written: str | None, place: str = "") -> str:
        """Returns text for a finding about the setting.

        `written`: its explicit value, None if it is not set. `place`: what contains the value, if that is known.
        """
        if written is None:
            return self.unset
        return f"{self.setting} is {written or 'empty'}{f' in {place}' if place else ''}"


_RABBITMQ = ("RabbitMQ", "4.1")
PARTITION_HANDLING = Default(
    *_RABBITMQ, "cluster_partition_handling", "ignore", "https://www.rabbitmq.com/docs/partitions#automatic-handling"
)
CLEANUP_WARNS = Default(
    *_RABBITMQ,
    "cluster_formation.node_cleanup.only_log_warning",
    "true",
    "https://www.rabbitmq.com/docs/cluster-formation#cleanup-of-unknown-nodes",
)
SYNC_METHOD = Default(
    *_RABBITMQ,
    "wal_sync_method",
    "datasync",
    "https://github.com/rabbitmq/ra/blob/v2.14.0/docs/internals/INTERNALS.md",
)
QUEUE_TYPE = Default(*_RABBITMQ, "default_queue_type", "classic", "https://www.rabbitmq.com/docs/vhosts")
CLIENT_QUORUM_QUEUE = Default(
    "oslo.messaging",
    "17.0",
    "rabbit_quorum_queue",
    "false",
    "https://docs.openstack.org/oslo.messaging/latest/configuration/opts.html",
)

_MARIADB, _GALERA = ("MariaDB", "11.4"), ("Galera", "26.4")
_WSREP = "https://mariadb.com/docs/galera-cluster/reference/galera-cluster-system-variables"
_PROVIDER = "https://galeracluster.com/library/documentation/galera-parameters.html"
WSREP_ON = Default(*_MARIADB, "wsrep_on", "OFF", f"{_WSREP}#wsrep_on")
CLUSTER_ADDRESS = Default(*_MARIADB, "wsrep_cluster_address", "", f"{_WSREP}#wsrep_cluster_address")
IGNORE_SPLIT_BRAIN = Default(*_GALERA, "pc.ignore_sb", "false", f"{_PROVIDER}#pc-ignore-sb")
IGNORE_QUORUM = Default(*_GALERA, "pc.ignore_quorum", "false", f"{_PROVIDER}#pc-ignore-quorum")
BOOTSTRAP = Default(*_GALERA, "pc.bootstrap", "false", f"{_PROVIDER}#pc-bootstrap")
WEIGHT = Default(*_GALERA, "pc.weight", "1", f"{_PROVIDER}#pc-weight")

_INNODB = "https://mariadb.com/docs/server/server-usage/storage-engines/innodb/innodb-system-variables"
FLUSH_AT_COMMIT = Default(*_MARIADB, "innodb_flush_log_at_trx_commit", "1", f"{_INNODB}#innodb_flush_log_at_trx_commit")
DOUBLEWRITE = Default(*_MARIADB, "innodb_doublewrite", "ON", f"{_INNODB}#innodb_doublewrite")

_POOLS = "https://docs.ceph.com/en/tentacle/rados/configuration/pool-pg-config-ref/"
POOL_SIZE = Default("Ceph", "20.2", "osd_pool_default_size", "3", _POOLS)
POOL_MIN_SIZE = Default("Ceph", "20.2", "osd_pool_default_min_size", "0", _POOLS)

CHOOSELEAF = Default("Ceph", "20.2", "osd_crush_chooseleaf_type", "1", _POOLS)

_ETCD, _FLAGS = ("etcd", "3.6"), "https://etcd.io/docs/v3.6/op-guide/configuration/"
HEARTBEAT = Default(*_ETCD, "heartbeat-interval", "100", _FLAGS)
ELECTION = Default(*_ETCD, "election-timeout", "1000", _FLAGS)
FORCE_NEW_CLUSTER = Default(*_ETCD, "force-new-cluster", "false", _FLAGS)
NO_FSYNC = Default(*_ETCD, "unsafe-no-fsync", "false", _FLAGS)
STRICT_RECONFIGURATION = Default(*_ETCD, "strict-reconfig-check", "true", _FLAGS)

_PROXYSQL = ("ProxySQL", "2.7")
MAX_WRITERS = Default(*_PROXYSQL, "max_writers", "1", "https://proxysql.com/documentation/galera-configuration/")
HOSTGROUP_ACTIVE = Default(*_PROXYSQL, "active", "1", "https://proxysql.com/documentation/galera-configuration/")
HOSTGROUP = Default(*_PROXYSQL, "hostgroup_id", "0", "https://proxysql.com/documentation/main-runtime/#mysql_servers")

_KUBERNETES = ("Kubernetes", "1.37")
DEPLOYMENT_UNAVAILABLE = Default(
    *_KUBERNETES,
    "strategy.rollingUpdate.maxUnavailable",
    "25%",
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-unavailable",
)
DEPLOYMENT_SURGE = Default(
    *_KUBERNETES,
    "strategy.rollingUpdate.maxSurge",
    "25%",
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#max-surge",
)
MEMBERS_UNAVAILABLE = Default(
    *_KUBERNETES,
    "updateStrategy.rollingUpdate.maxUnavailable",
    "1",
    "https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/#maximum-unavailable-pods",
)
_PROBES = "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/"
PROBE_PERIOD = Default(*_KUBERNETES, "periodSeconds", "10", f"{_PROBES}#configure-probes")
PROBE_FAILURES = Default(*_KUBERNETES, "failureThreshold", "3", f"{_PROBES}#configure-probes")
AUTOSCALER_LEAST = Default(
    *_KUBERNETES,
    "minReplicas",
    "1",
    "https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2/",
)
_KEDA = ("KEDA", "2.17")
KEDA_LEAST = Default(
    *_KEDA, "minReplicaCount", "0", "https://keda.sh/docs/2.17/reference/scaledobject-spec/#minreplicacount"
)
KEDA_MOST = Default(
    *_KEDA, "maxReplicaCount", "100", "https://keda.sh/docs/2.17/reference/scaledobject-spec/#maxreplicacount"
)

_API_SERVER = "https://kubernetes.io/docs/reference/command-line-tools-reference/kube-apiserver/"
MAX_IN_FLIGHT = Default(*_KUBERNETES, "max-requests-inflight", "400", _API_SERVER)
LEADER_ELECT = Default(
    *_KUBERNETES,
    "leader-elect",
    "true",
    "https://kubernetes.io/docs/reference/command-line-tools-reference/kube-scheduler/",
)
DEPLOYMENT_REPLICAS = Default(
    *_KUBERNETES,
    "spec.replicas",
    "1",
    "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#replicas",
)
DNS_REPLICAS = Default(
    "kubeadm",
    "1.37",
    "coreDNSReplicas",
    "2",
    "https://github.com/kubernetes/kubernetes/blob/v1.37.2/cmd/kubeadm/app/phases/addons/dns/dns.go",
)
FULL_MESH = Default(
    "Calico",
    "3.30",
    "nodeToNodeMeshEnabled",
    "true",
    "https://docs.tigera.io/calico/latest/reference/resources/bgpconfig",
)

# Defaults of Kubernetes operators. The links point to the source at the named release.
_OF_RABBITMQ, _RABBITMQ_SOURCE = (
    ("RabbitMQ Cluster Operator", "2.22.3"),
    "https://github.com/rabbitmq/cluster-operator/blob/v2.22.3",
)
RABBITMQ_REPLICAS = Default(
    *_OF_RABBITMQ, "spec.replicas", "1", f"{_RABBITMQ_SOURCE}/api/v1beta1/rabbitmqcluster_types.go"
)
RABBITMQ_CPU = Default(
    *_OF_RABBITMQ, "spec.resources.requests.cpu", "1000m", f"{_RABBITMQ_SOURCE}/api/v1beta1/rabbitmqcluster_types.go"
)
RABBITMQ_MEMORY = Default(
    *_OF_RABBITMQ, "spec.resources.requests.memory", "2Gi", f"{_RABBITMQ_SOURCE}/api/v1beta1/rabbitmqcluster_types.go"
)
RABBITMQ_PARTITIONS = Default(
    *_OF_RABBITMQ,
    "cluster_partition_handling",
    "pause_minority",
    f"{_RABBITMQ_SOURCE}/internal/resource/configmap.go",
)

_OF_PERCONA, _PERCONA_SOURCE = (
    ("Percona Operator for MySQL (XtraDB Cluster)", "1.19.0"),
    "https://github.com/percona/percona-xtradb-cluster-operator/blob/v1.19.0/pkg/apis/pxc/v1/pxc_types.go",
)
PERCONA_TOPOLOGY = Default(
    *_OF_PERCONA, "spec.pxc.affinity.antiAffinityTopologyKey", "kubernetes.io/hostname", _PERCONA_SOURCE
)
PERCONA_UNAVAILABLE = Default(*_OF_PERCONA, "spec.pxc.podDisruptionBudget.maxUnavailable", "1", _PERCONA_SOURCE)

_OF_MARIADB, _MARIADB_SOURCE = (
    ("mariadb-operator", "26.6.0"),
    "https://github.com/mariadb-operator/mariadb-operator/blob/v26.6.0",
)
MARIADB_REPLICAS = Default(*_OF_MARIADB, "spec.replicas", "1", f"{_MARIADB_SOURCE}/api/v1alpha1/mariadb_types.go")
MARIADB_AVAILABLE = Default(
    *_OF_MARIADB,
    "spec.podDisruptionBudget.minAvailable",
    "50%",
    f"{_MARIADB_SOURCE}/internal/controller/mariadb_controller.go",
)

_OF_ROOK, _ROOK_SOURCE = ("Rook", "1.20.6"), "https://github.com/rook/rook/blob/v1.20.6/pkg/operator/ceph/cluster"
MONITORS = Default(*_OF_ROOK, "spec.mon.count", "3", f"{_ROOK_SOURCE}/cluster.go")
MONITORS_UNAVAILABLE = Default(*_OF_ROOK, "maxUnavailable of rook-ceph-mon-pdb", "1", f"{_ROOK_SOURCE}/mon/drain.go")
MONITORS_UNAVAILABLE_FROM_FIVE = Default(
    *_OF_ROOK, "maxUnavailable of rook-ceph-mon-pdb, five monitors or more", "2", f"{_ROOK_SOURCE}/mon/drain.go"
)

ETCD_REGISTRY = Default(
    "etcd-operator",
    "0.2.0",
    "spec.imageRegistry",
    "gcr.io/etcd-development/etcd",
    "https://github.com/etcd-io/etcd-operator/blob/v0.2.0/api/v1alpha1/etcdcluster_types.go",
)

_OF_POSTGRES, _POSTGRES_SOURCE = (
    ("CloudNativePG", "1.30.0"),
    "https://github.com/cloudnative-pg/cloudnative-pg/blob/v1.30.0",
)
POSTGRES_INSTANCES = Default(*_OF_POSTGRES, "spec.instances", "1", f"{_POSTGRES_SOURCE}/api/v1/cluster_types.go")
POSTGRES_ANTI_AFFINITY = Default(
    *_OF_POSTGRES,
    "spec.affinity.podAntiAffinityType",
    "preferred",
    f"{_POSTGRES_SOURCE}/api/v1/cluster_defaults.go",
)
POSTGRES_TOPOLOGY = Default(
    *_OF_POSTGRES,
    "spec.affinity.topologyKey",
    "kubernetes.io/hostname",
    f"{_POSTGRES_SOURCE}/pkg/specs/pods.go",
)
POSTGRES_UNAVAILABLE = Default(
    *_OF_POSTGRES, "maxUnavailable of all instances", "1", f"{_POSTGRES_SOURCE}/pkg/specs/poddisruptionbudget.go"
)
