"""Heat, which creates stacks of cloud resources from templates: Heat's API, CloudFormation's API, and the engine.

The users that Heat creates for its stacks are in a separate Keystone domain, which heat_domain_admin administers
(https://docs.openstack.org/heat/2026.1/install/install.html).
"""

from __future__ import annotations

from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, WrittenFile
from openstack.config.ports import AMQP, APIS
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
    port_check,
)

UID = 42418
CONFIGURATION = ConfigurationFile("heat.conf", "/etc/heat/heat.conf")

_MANUAL = "https://docs.openstack.org/heat/2026.1/configuration/config-options.html"
_DOMAIN, _ADMINISTRATOR = "heat", "heat_domain_admin"
_STACK_USER = "heat_stack_user"
"""Keystone role of the users that Heat creates for the virtual machines of a Heat stack."""
_STACK_OWNER = "heat_stack_owner"
"""Keystone role that operators may give to users who create Heat stacks."""
_ADMINISTRATORS_PASSWORD = Secret("heat/domain")
_ENCRYPTION_KEY = Secret("heat/encryption", length=32)
"""Key with which Heat encrypts credentials and hidden parameters in its database. Heat requires 32 characters."""


def _api(name: str) -> ProcessDefinition:
    settings = ConfigurationFile(f"{name}-uwsgi.ini", f"/etc/heat/{name}-uwsgi.ini")
    process = Container(
        name=name,
        image=name,
        user="heat",
        command=f"uwsgi {settings.path}",
        ports=(Port("api", APIS[name], clients=("everyone",)),),
        ready=Http("api", "/healthcheck"),
        alive=Tcp("api"),
        files=(CONFIGURATION, settings),
    )
    exposed = ((APIS[name], "api"),)
    return ProcessDefinition(
        name=name, project="heat", kind="Deployment", uid=UID, exposed=exposed, containers=(process,)
    )


API = _api("heat-api")
CLOUDFORMATION = _api("heat-api-cfn")

ENGINE = ProcessDefinition(
    name="heat-engine",
    project="heat",
    kind="Deployment",
    uid=UID,
    containers=(
        Container(
            name="heat-engine",
            image="heat-engine",
            user="heat",
            command="heat-engine",
            ready=port_check("heat-engine", AMQP),
            files=(CONFIGURATION,),
        ),
    ),
)


def _configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    signals = wiring.public_url("heat-api-cfn")  # virtual machines call this URL
    trustee = sections.service_user(wiring, "heat")
    stacks = Layer(
        Origin.PROJECT,
        _MANUAL,
        {
            "DEFAULT": {
                "region_name_for_services": REGION,
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
        "cores requested by heat-engine (blueprint/plan/sizing.yaml)",
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
        uwsgi(wiring, "heat-api", "heat-api-uwsgi.ini", "heat.wsgi.api", APIS["heat-api"]),
        uwsgi(wiring, "heat-api-cfn", "heat-api-cfn-uwsgi.ini", "heat.wsgi.cfn", APIS["heat-api-cfn"]),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    endpoints = (
        accounts.Endpoint("orchestration", "heat", "heat-api", "/v1/%(tenant_id)s"),
        accounts.Endpoint("cloudformation", "heat-cfn", "heat-api-cfn", "/v1"),
    )
    domain = accounts.Domain(_DOMAIN, _ADMINISTRATOR, _ADMINISTRATORS_PASSWORD, roles=(_STACK_USER, _STACK_OWNER))
    return (
        accounts.databases(wiring, "heat"),
        *accounts.messaging(wiring, "heat"),
        accounts.migration(wiring, "heat", "heat-engine", "heat-manage db_sync", (CONFIGURATION,)),
        accounts.identity(wiring, "heat", endpoints, domain=domain),
    )


PROJECT = ProjectDefinition(
    name="heat",
    needs=("keystone", "mariadb", "rabbitmq", "memcached", "glance", "neutron", "nova", "cinder"),
    processes=(API, CLOUDFORMATION, ENGINE),
    configure=_configure,
    jobs=_jobs,
)
