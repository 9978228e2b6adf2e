"""Configuration and jobs of a made-up project, which tests/engine/test_made_up_project.py adds to a copy of Quorate."""

from __future__ import annotations

from openstack import accounts
from openstack.config import sections
from openstack.config.layers import ConfigFile, Layer, Origin, Secret, Section, WrittenFile
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition


def configure(wiring: Wiring, _name: str) -> tuple[WrittenFile, ...]:
    options: Section = {"hours": 12, "gnomon": Secret("sundial/gnomon")}
    dial = Layer(Origin.PROJECT, "https://sundial.example.org", {"dial": options})
    layers = (
        dial,
        sections.database(wiring, "sundial"),
        sections.messaging(wiring, "sundial"),
        sections.authentication(wiring, "sundial"),
    )
    return (ConfigFile("sundial.conf", "ini", layers, fragment="/etc/sundial/sundial.conf.d/secrets.conf"),)


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    configuration = wiring.records["sundial"].file("sundial.conf")
    return (
        accounts.databases(wiring, "sundial"),
        *accounts.messaging(wiring, "sundial"),
        accounts.migration(wiring, "sundial", "sundial-api", "sundial-manage db_sync", (configuration,)),
        accounts.identity(wiring, "sundial"),
    )
