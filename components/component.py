"""The base of all components: a component's facts become both its inputs and its registered outputs.

A resource policy sees only a component's inputs, a stack policy only its registered outputs. The base class registers
the same facts as both. A component defines only its facts and its child resources, so that it cannot omit or repeat
the registration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast, final

import pulumi

Facts = dict[str, Any]
"""Facts about a component: plain data under camelCase keys, without Outputs, so that a preview knows every value."""

Args = TypeVar("Args")


def plain(**named: object) -> Facts:
    """Converts Python names to the keys of facts: `dedicated_nodes=3` becomes `{"dedicatedNodes": 3}`.

    Raises TypeError for a value that is not plain data, such as an Output: a value that is unknown in a preview would
    make a mandatory rule advisory.
    """
    return {_camel(name): _plain(name, value) for name, value in named.items()}


class Component(pulumi.ComponentResource, Generic[Args]):
    """A Pulumi component resource of the type `token`, built from arguments of the type `Args`."""

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
        """Returns the facts about the component, which policies evaluate."""

    @abstractmethod
    def build(self, name: str, args: Args) -> None:
        """Creates the component's child resources, with names that begin with `name` and options from `child`."""

    def child(self, *, depends_on: Sequence[pulumi.Resource] = (), protect: bool = False) -> pulumi.ResourceOptions:
        """Returns options for a child resource of this component. The child inherits providers, but not protection."""
        return pulumi.ResourceOptions(parent=self, depends_on=list(depends_on), protect=protect)

    @final
    def register_outputs(self, outputs: object) -> None:  # noqa: ARG002
        """Raises TypeError, because the base class alone registers a component's facts as its outputs."""
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
