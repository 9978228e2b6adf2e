"""The order in which the engine makes resources, by what each depends on."""

from __future__ import annotations

from collections.abc import Iterable

from policy.facts.resource import Resource


class Order:
    """Which resources are made before which."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = {resource.urn: resource for resource in resources}
        self._children: dict[str, list[Resource]] = {}
        for resource in self._resources.values():
            self._children.setdefault(resource.parent, []).append(resource)

    def is_before(self, first: Resource, second: Resource) -> bool:
        """Whether all of `first` is made before any of `second`."""
        return self._leaves(first) <= self._before(second)

    def _leaves(self, resource: Resource) -> set[str]:
        """URNs of what a component consists of: the engine sees a dependency on a component as one on these."""
        children = self._children.get(resource.urn, [])
        return {urn for child in children for urn in self._leaves(child)} or {resource.urn}

    def _before(self, resource: Resource) -> set[str]:
        """URNs of everything that it waits for. A resource is made after its parent, so it waits for the same."""
        found: set[str] = set()
        waiting = [resource.parent, *resource.after]
        while waiting:
            urn = waiting.pop()
            if urn not in found and urn in self._resources:
                found.add(urn)
                waiting += [self._resources[urn].parent, *self._resources[urn].after]
        return found
