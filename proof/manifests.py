"""Reads rendered manifests, and creates their objects with strict validation.

Unknown and duplicate fields are errors (fieldValidation=Strict). A warning of the API server is a finding too: a field
that is deprecated today blocks a rollout after a later upgrade.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path

from cluster.api import Api
from cluster.objects import Object, listed
from files import yaml_reader
from proof.violations import Violation

FOLDERS = ("manifests/0-crd", "secrets/manifests/0-crd", "manifests/1-manifest", "secrets/manifests/1-manifest")
"""Folders with manifests, in the order in which the Kubernetes provider applies them."""
FIRST = (
    "CustomResourceDefinition",
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "ServiceAccount",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Service",
    "NetworkPolicy",
    "PodDisruptionBudget",
)
"""Kinds of objects that are created first, in this order, because other objects depend on them."""


def read_manifests(tree: Path) -> list[Object]:
    """Returns all objects of a rendered tree, in the order in which they are applied."""
    found: list[Object] = []
    for folder in FOLDERS:
        for file in sorted((tree / folder).glob("*.yaml")):
            found += [each for each in yaml_reader.load_all(file.read_text(encoding="utf-8")) if each]
    return sorted(found, key=_rank)


def apply_all(api: Api, objects: Sequence[Object]) -> list[Violation]:
    """Creates objects in the cluster, kind by kind. Returns the API server's errors and warnings as findings."""
    paths: dict[str, str] = {}
    findings: list[Violation] = []

    def create(item: Object) -> list[Violation]:
        return _create(api, paths, item)

    with ThreadPoolExecutor(6) as pool:
        for _, group in groupby(objects, key=_rank):
            alike = list(group)
            for item in alike:
                if (kind := _kind(item)) not in paths and (path := _path(api, item)):
                    paths[kind] = path
            for wrong in pool.map(create, alike):
                findings += wrong
    return findings


def title(item: Object) -> str:
    """Returns kind and name of an object as text, such as Service keystone, for messages."""
    return f"{item['kind']} {item['metadata']['name']}"


def _create(api: Api, paths: dict[str, str], item: Object) -> list[Violation]:
    path = paths.get(_kind(item))
    if path is None:
        return [Violation("manifests-accepted", title(item), f"the API server does not serve {_kind(item)}")]
    path = path.replace("{namespace}", str(item["metadata"].get("namespace", "default")))
    reply = api.call("POST", path, item, query={"fieldValidation": "Strict"})
    findings = [Violation("manifests-without-warning", title(item), warning) for warning in reply.warnings]
    if reply.status >= 300:
        message = f"{reply.status} {reply.body.get('reason', '')}: {reply.body.get('message', '')}"
        findings.append(Violation("manifests-accepted", title(item), message))
    return findings


def _path(api: Api, item: Object) -> str | None:
    """Returns the API path for creating an object of the item's kind; None if the API server does not serve it."""
    version = str(item["apiVersion"])
    base = f"/apis/{version}" if "/" in version else f"/api/{version}"
    served = api.call("GET", base)
    for resource in listed(served.body, "resources"):
        if resource["kind"] == item["kind"] and "/" not in resource["name"]:
            where = "/namespaces/{namespace}" if resource["namespaced"] else ""
            return f"{base}{where}/{resource['name']}"
    return None


def _kind(item: Object) -> str:
    return f"{item['apiVersion']} {item['kind']}"


def _rank(item: Object) -> int:
    kind = item["kind"]
    return FIRST.index(kind) if kind in FIRST else len(FIRST)
