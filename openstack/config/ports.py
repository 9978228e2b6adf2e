"""TCP ports of services to which other processes of the cloud connect, from the records of the projects."""

from blueprint.openstack.projects.records import port, processes

AMQP = port("rabbitmq", "amqp")
MYSQL = port("mysqld", "mysql")
MEMCACHED = port("memcached", "memcached")
PROMETHEUS = port("influxdb-grafana", "prometheus")
ALERTMANAGER = port("nagios", "http")

OPENSEARCH = port("elasticsearch-kibana", "http")
FORWARD = port("lma-aggregator", "forward")
"""Port at which Fluentd's aggregator receives log records."""

RABBITMQ_METRICS = port("rabbitmq", "metrics")
MYSQLD_EXPORTER = port("mysqld-exporter", "metrics")
NODE_EXPORTER = port("node-exporter", "metrics")
OPENSTACK_EXPORTER = port("openstack-exporter", "metrics")

APIS = {name: next(iter(process.exposed.values())) for name, process in processes().items() if process.subdomain}
"""Port of the Service of each process that clients of the cloud use."""
