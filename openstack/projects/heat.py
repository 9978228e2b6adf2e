"""Configuration and jobs of Heat."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_CONFIGURATION = own_records()["heat"].file("heat.conf")

_MANUAL = "https://docs.openstack.org/heat/2026.1/configuration/config-options.html"
_DOMAIN, _ADMINISTRATOR = "heat", "heat_domain_admin"
_STACK_USER = "heat_stack_user"
"""Keystone role of the users that Heat creates for the virtual machines of a Heat stack."""
_STACK_OWNER = "heat_stack_owner"
"""Keystone role that operators may give to users who create Heat stacks."""
_ADMINISTRATORS_PASSWORD = Secret("heat/domain")
_ENCRYPTION_KEY = Secret("heat/encryption", length=32)
"""Key with which Heat encrypts credentials and hidden parameters in its database. Heat requires 32 characters."""


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    signals = wiring.public_url("heat-api-cfn")  # virtual machines call this URL
    trustee = sections.service_user(wiring, "heat")
    stacks = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "DEFAULT": {
                "region_name_for_services": wiring.region,
                "stack_user_domain_name": _DOMAIN,
                "stack_domain_admin": _ADMINISTRATOR,
                "stack_domain_admin_password": _ADMINISTRATORS_PASSWORD,
                "heat_stack_user_role": _STACK_USER,
                "auth_encryption_key": _ENCRYPTION_KEY,
                "heat_metadata_server_url": signals,
                "heat_waitcondition_server_url": f"{signals}/v1/waitcondition",
            },
            "clients": {"endpoint_type": "internalURL"},
            "clients_keystone": {"auth_uri": wiring.url("keystone")},
            # Heat acts for a user with this account, through a Keystone trust. The trust names the project, so the
            # account's settings must not name a project.
            "trustee": {name: value for name, value in trustee.items() if not name.startswith("project_")},
        },
    )
    engine = Layer(
        Origin.ARCHITECTURE,
        "cores requested by heat-engine (blueprint/openstack/projects/heat.yaml)",
        {"DEFAULT": {"num_engine_workers": wiring.workers("heat-engine")}},
    )
    layers = (
        stacks,
        engine,
        sections.database(wiring, "heat"),
        sections.messaging(wiring, "heat"),
        sections.authentication(wiring, "heat"),
        sections.locks("heat"),  # for the names of queues (use_queue_manager)
        sections.cache(wiring),
        sections.behind_a_proxy(),
    )
    return (
        ConfigFile("heat.conf", "ini", layers, fragment="/etc/heat/heat.conf.d/secrets.conf"),
        uwsgi(wiring, "heat-api", "heat-api-uwsgi.ini", "heat.wsgi.api"),
        uwsgi(wiring, "heat-api-cfn", "heat-api-cfn-uwsgi.ini", "heat.wsgi.cfn"),
    )


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    domain = accounts.Domain(_DOMAIN, _ADMINISTRATOR, _ADMINISTRATORS_PASSWORD, roles=(_STACK_USER, _STACK_OWNER))
    return (
        accounts.databases(wiring, "heat"),
        *accounts.messaging(wiring, "heat"),
        accounts.migration(wiring, "heat", "heat-engine", "heat-manage db_sync", (_CONFIGURATION,)),
        accounts.identity(wiring, "heat", domain=domain),
    )
