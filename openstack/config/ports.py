"""TCP ports of services to which other processes of the cloud connect, from the records of the projects."""

from blueprint.openstack.projects.records import Records, own_records

_OWN = own_records()

AMQP = _OWN.port("rabbitmq", "amqp")
MYSQL = _OWN.port("mysqld", "mysql")
MEMCACHED = _OWN.port("memcached", "memcached")
PROMETHEUS = _OWN.port("influxdb-grafana", "prometheus")
ALERTMANAGER = _OWN.port("nagios", "http")

OPENSEARCH = _OWN.port("elasticsearch-kibana", "http")
OPENSEARCH_METRICS = _OWN.port("elasticsearch-kibana", "metrics")
FORWARD = _OWN.port("lma-aggregator", "forward")
"""Port at which Fluentd's aggregator receives log records."""

CEPH_METRICS = _OWN.port("ceph-mon", "metrics")
"""Port of each of Ceph's managers; the active one serves the metrics of the cluster, the others nothing."""
CEPH_QUORUM = _OWN.port("ceph-mon", "quorum")
"""Port at which each of Ceph's monitors says whether it is in the quorum."""
RABBITMQ_METRICS = _OWN.port("rabbitmq", "metrics")
MYSQLD_EXPORTER = _OWN.port("mysqld-exporter", "metrics")
NODE_EXPORTER = _OWN.port("node-exporter", "metrics")
OPENSTACK_EXPORTER = _OWN.port("openstack-exporter", "metrics")


def api(records: Records, process: str) -> int:
    """Returns the port of the Service of a process that clients of the cloud use."""
    return next(iter(records.processes[process].exposed.values()))
