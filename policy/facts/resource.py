"""A resource of the stack, whose properties are read on first access."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from policy.facts.properties import Properties


class Resource:
    """One resource of the stack. Secrets are read like other values, but rule messages never quote them."""

    __slots__ = ("_read", "_tree", "after", "name", "parent", "protected", "provider", "type", "urn")

    def __init__(  # noqa: PLR0913 - the engine's facts about a resource, by keyword
        self,
        type_: str,
        urn: str,
        name: str,
        read: Callable[[], dict[str, Any]],
        *,
        protected: bool = False,
        after: Collection[str] = (),
        parent: str = "",
        provider: str = "",
    ) -> None:
        """`protected`: the engine refuses to delete it. `after`: URNs of the resources that it depends on.

        `parent`: URN of the component that it belongs to. `provider`: the connection of its provider (`uri`), or the
        provider's URN if it has no known `uri`.
        """
        self.type = type_
        self.urn = urn
        self.name = name
        self.protected = protected
        self.after = after
        self.parent = parent
        self.provider = provider
        self._read = read
        self._tree: Properties | None = None

    @property
    def props(self) -> Properties:
        """Its properties: the facts of a component, or the planned properties of any other resource."""
        if self._tree is None:
            self._tree = Properties(self._read(), self.name)
        return self._tree

    def plain(self) -> dict[str, Any]:
        """The same as plain data, with UNKNOWN where the engine has no value yet."""
        return self._read()
