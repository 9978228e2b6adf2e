"""Containers of rendered Kubernetes objects as Kolla's start script prepares them: files, command and variables.

A container without Kolla's start script is a shell script; its files are where they are mounted.

Knows Kubernetes and Kolla's contract, and nothing of Quorate's components: it takes any list of objects.
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
class File:
    """A file that Kolla's start script copies."""

    text: str
    owner: str
    mode: str


@dataclass(frozen=True)
class Container:
    """A container after Kolla's start script, if it has one, has copied its files."""

    workload: str
    name: str
    command: str
    """What the start script runs, or a shell script."""
    files: Mapping[str, File]
    """By path."""
    directories: Mapping[str, str]
    """Directories that a user must own, and that user."""
    variables: Mapping[str, str]
    """Its environment; one that only a node knows has that field's name, such as status.hostIP, as its value."""
    ready: Sequence[str] = ()
    """The command of its readiness probe, if that is one."""

    def text(self, path: str) -> str:
        """The text of one of its files."""
        return self.files[path].text


def read(documents: Iterable[Mapping[str, Any]]) -> dict[str, Container]:
    """Every container of Kolla or of a shell, by workload/container. Raises KeyError if a mounted object is missing."""
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


def _containers(workload: Mapping[str, Any], contents: Mapping[tuple[str, str], dict[str, str]]) -> Iterator[Container]:
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
                files = {path: File(text, "root", "0644") for path, text in seen.items()}
                yield Container(name, container["name"], container["args"][0], files, {}, variables, ready)
            continue
        instructions = json.loads(seen[_CONFIG])
        entries = instructions["config_files"]
        yield Container(
            workload=name,
            name=container["name"],
            command=instructions["command"],
            files={each["dest"]: File(seen[each["source"]], each["owner"], each["perm"]) for each in entries},
            directories={each["path"]: each["owner"].partition(":")[0] for each in instructions.get("permissions", ())},
            variables=variables,
            ready=ready,
        )


def _volume(volume: Mapping[str, Any], contents: Mapping[tuple[str, str], dict[str, str]]) -> dict[str, str]:
    """The files of a volume by name; none of a volume that is neither a ConfigMap nor a Secret."""
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
