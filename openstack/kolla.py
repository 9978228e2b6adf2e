"""Kolla's configuration interface: config.json for each container, and the files copied from a ConfigMap and a Secret.

The start script in Kolla's images reads config.json, copies each file to its destination, and runs the command. The
script fails if a file is missing, so config.json lists only files that exist. Files come from the project (`configure`)
and from the stack file (`services.<name>.config`). A file of the stack file replaces the project's file of the same
name, but not that file's fragment with secrets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from blueprint.openstack.projects.process_definition import ConfigurationFile, Container, ProcessDefinition
from openstack.config import formats
from openstack.config.layers import ConfigFile, Reveal, WrittenFile
from openstack.definition import JobDefinition

DIRECTORY = "/var/lib/kolla/config_files"
SECRETS = "/var/lib/kolla/secrets"
STRATEGY = "COPY_ALWAYS"


@dataclass(frozen=True)
class Copied:
    """A file that a container's start script copies from `directory` to `path`."""

    name: str
    directory: str
    path: str
    owner: str | None = None
    """By default the container's user."""


@dataclass(frozen=True)
class FileSet:
    """Configuration files of one pod: those from the project (`written`), and those from the stack file (`given`)."""

    written: tuple[WrittenFile, ...]
    given: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def public(self) -> Mapping[str, str]:
        """Texts of the files that are written to a ConfigMap, by file name."""
        texts = {file.name: formats.public_text(file) for file in self.written}
        return {name: text for name, text in sorted((texts | dict(self.given)).items()) if text is not None}

    def secret(self, reveal: Reveal) -> dict[str, str]:
        """Returns the texts that are written to a Secret object, by file name."""
        texts = {file.name: formats.secret_text(file, reveal) for file in self.written}
        return {name: text for name, text in sorted(texts.items()) if text is not None}

    def secret_names(self) -> frozenset[str]:
        """Returns the keys of all secrets that the files contain, such as nova/database."""
        return frozenset(name for file in self.written for name in formats.secret_names(file))

    def copied(self, files: Iterable[ConfigurationFile]) -> tuple[Copied, ...]:
        """Returns the files that a container copies: those of `files` that exist, and their fragments with secrets."""
        written = {file.name: file for file in self.written}
        found: list[Copied] = []
        for file in files:
            if file.name in self.public:
                found.append(Copied(file.name, DIRECTORY, file.path, file.owner))
            source = written.get(file.name)
            if source and formats.secret_names(source):
                path = source.fragment if isinstance(source, ConfigFile) else file.path
                found.append(Copied(file.name, SECRETS, path or file.path, file.owner))
        return tuple(found)


def destinations(process: ProcessDefinition, container: Container, files: FileSet) -> tuple[ConfigurationFile, ...]:
    """Returns the files of a container with their paths in it.

    The first container also gets the files of the stack file that no container lists.
    """
    known = {file.name for each in process.containers for file in each.files}
    if container is not process.containers[0]:
        return container.files
    others = sorted(set(files.given) - known)
    return (*container.files, *(ConfigurationFile(name, f"/etc/{process.project}/{name}") for name in others))


def key(process: ProcessDefinition, container: Container) -> str:
    """Returns the key under which a process's ConfigMap contains the config.json of a container."""
    return "config.json" if container is process.containers[0] else f"{container.name}.config.json"


def data(process: ProcessDefinition, files: FileSet) -> dict[str, str]:
    """Returns the content of a process's ConfigMap: config.json of each Kolla container, and files without secrets."""
    documents = {
        key(process, container): _process_json(process, container, files)
        for container in process.containers
        if container.kolla
    }
    return documents | dict(files.public)


def job_data(job: JobDefinition, files: FileSet) -> dict[str, str]:
    """Returns the content of a job's ConfigMap: config.json, and the files without secrets."""
    return {"config.json": _config_json(job.command, job.user, files.copied(job.files), ())} | dict(files.public)


def _process_json(process: ProcessDefinition, container: Container, files: FileSet) -> str:
    copied = files.copied(destinations(process, container, files))
    owned = ("/var/log/kolla", *((container.data,) if container.data else ()), *container.owns)
    return _config_json(container.command, container.user, copied, owned)


def _config_json(command: str, user: str, copied: Sequence[Copied], owned: Sequence[str]) -> str:
    document = {
        "command": command,
        "config_files": [
            {
                "source": f"{each.directory}/{each.name}",
                "dest": each.path,
                "owner": each.owner or user,
                "perm": "0600",
            }
            for each in copied
        ],
        "permissions": [{"path": path, "owner": f"{user}:kolla", "recurse": True} for path in owned],
    }
    return json.dumps(document, indent=2) + "\n"
