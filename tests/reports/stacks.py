"""The stacks of the cases, and what becomes of them: the plan, the files of a service, the Kubernetes objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pulumi

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from openstack import configuration
from openstack.config.layers import ConfigFile, Setting
from tests.recording import Recorded, record
from tests.stacks import parsed, server

LAB: dict[str, Any] = {
    "profile": "lab",
    "architecture": "100",
    "networks": {"management": "10.30.0.0/16"},
    "servers": [
        server("control[1-3]", ["master"], "10.30.0.11", cpu=8, memory=16),
        server("pool[1-6]", ["controller"], "10.30.0.21", cpu=16, memory=64),
        server("disk[1-3]", ["storage"], "10.30.0.41", cpu=16, memory=64),
        server("host[1-3]", ["compute"], "10.30.0.51", cpu=32, memory=128),
    ],
}
"""A lab on servers, with each role on servers of its own."""


def planned(**changed: Any) -> Plan:
    """Returns the plan of the lab with other keys."""
    return plan(parsed(LAB | changed))


def objects(made: Plan) -> list[Recorded]:
    """Returns the Kubernetes objects and the machines that the program makes of a plan."""

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), pulumi.Output.secret("root")))

    return record(build)


def named(found: Iterable[Recorded], kind: str, name: str) -> dict[str, Any]:
    """Returns the inputs of the object of a kind with this name in the cluster."""
    return next(each.inputs for each in found if each.kind == kind and each.inputs["metadata"]["name"] == name)


def setting(made: Plan, service: str, file: str, section: str, option: str) -> Setting | None:
    """Returns the value of an option in a service's file; None if the file does not have it."""
    written = {each.name: each for each in configuration.of_service(made, service)}[file]
    assert isinstance(written, ConfigFile)
    return written.document().get(section, {}).get(option)
