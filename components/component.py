"""The base of all components: the facts it is given leave it as inputs and as registered outputs.

A resource policy sees a component's inputs, a stack policy its registered outputs, neither sees anything else. With
the base, both are the same plain facts, sent once: a component says what its facts are and what it builds, and has
no way to forget or to repeat the registration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast, final

import pulumi

Facts = dict[str, Any]
"""Plain data under camelCase keys: no Outputs, so that a policy can judge every one of them in a preview."""

Args = TypeVar("Args")


def plain(**named: object) -> Facts:
    """Facts by their Python names, as they travel: `dedicated_nodes=3` becomes `{"dedicatedNodes": 3}`.

    Raises TypeError for anything but plain data: an unknown value would turn a mandatory rule into an advisory one.
    """
    return {_camel(name): _plain(name, value) for name, value in named.items()}


class Component(pulumi.ComponentResource, Generic[Args]):
    """A component resource of type `token`, from `Args` that carry finished decisions."""

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
        """What the component tells policies and readers about itself."""

    @abstractmethod
    def build(self, name: str, args: Args) -> None:
        """Makes the children, named after `name`, with options from `child`."""

    def child(self, *, depends_on: Sequence[pulumi.Resource] = (), protect: bool = False) -> pulumi.ResourceOptions:
        """Options of every child: this component is its parent, and hands its providers down, not its protection."""
        return pulumi.ResourceOptions(parent=self, depends_on=list(depends_on), protect=protect)

    @final
    def register_outputs(self, outputs: object) -> None:  # noqa: ARG002
        """Refused: the base registers the facts, once."""
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
