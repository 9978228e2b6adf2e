"""Placement, the inventory of compute resources that nova-scheduler queries.

Its row in the reference architectures is an addition: source 004, 5.4.5, calls the service 'work in progress'.
"""

from __future__ import annotations

from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
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

_CONFIGURATION = ConfigurationFile("placement.conf", "/etc/placement/placement.conf")

API = ProcessDefinition(
    name="placement-api",
    project="placement",
    kind="Deployment",
    uid=42482,
    exposed=((8780, "api"),),
    containers=(
        Container(
            name="placement-api",
            image="placement-api",
            user="placement",
            command="uwsgi /etc/placement/placement-api-uwsgi.ini",
            ports=(Port("api", 8780, clients=("everyone",)),),
            ready=Http("api"),
            alive=Tcp("api"),
            files=(
                _CONFIGURATION,
                ConfigurationFile("placement-api-uwsgi.ini", "/etc/placement/placement-api-uwsgi.ini"),
            ),
        ),
    ),
)


def _configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    return (
        ConfigFile(
            "placement.conf",
            "ini",
            (
                sections.database(wiring, "placement", section="placement_database"),
                sections.authentication(wiring, "placement"),
                sections.behind_a_proxy(),
            ),
            fragment="/etc/placement/placement.conf.d/secrets.conf",
        ),
        uwsgi(wiring, "placement-api", "placement-api-uwsgi.ini", "placement.wsgi.api", 8780),
    )


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    endpoint = accounts.Endpoint("placement", "placement", "placement-api")
    return (
        accounts.databases(wiring, "placement"),
        accounts.migration(wiring, "placement", "placement-api", "placement-manage db sync", (_CONFIGURATION,)),
        accounts.identity(wiring, "placement", (endpoint,)),
    )


PROJECT = ProjectDefinition(
    name="placement",
    needs=("keystone", "mariadb", "memcached"),
    processes=(API,),
    configure=_configure,
    jobs=_jobs,
)
