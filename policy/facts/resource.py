"""A resource of the stack, its properties read when a rule first asks for them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from policy.facts.properties import Properties


class Resource:
    """One resource of the stack. Secrets are read like other values; no message of a rule quotes one."""

    __slots__ = ("_read", "_tree", "after", "name", "parent", "protected", "provider", "type", "urn")

    def __init__(  # noqa: PLR0913 - what the engine says of a resource, each by its name
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
        provider's URN where it has none that is known.
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
        """Its properties: a component's facts, a provider's resource as it will be."""
        if self._tree is None:
            self._tree = Properties(self._read(), self.name)
        return self._tree

    def plain(self) -> dict[str, Any]:
        """The same as plain data, with UNKNOWN where the engine has no value yet."""
        return self._read()
