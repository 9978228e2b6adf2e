"""Horizon's settings."""

from __future__ import annotations

import json

from openstack.config import domains
from openstack.config.layers import Secret, TextFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring

CACHE_TIMEOUT = 1
"""Seconds until Horizon goes on without a memcached that does not answer. Project figure; oslo.cache has the same. The
client then leaves this memcached out for 60 s (pymemcache's dead_timeout)."""


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    settings = f"""\
# The settings in Kolla's image, an example of Horizon, have DEBUG = True: slow, and errors show settings to everyone.
DEBUG = False
# Kolla's start script compresses the scripts and styles. Otherwise each page asks memcached for them.
COMPRESS_OFFLINE = True
ALLOWED_HOSTS = {json.dumps(_names(wiring))}
OPENSTACK_KEYSTONE_URL = "{wiring.url("keystone", "/v3")}"
OPENSTACK_ENDPOINT_TYPE = "internalURL"
# Every instance reads the sessions of the others: they are in the browser, signed with the key below.
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
SECRET_KEY = "
"""[:-1]
    if wiring.ingress:
        settings = f"""\
CSRF_COOKIE_SECURE = True
SESSION_COOKIE_SECURE = True
# The controller of the Ingress ends TLS; it sets this header, whatever the client sends.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
{settings}"""
    if wiring.caches():
        settings = (
            f"""\
CACHES = {{
    "default": {{
        "BACKEND": "django.core.cache.backends.memcached.PyMemcacheCache",
        "LOCATION": {json.dumps(wiring.caches())},
        # Without these, each request waits for minutes for a memcached whose node is down, and then fails.
        "OPTIONS": {{
            "connect_timeout": {CACHE_TIMEOUT},
            "timeout": {CACHE_TIMEOUT},
            "retry_attempts": 0,
            "ignore_exc": True,
        }},
    }},
}}
"""
            + settings
        )
    return (
        TextFile("local_settings.py", (settings, Secret("horizon/session"), '"\n')),
        uwsgi(wiring, "horizon", "horizon-uwsgi.ini", "openstack_dashboard.wsgi", "http"),
    )


def _names(wiring: Wiring) -> list[str]:
    """Returns the host names to which Horizon answers. It answers a request for another host name with 400."""
    if wiring.ingress is None:
        return ["*"]
    return [domains.host(wiring.ingress, wiring.records, "horizon"), wiring.host("horizon")]
