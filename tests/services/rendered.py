"""What containers get to see: files and variables, from rendered Kubernetes objects as Kolla's start script reads them.

Knows Kubernetes and Kolla's contract, and nothing of Quorate's components: it takes any list of documents.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job")


@dataclass(frozen=True)
class Started:
    """A container after Kolla's start script has copied its files."""

    workload: str
    name: str
    command: str
    """What the start script runs."""
    files: Mapping[str, str]
    """Text by path."""
    directories: tuple[str, ...]
    """Directories that its user owns; an image has them."""
    variables: Mapping[str, str]
    """Its environment; one that only a node knows has that field's name, such as status.hostIP, as its value."""


def started(documents: Iterable[Mapping[str, Any]]) -> dict[str, Started]:
    """Every container that Kolla starts, by workload/container. Raises KeyError if one mounts what is not rendered."""
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


def _containers(workload: Mapping[str, Any], contents: Mapping[tuple[str, str], dict[str, str]]) -> Iterator[Started]:
    pod = workload["spec"]["template"]["spec"]
    volumes = {volume["name"]: _volume(volume, contents) for volume in pod.get("volumes", ())}
    for container in pod["containers"]:
        seen = _mounted(container, volumes)
        config = seen.get("/var/lib/kolla/config_files/config.json")
        if config is None:
            continue
        instructions = json.loads(config)
        files = {each["dest"]: seen[each["source"]] for each in instructions["config_files"]}
        variables = dict(_variable(each, contents) for each in container.get("env", ()))
        name = workload["metadata"]["labels"].get("app.kubernetes.io/name", workload["metadata"]["name"])
        owned = tuple(each["path"] for each in instructions.get("permissions", ()))
        yield Started(name, container["name"], instructions["command"], files, owned, variables)


def _volume(volume: Mapping[str, Any], contents: Mapping[tuple[str, str], dict[str, str]]) -> dict[str, str]:
    """The files of a volume by name; none of a volume that is neither a ConfigMap nor a Secret."""
    for kind, key, name in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
        if key in volume:
            texts = contents[kind, volume[key][name]]
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
