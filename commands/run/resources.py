"""Names and kinds of resources as an engineer knows them: `Deployment openstack/nova-api`, `3 NetworkPolicies`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import contract
from policy.engine.events import EngineStep

KUBERNETES = "kubernetes:"
_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Pulumi's mark of a text that is not known before the update."""
_PROVIDERS = "pulumi:providers:"
_KINDS = {contract.TREE: "machine directory", contract.DOMAIN_DEFINITION: "domain definition"}
_PARTS = "component or provider"
"""Kind of resources that only group or serve others."""


@dataclass(frozen=True, order=True)
class ResourceKind:
    """A kind of resources, in a namespace of Kubernetes or in none."""

    namespace: str
    name: str

    def counted(self, number: int) -> str:
        """Returns a number of resources of this kind as text, such as `12 ConfigMaps in nova`."""
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{number} {self.name if number == 1 else plural(self.name)}{where}"


def plural(noun: str) -> str:
    """Returns the plural of the name of a kind."""
    if noun == _PARTS:
        return "components and providers"
    if noun.endswith("y"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def kind(step: EngineStep) -> ResourceKind:
    """Returns the kind of the resource of an operation."""
    return ResourceKind(
        _metadata(step, "namespace"), _KINDS.get(step.type) or (_short(step.type) if is_real(step) else _PARTS)
    )


def is_real(step: EngineStep) -> bool:
    """Whether the resource is something outside of Pulumi's state: no component, and no provider."""
    state = step.state or step.before
    return bool(state.get("custom")) and not step.type.startswith(_PROVIDERS)


def is_default_provider(step: EngineStep) -> bool:
    """Whether Pulumi made the resource by itself; its numbers of changes do not count these."""
    return step.type.startswith(_PROVIDERS) and pulumi_name(step.urn).startswith("default")


def name(step: EngineStep) -> str:
    """Returns the name of the resource of an operation: that of a Kubernetes object in its cluster, or Pulumi's."""
    return _metadata(step, "name") or pulumi_name(step.urn)


def title(step: EngineStep) -> str:
    """Returns kind, namespace and name of the resource of an operation, such as `Deployment openstack/nova-api`."""
    found = kind(step)
    return f"{found.name} {found.namespace}/{name(step)}" if found.namespace else f"{found.name} {name(step)}"


def title_of(urn: str) -> str:
    """Returns kind and name of a resource of which only the URN is known."""
    type_ = urn.rpartition("::")[0].rpartition("::")[2].rpartition("$")[2]
    return f"{_KINDS.get(type_) or _short(type_)} {pulumi_name(urn)}"


def pulumi_name(urn: str) -> str:
    """Returns the name of a resource in its URN."""
    return urn.rpartition("::")[2]


def _short(type_: str) -> str:
    return type_.rpartition(":")[2].rpartition("/")[2]


def _metadata(step: EngineStep, key: str) -> str:
    """Returns a value of the metadata of a Kubernetes object; "" for other resources, and if it is not known."""
    if not step.type.startswith(KUBERNETES):
        return ""
    state = step.state or step.before
    for values in (state.get("inputs"), state.get("outputs")):
        metadata = cast("dict[str, Any]", values or {}).get("metadata")
        if isinstance(metadata, dict):
            value = cast("dict[str, Any]", metadata).get(key)
            if value and value != _UNKNOWN:
                return str(value)
    return ""
