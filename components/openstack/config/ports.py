"""TCP ports of the message queue, the database and the cache, which several OpenStack services connect to."""

AMQP = 5672
MYSQL = 3306
MEMCACHED = 11211

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
}
"""Ports of the Services that have an API, by process."""
