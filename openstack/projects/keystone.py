"""Keystone, the identity service. Its probe requests /healthcheck, which oslo.middleware serves without a token."""

from __future__ import annotations

from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, TextFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import REGION, Wiring
from openstack.definition import (
    ConfigurationFile,
    Container,
    Http,
    JobDefinition,
    Port,
    ProcessDefinition,
    ProjectDefinition,
    Tcp,
)

_FERNET = "https://docs.openstack.org/keystone/2026.1/admin/fernet-token-faq.html"
_CONFIGURATION = ConfigurationFile("keystone.conf", "/etc/keystone/keystone.conf")
_KEYS = tuple(
    ConfigurationFile(f"{kind}-key-{number}", f"/etc/keystone/{kind}-keys/{number}")
    for kind in ("fernet", "credential")
    for number in (0, 1)
)
"""Files with Keystone's keys. Key 1 is the primary key. Key 0 is the staged key, which every instance must have before
it becomes the primary key."""

KEYSTONE = ProcessDefinition(
    name="keystone",
    project="keystone",
    kind="Deployment",
    uid=42425,
    exposed=((5000, "api"),),
    containers=(
        Container(
            name="keystone",
            image="keystone",
            user="keystone",
            command="uwsgi /etc/keystone/keystone-api-uwsgi.ini",
            ports=(Port("api", 5000, clients=("everyone",)),),
            ready=Http("api", "/healthcheck"),
            alive=Tcp("api"),
            files=(
                _CONFIGURATION,
                ConfigurationFile("keystone-api-uwsgi.ini", "/etc/keystone/keystone-api-uwsgi.ini"),
                *_KEYS,
            ),
        ),
    ),
)


def _configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
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
        uwsgi(wiring, "keystone", "keystone-api-uwsgi.ini", "keystone.wsgi.api", 5000),
        *(TextFile(key.name, (Secret(f"keystone/{key.name}"),)) for key in _KEYS),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    url = wiring.url("keystone", "/v3")
    bootstrap = JobDefinition(
        name="keystone-bootstrap",
        image="keystone",
        user="keystone",
        quorums=(wiring.galera("keystone"),),
        command=f"keystone-manage bootstrap --bootstrap-username admin --bootstrap-project-name admin "
        f"--bootstrap-role-name admin --bootstrap-service-name keystone --bootstrap-region-id {REGION} "
        f"--bootstrap-internal-url {url} --bootstrap-public-url {wiring.public_url('keystone', '/v3')}",
        files=(_CONFIGURATION, *_KEYS),
        secrets=(("OS_BOOTSTRAP_PASSWORD", Secret("keystone/admin")),),
    )
    return (
        accounts.databases(wiring, "keystone"),
        accounts.migration(wiring, "keystone", "keystone", "keystone-manage db_sync", (_CONFIGURATION,)),
        bootstrap,
    )


PROJECT = ProjectDefinition(
    name="keystone",
    needs=("mariadb", "memcached"),
    processes=(KEYSTONE,),
    configure=_configure,
    jobs=_jobs,
)
