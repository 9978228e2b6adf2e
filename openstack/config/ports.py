"""TCP ports of services to which other processes of the cloud connect."""

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

APIS = {
    "keystone": 5000,
    "glance-api": 9292,
    "placement-api": 8780,
    "nova-api": 8774,
    "neutron-server": 9696,
    "cinder-api": 8776,
    "heat-api": 8004,
    "heat-api-cfn": 8000,
    "nova-novncproxy": 6080,
    "horizon": 80,
    "radosgw": 7480,
}
"""Port of each process with an API that clients of the cloud use."""
