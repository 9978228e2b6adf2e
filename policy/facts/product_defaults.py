"""What products do where a setting is not written, each with the page that documents it.

The one table of defaults: readers and rules take values from here and write none themselves. It has only what a rule
uses. `version` is the one whose documentation was read; a default that differs between versions needs two entries.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Default:
    """A product's own value of a setting."""

    product: str
    version: str
    setting: str
    """Its name, as the product's configuration has it."""
    value: str
    """As the product would write it; empty for an empty text."""
    documented: str
    """The page that states the value."""

    @property
    def unset(self) -> str:
        """What a finding says of a setting that is not written."""
        return f"{self.setting} is not set (default: {self.value or 'empty'})"

    def actual(self, written: str | None) -> str:
        """What a finding says of the setting, written or not."""
        return self.unset if written is None else f"{self.setting} is {written or 'empty'}"


_RABBITMQ = ("RabbitMQ", "4.1")
PARTITION_HANDLING = Default(
    *_RABBITMQ, "cluster_partition_handling", "ignore", "https://www.rabbitmq.com/docs/partitions#automatic-handling"
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

_KUBERNETES = ("Kubernetes", "1.34")
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
