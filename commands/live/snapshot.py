"""`quorate snapshot`: collects the data for an analysis of a fault into one archive, without secrets (source 004, 4.6).

For a live stack: the states of its objects, events, the last lines of all logs, versions. For a rendered stack: its
tree. Secret objects are never requested, and the directory secrets/ is never read.
"""

from __future__ import annotations

import io
import json
import os
import tarfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import yaml

from cluster.api import ApiError, Unreachable
from cluster.objects import Object, listed, name
from commands import build_directory, stack
from commands.live import connection
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT
from operations.live_cluster import LiveCluster

LINES = 1000
"""Lines of each container's log. Project figure: about an hour of a busy API at Kolla's log level."""
TREE = ("audit", "machines", "manifests", "plan.json")
"""Entries of build/<stack> that a snapshot contains. The other entries may contain secrets."""
_CORE, _NAMESPACE = "/api/v1", f"namespaces/{ENVIRONMENT}"
OBJECTS = {
    **{kind: f"{_CORE}/{kind}" for kind in ("nodes", "persistentvolumes")},
    "storageclasses": "/apis/storage.k8s.io/v1/storageclasses",
    **{
        kind: f"{_CORE}/{_NAMESPACE}/{kind}"
        for kind in ("pods", "services", "endpoints", "configmaps", "persistentvolumeclaims", "events")
    },
    **{
        kind: f"/apis/apps/v1/{_NAMESPACE}/{kind}"
        for kind in ("deployments", "statefulsets", "daemonsets", "controllerrevisions")
    },
    **{kind: f"/apis/batch/v1/{_NAMESPACE}/{kind}" for kind in ("jobs", "cronjobs")},
    "networkpolicies": f"/apis/networking.k8s.io/v1/{_NAMESPACE}/networkpolicies",
    "poddisruptionbudgets": f"/apis/policy/v1/{_NAMESPACE}/poddisruptionbudgets",
}
"""API paths of the lists of objects that a snapshot contains, by kind."""
_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"

Entry = tuple[str, str]
"""A file of the archive: its path and its text."""


def collect(root: Path, stack_name: str) -> int:
    """Writes build/<stack>/snapshot-<time>.tar.gz, which only its owner may read. Returns 0."""
    found = stack.load(root, stack_name)
    began = time.time()
    entries = of_tree(root, stack_name) if found.is_rendered else of_cluster(connection.connect(root, found))
    stamp = datetime.fromtimestamp(began, UTC).strftime("%Y-%m-%dT%H-%M-%SZ")
    path = build_directory.of_stack(root, stack_name) / f"snapshot-{stamp}.tar.gz"
    document = yaml.safe_dump(stack.without_secrets(stack.read_document(found.file)), sort_keys=False)
    count = write(path, stamp, began, [("stack.yaml", document), *entries])
    print(f"{count} files, without secrets: {path.relative_to(root)}")
    print("Review the archive before you share it: it contains names, addresses and the logs of services.")
    return 0


def write(path: Path, stamp: str, began: float, entries: list[Entry]) -> int:
    """Writes the entries into an archive, in the directory snapshot-<stamp>. Returns the number of files."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as archive:
        for inner, text in entries:
            content = text.encode(errors="replace")
            member = tarfile.TarInfo(f"snapshot-{stamp}/{inner}")
            member.size, member.mtime, member.mode = len(content), int(began), 0o600
            archive.addfile(member, io.BytesIO(content))
    return len(entries)


def of_tree(root: Path, stack_name: str) -> Iterator[Entry]:
    """Yields the rendered files of a stack. Raises UserError if nothing is rendered."""
    directory = root / "build" / stack_name
    files = [path for each in TREE for path in _files(directory / each)]
    if not files:
        raise UserError(f"Nothing is rendered in build/{stack_name}: run `make up STACK={stack_name}` first.")
    for path in files:
        yield str(path.relative_to(directory)), path.read_text(encoding="utf-8", errors="replace")


def _files(path: Path) -> list[Path]:
    """Returns a file, or the files below a directory. Links are not followed."""
    candidates = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [each for each in candidates if each.is_file() and not each.is_symlink()]


def of_cluster(cluster: LiveCluster) -> Iterator[Entry]:
    """Yields objects, logs and the version of a cluster. The last entry, errors.txt, lists what could not be read."""
    errors: list[str] = []
    yield "version.json", _json(_ask(cluster, "/version", errors))
    for kind, path in OBJECTS.items():
        items = [_shown(each) for each in listed(_ask(cluster, path, errors), "items")]
        yield f"objects/{kind}.json", _json(items)
        if kind == "pods":
            yield from _logs(cluster, items, errors)
    yield "errors.txt", "".join(f"{error}\n" for error in errors)


def _ask(cluster: LiveCluster, path: str, errors: list[str]) -> Object:
    try:
        return cluster.api.ask("GET", path)
    except (ApiError, Unreachable) as error:
        errors.append(f"{path}: {error}")
        return {}


def _shown(item: Object) -> Object:
    """Returns an object without managedFields and kubectl's last-applied annotation, which could contain secrets."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    if annotations := cast("dict[str, Any] | None", metadata.get("annotations")):
        metadata["annotations"] = {key: value for key, value in annotations.items() if key != _ANNOTATION}
    return {**item, "metadata": metadata}


def _logs(cluster: LiveCluster, pods: list[Object], errors: list[str]) -> Iterator[Entry]:
    """Yields the last log lines of each pod's containers; of a restarted container, also those before the restart."""
    for pod in pods:
        for status in listed(pod, "status", "containerStatuses"):
            container = str(status.get("name"))
            for previous in (False, True) if status.get("restartCount") else (False,):
                path = f"/api/v1/{_NAMESPACE}/pods/{name(pod)}/log"
                query = {"container": container, "tailLines": str(LINES), "previous": str(previous).lower()}
                try:
                    reply = cluster.api.call("GET", path, query=query)
                except Unreachable as error:
                    errors.append(f"{path}: {error}")
                    continue
                if reply.status >= 300:
                    errors.append(f"{path} ({container}): {reply.status} {reply.body.get('message', '')}")
                    continue
                suffix = "-previous" if previous else ""
                yield f"logs/{name(pod)}/{container}{suffix}.log", reply.text


def _json(value: object) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"
