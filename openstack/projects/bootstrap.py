"""The jobs of a new cloud: its content, its availability zones, and the endpoint of an external object gateway.

They call OpenStack's APIs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from blueprint.openstack.projects.process_definition import ConfigurationFile
from blueprint.openstack.projects.records import own_records
from openstack import accounts, scripts
from openstack.accounts import ADMINISTRATOR
from openstack.config.layers import Secret, TextFile
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    store = wiring.external_ceph.object_store if wiring.external_ceph else None
    return (*_content(wiring), *_zones(wiring), *((accounts.object_store(wiring, store),) if store else ()))


def _content(wiring: Wiring) -> tuple[JobDefinition, ...]:
    if wiring.bootstrap is None:
        return ()
    wanted = wiring.bootstrap.model_dump(mode="json", exclude={"availability_zones"})
    if image := wanted["image"]:
        asked = image.pop("hypervisor_type") or ("qemu" if wiring.has("ironic-api") else None)
        if asked:
            image["hypervisor_type"] = asked
    return (_job(wiring, "bootstrap-cloud", "cloud_content.py", "content.json", wanted),)


def _zones(wiring: Wiring) -> tuple[JobDefinition, ...]:
    """Returns the job of the availability zones, if the stack has any.

    It is a job of its own, because each further compute makes it run again: the other one would then fail in a cloud
    whose operators have changed a flavor.
    """
    if not wiring.availability_zones:
        return ()
    wanted = {"zones": wiring.availability_zones}
    return (_job(wiring, "bootstrap-zones", "availability_zones.py", "zones.json", wanted),)


def _job(wiring: Wiring, name: str, script: str, document: str, wanted: Mapping[str, object]) -> JobDefinition:
    """Returns a job that calls OpenStack's APIs by a script, whose argument is a JSON file with `wanted`."""
    program = ConfigurationFile(script, f"/usr/local/bin/{script}")
    data = ConfigurationFile(document, f"/etc/quorate/{document}")
    content = {"url": wiring.url("keystone", "/v3"), "region": wiring.region, **wanted}
    return JobDefinition(
        name=name,
        image="keystone",
        user="keystone",
        quorums=tuple(dict.fromkeys(map(wiring.galera, own_records()["bootstrap"].needs))),
        command=f"python3 {program.path} {data.path}",
        written=(
            TextFile(program.name, (scripts.text(program.name),)),
            TextFile(data.name, (json.dumps(content, indent=2) + "\n",)),
        ),
        files=(program, data),
        environment=(("OS_USERNAME", ADMINISTRATOR),),
        secrets=(("OS_PASSWORD", Secret("keystone/admin")),),
    )
