"""A Pulumi resource of the stack. Its properties are read on first access."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from policy.properties import Properties


class Resource:
    """A Pulumi resource of the stack. Secret properties are read like others, but messages must not quote them."""

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
        """`protected`: Pulumi refuses to delete the resource. `after`: URNs of the resources that it depends on.

        `parent`: URN of the component that it belongs to. `provider`: the connection of its provider (`uri`), or the
        provider's URN if the provider has no known `uri`. `read`: returns the properties as plain data.
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
        """The resource's properties: registered outputs of a component, planned properties of other resources."""
        if self._tree is None:
            self._tree = Properties(self._read(), self.name)
        return self._tree

    def plain(self) -> dict[str, Any]:
        """Returns the resource's properties as plain data, with UNKNOWN for values that Pulumi does not know yet."""
        return self._read()
