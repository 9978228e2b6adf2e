"""A resource of the stack, its properties read when a rule first asks for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from policy.tree import Tree


class Resource:
    """One resource of the stack. Secrets are read like other values; no message of a rule quotes one."""

    __slots__ = ("_read", "_tree", "name", "type", "urn")

    def __init__(self, type_: str, urn: str, name: str, read: Callable[[], dict[str, Any]]) -> None:
        self.type = type_
        self.urn = urn
        self.name = name
        self._read = read
        self._tree: Tree | None = None

    @property
    def props(self) -> Tree:
        """Its properties: a component's facts, a provider's resource as it will be."""
        if self._tree is None:
            self._tree = Tree(self._read(), self.name)
        return self._tree

    def plain(self) -> dict[str, Any]:
        """The same as plain data, with UNKNOWN where the engine has no value yet."""
        return self._read()
