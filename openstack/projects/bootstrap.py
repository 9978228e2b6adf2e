"""The jobs that create the networks, flavors and image of a new cloud, and the endpoint of an external object gateway.

They call OpenStack's APIs.
"""

from __future__ import annotations

import json

from blueprint.openstack.projects.process_definition import ConfigurationFile
from blueprint.openstack.projects.records import own_records
from openstack import accounts, scripts
from openstack.accounts import ADMINISTRATOR
from openstack.config.layers import Secret, TextFile
from openstack.config.wiring import Wiring
from openstack.definition import JobDefinition

_SCRIPT = ConfigurationFile("cloud_content.py", "/usr/local/bin/cloud_content.py")
_DOCUMENT = ConfigurationFile("content.json", "/etc/quorate/content.json")


def jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    store = wiring.external_ceph.object_store if wiring.external_ceph else None
    return (*_content(wiring), *((accounts.object_store(wiring, store),) if store else ()))


def _content(wiring: Wiring) -> tuple[JobDefinition, ...]:
    if wiring.bootstrap is None:
        return ()
    wanted = wiring.bootstrap.model_dump(mode="json")
    document = {"url": wiring.url("keystone", "/v3"), "region": wiring.region, **wanted}
    job = JobDefinition(
        name="bootstrap-cloud",
        image="keystone",
        user="keystone",
        quorums=tuple(dict.fromkeys(map(wiring.galera, own_records()["bootstrap"].needs))),
        command=f"python3 {_SCRIPT.path} {_DOCUMENT.path}",
        written=(
            TextFile(_SCRIPT.name, (scripts.text(_SCRIPT.name),)),
            TextFile(_DOCUMENT.name, (json.dumps(document, indent=2) + "\n",)),
        ),
        files=(_SCRIPT, _DOCUMENT),
        environment=(("OS_USERNAME", ADMINISTRATOR),),
        secrets=(("OS_PASSWORD", Secret("keystone/admin")),),
    )
    return (job,)
