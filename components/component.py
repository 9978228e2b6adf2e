"""The base of all components: a component's facts become both its inputs and its registered outputs.

A resource policy sees only a component's inputs, a stack policy only its registered outputs. The base class registers
the same facts as both, once. A component defines only its facts and its children, so that it cannot omit or repeat the
registration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast, final

import pulumi

Facts = dict[str, Any]
"""Plain data under camelCase keys. It contains no Outputs, so that policies can evaluate all of it in a preview."""

Args = TypeVar("Args")


def plain(**named: object) -> Facts:
    """Converts Python names to the keys of facts: `dedicated_nodes=3` becomes `{"dedicatedNodes": 3}`.

    Raises TypeError for anything but plain data: an unknown value would make a mandatory rule advisory.
    """
    return {_camel(name): _plain(name, value) for name, value in named.items()}


class Component(pulumi.ComponentResource, Generic[Args]):
    """A component resource of type `token`, built from `Args`."""

    token: ClassVar[str]

    @final
    def __init__(self, name: str, args: Args, opts: pulumi.ResourceOptions | None = None) -> None:
        sent = self.facts(args)
        super().__init__(self.token, name, dict(sent), opts)
        self.build(name, args)
        super().register_outputs(dict(sent))

    @staticmethod
    @abstractmethod
    def facts(args: Any) -> Facts:
        """Returns the facts about the component that policies evaluate."""

    @abstractmethod
    def build(self, name: str, args: Args) -> None:
        """Creates the children, named after `name`, with options from `child`."""

    def child(self, *, depends_on: Sequence[pulumi.Resource] = (), protect: bool = False) -> pulumi.ResourceOptions:
        """Returns the options of a child: this component is the parent. Providers are inherited, protection is not."""
        return pulumi.ResourceOptions(parent=self, depends_on=list(depends_on), protect=protect)

    @final
    def register_outputs(self, outputs: object) -> None:  # noqa: ARG002
        """Raises TypeError: the base class registers the facts, once."""
        raise TypeError(f"{type(self).__name__} registers its facts by itself; put what is missing into facts()")


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def _plain(name: str, value: object) -> object:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {str(key): _plain(f"{name}.{key}", item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in cast("Sequence[object]", value)]
    raise TypeError(f"fact '{name}' is a {type(value).__name__}; a fact is plain data")
