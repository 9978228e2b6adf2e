"""Reads containers from rendered Kubernetes objects: their command, variables, and files as Kolla's start script copies
them.

A container without Kolla's start script runs a shell script, and its files are where they are mounted. This module
depends only on Kubernetes and on Kolla's config.json, so that it reads any list of objects.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
_SHELL = ["bash", "-ec"]
_CONFIG = "/var/lib/kolla/config_files/config.json"


@dataclass(frozen=True)
class ContainerFile:
    """A file of a container, with owner and mode, as Kolla's start script copies it."""

    text: str
    owner: str
    mode: str


@dataclass(frozen=True)
class TriedContainer:
    """A container as it is after Kolla's start script has copied its files, or as it is mounted without this script."""

    workload: str
    name: str
    command: str
    """The command that Kolla's start script runs; without this script, a shell script."""
    files: Mapping[str, ContainerFile]
    """Files of the container by path."""
    directories: Mapping[str, str]
    """Owner of each directory that the start script gives to a user, by path."""
    variables: Mapping[str, str]
    """Environment variables by name. A variable from a field of the pod has the field's path as value, such as
    status.hostIP."""
    ready: Sequence[str] = ()
    """Command of the readiness probe; () if the probe is not a command."""

    def text(self, path: str) -> str:
        """Returns the text of the container's file at `path`."""
        return self.files[path].text


def read(documents: Iterable[Mapping[str, Any]]) -> dict[str, TriedContainer]:
    """Returns the containers of rendered objects, by workload/container.

    Raises KeyError if the ConfigMap or Secret of a volume is missing.
    """
    known = list(documents)
    holders = [each for each in known if each["kind"] in ("ConfigMap", "Secret")]
    contents = {(each["kind"], each["metadata"]["name"]): _texts(each) for each in holders}
    found = [container for each in known if each["kind"] in _WORKLOADS for container in _containers(each, contents)]
    return {f"{each.workload}/{each.name}": each for each in found}


def _texts(document: Mapping[str, Any]) -> dict[str, str]:
    if document["kind"] == "ConfigMap":
        return dict(document.get("data", {}))
    encoded = {name: base64.b64decode(text).decode() for name, text in document.get("data", {}).items()}
    return encoded | dict(document.get("stringData", {}))


def _containers(
    workload: Mapping[str, Any], contents: Mapping[tuple[str, str], dict[str, str]]
) -> Iterator[TriedContainer]:
    spec = workload["spec"]
    pod = (spec["jobTemplate"]["spec"] if workload["kind"] == "CronJob" else spec)["template"]["spec"]
    volumes = {volume["name"]: _volume(volume, contents) for volume in pod.get("volumes", ())}
    for container in pod["containers"]:
        seen = _mounted(container, volumes)
        name = workload["metadata"]["labels"].get("app.kubernetes.io/name", workload["metadata"]["name"])
        variables = dict(_variable(each, contents) for each in container.get("env", ()))
        ready = container.get("readinessProbe", {}).get("exec", {}).get("command", ())
        if _CONFIG not in seen:
            if container.get("command") == _SHELL:
                files = {path: ContainerFile(text, "root", "0644") for path, text in seen.items()}
                yield TriedContainer(name, container["name"], container["args"][0], files, {}, variables, ready)
            continue
        instructions = json.loads(seen[_CONFIG])
        yield TriedContainer(
            workload=name,
            name=container["name"],
            command=instructions["command"],
            files={
                each["dest"]: ContainerFile(seen[each["source"]], each["owner"], each["perm"])
                for each in instructions["config_files"]
            },
            directories={each["path"]: each["owner"].partition(":")[0] for each in instructions.get("permissions", ())},
            variables=variables,
            ready=ready,
        )


def _volume(volume: Mapping[str, Any], contents: Mapping[tuple[str, str], dict[str, str]]) -> dict[str, str]:
    """Returns the texts of a ConfigMap or Secret volume, by file name; {} for other volumes."""
    for kind, key, name in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
        if key in volume:
            source = (kind, volume[key][name])
            if volume[key].get("optional") and source not in contents:
                return {}
            texts = contents[source]
            items = volume[key].get("items")
            return {item["path"]: texts[item["key"]] for item in items} if items else texts
    return {}


def _mounted(container: Mapping[str, Any], volumes: Mapping[str, dict[str, str]]) -> dict[str, str]:
    files: dict[str, str] = {}
    for mount in container.get("volumeMounts", ()):
        for name, text in volumes.get(mount["name"], {}).items():
            if "subPath" not in mount:
                files[f"{mount['mountPath']}/{name}"] = text
            elif mount["subPath"] == name:
                files[mount["mountPath"]] = text
    return files


def _variable(variable: Mapping[str, Any], contents: Mapping[tuple[str, str], dict[str, str]]) -> tuple[str, str]:
    if "valueFrom" not in variable:
        return variable["name"], variable.get("value", "")
    source = variable["valueFrom"]
    if "secretKeyRef" in source:
        reference = source["secretKeyRef"]
        return variable["name"], contents["Secret", reference["name"]][reference["key"]]
    return variable["name"], source["fieldRef"]["fieldPath"]
