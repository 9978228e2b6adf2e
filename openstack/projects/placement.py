"""Configuration and jobs of Placement."""

from __future__ import annotations

from blueprint.openstack.projects.records import own_records
from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, WrittenFile
from openstack.config.uwsgi import uwsgi
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_CONFIGURATION = own_records()["placement"].file("placement.conf")


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
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
        uwsgi(wiring, "placement-api", "placement-api-uwsgi.ini", "placement.wsgi.api"),
    )


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    return (
        accounts.databases(wiring, "placement"),
        accounts.migration(wiring, "placement", "placement-api", "placement-manage db sync", (_CONFIGURATION,)),
        accounts.identity(wiring, "placement"),
    )
