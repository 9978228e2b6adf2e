"""The order in which the engine creates resources, by their dependencies."""

from __future__ import annotations

from collections.abc import Iterable

from policy.resource import Resource


class Order:
    """The order in which Pulumi creates a stack's resources."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = {resource.urn: resource for resource in resources}
        self._children: dict[str, list[Resource]] = {}
        for resource in self._resources.values():
            self._children.setdefault(resource.parent, []).append(resource)

    def is_before(self, first: Resource, second: Resource) -> bool:
        """Whether Pulumi creates `first` before `second`. A component counts with all of its descendants."""
        return self._leaves(first) <= self._before(second)

    def _leaves(self, resource: Resource) -> set[str]:
        """URNs of a component's descendants without children; the resource's own URN if it has no children.

        A dependency on a component is a dependency on all of these resources.
        """
        children = self._children.get(resource.urn, [])
        return {urn for child in children for urn in self._leaves(child)} or {resource.urn}

    def _before(self, resource: Resource) -> set[str]:
        """URNs of all resources that Pulumi creates before `resource`: its dependencies, its parents, and theirs."""
        found: set[str] = set()
        waiting = [resource.parent, *resource.after]
        while waiting:
            urn = waiting.pop()
            if urn not in found and urn in self._resources:
                found.add(urn)
                waiting += [self._resources[urn].parent, *self._resources[urn].after]
        return found
