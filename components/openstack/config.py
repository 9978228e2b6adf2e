"""Kolla's contract: a ConfigMap with each container's config.json and the files that it hands out.

Kolla's start script reads config.json as root, copies files to where their owner wants them, and runs the command.
Only files that are there are named: Kolla refuses to start over one that it does not find. Files of the services
themselves come from the stack (`services.<name>.config`) until a later release writes them; a few that a quorum
depends on are there from the start.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from blueprint.problems import InvalidStackError, Problem
from components.openstack.workload import Container, File, Workload

DIRECTORY = "/var/lib/kolla/config_files"
STRATEGY = "COPY_ALWAYS"

_KEY = re.compile(r"[-._a-zA-Z0-9]+")


def key(workload: Workload, container: Container) -> str:
    """The ConfigMap's key of a container's config.json."""
    return "config.json" if container is workload.containers[0] else f"{container.name}.config.json"


def data(workload: Workload, given: Mapping[str, str]) -> dict[str, str]:
    """The ConfigMap's content: every Kolla container's config.json, the service's files, and those the stack gives."""
    for name in given:
        if not _KEY.fullmatch(name) or name in {key(workload, container) for container in workload.containers}:
            problem = "is no name for a file here; write letters, digits, '-', '.' and '_', and none of Kolla's own"
            raise InvalidStackError([Problem(f"quorate:services.{workload.service}.config.{name}", problem)])
    texts = dict(workload.written) | dict(given)
    documents = {
        key(workload, container): _config_json(container, files(workload, container, given))
        for container in workload.containers
        if container.kolla
    }
    return documents | dict(sorted(texts.items()))


def files(workload: Workload, container: Container, given: Mapping[str, str]) -> tuple[File, ...]:
    """The files that a container takes; one of the stack's that nobody asked for goes to the service itself."""
    asked = {file.name for process in workload.containers for file in process.files}
    there = {*given, *(name for name, _ in workload.written)}
    taken = [file for file in container.files if file.name in there]
    if container is workload.containers[0]:
        taken += [File(name, f"/etc/{workload.component}/{name}") for name in sorted(given) if name not in asked]
    return tuple(taken)


def _config_json(container: Container, taken: tuple[File, ...]) -> str:
    owned = ("/var/log/kolla", *((container.data,) if container.data else ()), *container.owns)
    document = {
        "command": container.command,
        "config_files": [
            {"source": f"{DIRECTORY}/{file.name}", "dest": file.path, "owner": container.user, "perm": "0600"}
            for file in taken
        ],
        "permissions": [{"path": path, "owner": f"{container.user}:kolla", "recurse": True} for path in owned],
    }
    return json.dumps(document, indent=2) + "\n"
