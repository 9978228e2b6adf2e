"""Kolla's contract: a ConfigMap with the config.json of each container and the files that it copies.

Kolla's start script reads config.json as root, copies each file to its destination, and runs the command. config.json
names only files that exist: the start script fails if one is missing. Files come from the project (`written`) and from
the stack file (`services.<name>.config`); a file of the stack file replaces the project's file of the same name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from components.openstack.config import formats
from components.openstack.definition import Container, File, ProcessDefinition

DIRECTORY = "/var/lib/kolla/config_files"
STRATEGY = "COPY_ALWAYS"


def key(process: ProcessDefinition, container: Container) -> str:
    """Returns the ConfigMap's key of a container's config.json."""
    return "config.json" if container is process.containers[0] else f"{container.name}.config.json"


def data(process: ProcessDefinition, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the ConfigMap's content: each Kolla container's config.json, the project's files and the stack file's."""
    texts = {file.name: formats.render(file) for file in process.written} | dict(given)
    documents = {
        key(process, container): _config_json(container, files(process, container, given))
        for container in process.containers
        if container.kolla
    }
    return documents | dict(sorted(texts.items()))


def files(process: ProcessDefinition, container: Container, given: Mapping[str, str]) -> tuple[File, ...]:
    """Returns the files that a container copies. A file without a known destination goes to the first container."""
    asked_for = {file.name for each in process.containers for file in each.files}
    there = {*given, *(file.name for file in process.written)}
    taken = [file for file in container.files if file.name in there]
    if container is process.containers[0]:
        taken += [File(name, f"/etc/{process.project}/{name}") for name in sorted(given) if name not in asked_for]
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
