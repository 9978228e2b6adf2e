"""Configuration and jobs of Keystone."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, TextFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_FERNET = "https://docs.openstack.org/keystone/2026.1/admin/fernet-token-faq.html"
_RECORD = own_records()["keystone"]
_CONFIGURATION = _RECORD.file("keystone.conf")
_KEYS = tuple(_RECORD.file(f"{kind}-key-{number}") for kind in ("fernet", "credential") for number in (0, 1))
"""Files with Keystone's keys."""


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    tokens = Layer(
        Origin.PROJECT,
        _FERNET,
        {
            "token": {"provider": "fernet"},
            "fernet_tokens": {"key_repository": "/etc/keystone/fernet-keys", "max_active_keys": 3},
            "credential": {"key_repository": "/etc/keystone/credential-keys"},
        },
    )
    return (
        ConfigFile(
            "keystone.conf",
            "ini",
            (tokens, sections.database(wiring, "keystone"), sections.cache(wiring), sections.behind_a_proxy()),
            fragment="/etc/keystone/keystone.conf.d/secrets.conf",
        ),
        uwsgi(wiring, "keystone", "keystone-api-uwsgi.ini", "keystone.wsgi.api"),
        *(TextFile(key.name, (Secret(f"keystone/{key.name}"),)) for key in _KEYS),
    )


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    url = wiring.url("keystone", "/v3")
    bootstrap = JobDefinition(
        name="keystone-bootstrap",
        image="keystone",
        user="keystone",
        quorums=(wiring.galera("keystone"),),
        command=f"keystone-manage bootstrap --bootstrap-username admin --bootstrap-project-name admin "
        f"--bootstrap-role-name admin --bootstrap-service-name keystone --bootstrap-region-id {wiring.region} "
        f"--bootstrap-internal-url {url} --bootstrap-public-url {wiring.public_url('keystone', '/v3')}",
        files=(_CONFIGURATION, *_KEYS),
        secrets=(("OS_BOOTSTRAP_PASSWORD", Secret("keystone/admin")),),
    )
    return (
        accounts.databases(wiring, "keystone"),
        accounts.migration(wiring, "keystone", "keystone", "keystone-manage db_sync", (_CONFIGURATION,)),
        bootstrap,
    )
