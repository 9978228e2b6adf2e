"""Kubernetes objects: the type checker sees the classes of Pulumi's Kubernetes SDK, the program uses plain documents.

Importing the SDK's core/v1 takes 0.6 s, and registering an object with the SDK's typed arguments takes twice as long as
with a document (docs/adr/0011-kubernetes-documents.md). At run time, the outputs of an object are documents as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

_ACRONYMS = {
    **{word: word.upper() for word in ("api", "cidr", "fqdn", "id", "io", "ip", "ipc", "pid", "uri", "uuid")},
    **{f"{word}s": f"{word.upper()}s" for word in ("cidr", "ip", "url", "wwn")},
}
"""Words of the SDK's field names that are capitalized in the Kubernetes API: `cluster_ip` is `clusterIP`."""


class KubernetesObject(pulumi.CustomResource):
    """A Kubernetes object of an API group such as `apps/v1`, registered with the fields of its manifest."""

    def __init__(
        self,
        group: str,
        kind: str,
        name: str,
        args: Mapping[str, Any] | None = None,
        opts: pulumi.ResourceOptions | None = None,
        **fields: Any,
    ) -> None:
        version = group.removeprefix("core/")
        manifest = {"apiVersion": version, "kind": kind, **(args or {}), **document(**fields)}
        super().__init__(f"kubernetes:{group}:{kind}", name, manifest, opts)


class ApiGroup:
    """Replaces a module of the SDK: calling `<Kind>(…)` registers an object, `<Type>Args(…)` returns a document."""

    def __init__(self, group: str) -> None:
        self._group = group

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return document if name.endswith("Args") else partial(KubernetesObject, self._group, name)


def document(**fields: Any) -> dict[str, Any]:
    """Returns fields under their names in the Kubernetes API. Fields with the value None are left out."""
    return {field_name(name): value for name, value in fields.items() if value is not None}


def field_name(name: str) -> str:
    """Returns the Kubernetes API's name for a field of the SDK, such as clusterIP for cluster_ip."""
    first, *others = name.split("_")
    return first + "".join(_ACRONYMS.get(word, word.capitalize()) for word in others)


if TYPE_CHECKING:
    from pulumi_kubernetes.apps import v1 as apps
    from pulumi_kubernetes.batch import v1 as batch
    from pulumi_kubernetes.core import v1 as core
    from pulumi_kubernetes.meta import v1 as meta
    from pulumi_kubernetes.networking import v1 as networking
    from pulumi_kubernetes.policy import v1 as policy
    from pulumi_kubernetes.rbac import v1 as rbac
    from pulumi_kubernetes.scheduling import v1 as scheduling
    from pulumi_kubernetes.storage import v1 as storage
else:
    apps, batch, core, meta, policy = map(ApiGroup, ("apps/v1", "batch/v1", "core/v1", "meta/v1", "policy/v1"))
    networking, rbac, scheduling, storage = map(
        ApiGroup,
        ("networking.k8s.io/v1", "rbac.authorization.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1"),
    )

__all__ = ["apps", "batch", "core", "meta", "networking", "policy", "rbac", "scheduling", "storage"]
