"""Sections that the configuration files of several OpenStack projects share.

Option names are OpenStack's own. The source of a layer is a section of source 004 or a page of a manual.
"""

from __future__ import annotations

from openstack.config.layers import ConfigFile, Layer, Origin, Repeated, Secret, Section, Value, WrittenFile
from openstack.config.wiring import Wiring

_CACHE = "https://docs.openstack.org/oslo.cache/2026.1/configuration/index.html"
_DATABASE = "https://docs.openstack.org/oslo.db/2026.1/reference/opts.html"
_MESSAGING = "https://docs.openstack.org/oslo.messaging/2026.1/configuration/opts.html"
_MIDDLEWARE = "https://docs.openstack.org/keystonemiddleware/2026.1/middlewarearchitecture.html"


CONNECT = "connect_timeout=5"
"""PyMySQL's parameter for the seconds until a connection attempt fails. If ProxySQL's node is down, the next attempt
reaches another one. Project figure."""
LIMITED = f"{CONNECT}&read_timeout=30&write_timeout=30"
"""`CONNECT`, and the seconds until a statement without an answer fails. Without these, a process waits for a node that
is down until the kernel gives up, about 15 minutes. Project figures. Jobs that change tables have no limit for
statements (`with_long_statements`)."""


def database(wiring: Wiring, user: str, name: str | None = None, section: str = "database") -> Layer:
    """Returns the settings for a project's database connection. `name`: the database; default: named after `user`."""
    options: Section = {
        "connection": wiring.database(user, name or user),
        # Seconds. Connections are renewed, because a stopped member drops them and ProxySQL closes idle connections.
        "connection_recycle_time": 280,
        "connection_parameters": LIMITED,
        "max_retries": -1,
    }
    return Layer(Origin.PROJECT, _DATABASE, {section: options})


def with_long_statements(file: WrittenFile) -> WrittenFile:
    """Returns the configuration file without limits for statements in the database. Other files remain unchanged."""
    if not isinstance(file, ConfigFile):
        return file
    limited = (section for section, options in file.document().items() if "connection_parameters" in options)
    lifted: dict[str, Section] = {section: {"connection_parameters": CONNECT} for section in limited}
    return file.with_layers(Layer(Origin.PROJECT, _DATABASE, lifted))


def messaging(wiring: Wiring, user: str) -> Layer:
    """Returns the settings for a project's RabbitMQ connections: to its own vhost, and to the vhost of notifications.

    Queues survive the loss of a minority of RabbitMQ's members, and notifications are durable (source 004, 5.3.12).
    """
    rabbit: Section = {
        "rabbit_quorum_queue": True,
        "rabbit_transient_quorum_queue": True,
        # Streams need a prefetch count: without it, every process that listens to a fanout exits at startup.
        "rabbit_stream_fanout": True,
        "rabbit_qos_prefetch_count": 10,
        "use_queue_manager": True,
        # Seconds. A lost RabbitMQ member is detected before calls time out after 60 s.
        "heartbeat_timeout_threshold": 30,
    }
    sections: dict[str, Section] = {
        "DEFAULT": {"transport_url": wiring.messaging(user)},
        "oslo_messaging_rabbit": rabbit,
        # Without the option driver, a project sends no notifications.
        "oslo_messaging_notifications": {
            "driver": Repeated(("messagingv2",)),
            "transport_url": wiring.notifications(user),
        },
    }
    return Layer(Origin.PROJECT, _MESSAGING, sections)


def service_user(wiring: Wiring, user: str) -> dict[str, Value]:
    """Returns the options with which a project authenticates to Keystone."""
    return {
        "auth_type": "password",
        "auth_url": wiring.url("keystone", "/v3"),
        "username": wiring.account(user, "identity"),
        "password": Secret(f"{user}/identity"),
        "user_domain_name": "Default",
        "project_name": "service",
        "project_domain_name": "Default",
    }


def cache(wiring: Wiring) -> Layer:
    """Returns the settings with which a project caches results in memcached; empty if the stack has no memcached."""
    options: Section = {
        "enabled": True,
        "backend": "oslo_cache.memcache_pool",
        "memcache_servers": wiring.caches(),
        # A memcached instance that was unreachable may still contain a token that was revoked meanwhile.
        "memcache_pool_flush_on_reconnect": True,
    }
    return Layer(Origin.PROJECT, _CACHE, {"cache": options} if wiring.caches() else {})


def authentication(wiring: Wiring, user: str) -> Layer:
    """Returns the settings with which an API validates its clients' tokens.

    Validated tokens are cached in memcached, encrypted with a key of the project. memcached does not authenticate its
    clients, so without the key, one project could forge tokens that another project accepts.
    """
    options: Section = {
        **service_user(wiring, user),
        "region_name": wiring.region,
        "www_authenticate_uri": wiring.public_url("keystone"),
        "interface": "internal",
        "service_token_roles": ("service",),
        "service_token_roles_required": True,
    }
    if wiring.caches():
        options |= {
            "memcached_servers": wiring.caches(),
            "memcache_security_strategy": "ENCRYPT",
            "memcache_secret_key": Secret(f"{user}/memcached"),
        }
    return Layer(Origin.PROJECT, _MIDDLEWARE, {"keystone_authtoken": options})


def locks(project: str) -> Layer:
    """Returns the setting for the directory of lock files, which processes of one pod share."""
    source = "https://docs.openstack.org/oslo.concurrency/2026.1/configuration/index.html"
    return Layer(Origin.PROJECT, source, {"oslo_concurrency": {"lock_path": f"/var/lib/{project}/locks"}})


def behind_a_proxy() -> Layer:
    """Returns the setting that makes an API take its client's scheme and address from the proxy's headers."""
    source = "https://docs.openstack.org/oslo.middleware/2026.1/reference/opts.html"
    return Layer(Origin.PROJECT, source, {"oslo_middleware": {"enable_proxy_headers_parsing": True}})
