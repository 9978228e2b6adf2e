"""Bootstrap: creates the networks, flavors and image of a new cloud that the stack file sets (source 004, 1.5).

The project has a job and no processes. The job calls OpenStack's APIs as Keystone's administrator, and runs again only
if the settings change. The job downloads the image and verifies its checksum, because Glance's own import
(web-download) does not.
"""

from __future__ import annotations

import json

from openstack import scripts
from openstack.accounts import ADMINISTRATOR
from openstack.config.layers import Secret, TextFile
from openstack.config.wiring import REGION, Wiring
from openstack.definition import ConfigurationFile, JobDefinition, ProjectDefinition

_SCRIPT = ConfigurationFile("cloud_content.py", "/usr/local/bin/cloud_content.py")
_CONTENT = ConfigurationFile("content.json", "/etc/quorate/content.json")
_NEEDS = ("keystone", "glance", "neutron", "nova")
"""The projects whose APIs the job calls."""


def _jobs(wiring: Wiring) -> tuple[JobDefinition, ...]:
    if wiring.bootstrap is None:
        return ()
    wanted = wiring.bootstrap.model_dump(mode="json")
    document = {"url": wiring.url("keystone", "/v3"), "region": REGION, **wanted}
    job = JobDefinition(
        name="bootstrap-cloud",
        image="keystone",
        user="keystone",
        quorums=tuple(dict.fromkeys(map(wiring.galera, _NEEDS))),
        command=f"python3 {_SCRIPT.path} {_CONTENT.path}",
        written=(
            TextFile(_SCRIPT.name, (scripts.text(_SCRIPT.name),)),
            TextFile(_CONTENT.name, (json.dumps(document, indent=2) + "\n",)),
        ),
        files=(_SCRIPT, _CONTENT),
        environment=(("OS_USERNAME", ADMINISTRATOR),),
        secrets=(("OS_PASSWORD", Secret("keystone/admin")),),
    )
    return (job,)


PROJECT = ProjectDefinition(
    name="bootstrap",
    processes=(),
    needs=_NEEDS,
    jobs=_jobs,
)
