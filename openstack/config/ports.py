"""TCP ports of services to which other processes of the cloud connect."""

from blueprint.openstack.projects.record import records

AMQP = 5672
MYSQL = 3306
MEMCACHED = 11211
PROMETHEUS = 9091
ALERTMANAGER = 9093

OPENSEARCH = 9200
FORWARD = 24224
"""Port at which Fluentd's aggregator receives log records."""

RABBITMQ_METRICS = 15692
MYSQLD_EXPORTER = 9104
NODE_EXPORTER = 9100
OPENSTACK_EXPORTER = 9180

APIS = {process: api.port for record in records().values() for process, api in record.apis.items()}
"""Port of each process with an API that clients of the cloud use."""
