"""The order in which the engine creates resources, by their dependencies."""

from __future__ import annotations

from collections.abc import Iterable

from policy.facts.resource import Resource


class Order:
    """The creation order of a stack's resources."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = {resource.urn: resource for resource in resources}
        self._children: dict[str, list[Resource]] = {}
        for resource in self._resources.values():
            self._children.setdefault(resource.parent, []).append(resource)

    def is_before(self, first: Resource, second: Resource) -> bool:
        """Whether the engine creates all of `first` before any of `second`."""
        return self._leaves(first) <= self._before(second)

    def _leaves(self, resource: Resource) -> set[str]:
        """URNs of the leaf resources of a component. A dependency on a component is one on all of these."""
        children = self._children.get(resource.urn, [])
        return {urn for child in children for urn in self._leaves(child)} or {resource.urn}

    def _before(self, resource: Resource) -> set[str]:
        """URNs of all resources created before this one: its dependencies, its parents and their dependencies."""
        found: set[str] = set()
        waiting = [resource.parent, *resource.after]
        while waiting:
            urn = waiting.pop()
            if urn not in found and urn in self._resources:
                found.add(urn)
                waiting += [self._resources[urn].parent, *self._resources[urn].after]
        return found
