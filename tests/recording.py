"""Components under the SDK's mocks: every resource that they register, with what it was sent.

The SDK's mock monitor drops registered outputs, which stack policies evaluate; this one keeps them. What the engine
makes of it all is tests/engine's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf import empty_pb2
from pulumi.runtime import mocks, rpc
from pulumi.runtime.proto import resource_pb2


@dataclass
class Recorded:
    """A registered resource, as the engine would receive it."""

    type: str
    name: str
    parent: str
    inputs: dict[str, Any]
    outputs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The registered outputs; a component registers them once."""
    depends_on: frozenset[str] = frozenset()
    """Names of the resources on which the resource explicitly depends."""
    after: frozenset[tuple[str, str]] = frozenset()
    """The same resources, each by kind and name: resources of several kinds may have one name."""

    @property
    def kind(self) -> str:
        """The last part of the resource's type, such as Deployment."""
        return self.type.rpartition(":")[2]


class _Echo(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[Any, Any]]:
        inputs: Any = args.inputs  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return f"{args.name}-id", inputs

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]] | None]:
        raise AssertionError(f"{args.token} is called: components call no functions of providers")


class _Recorder(mocks.MockMonitor):
    def __init__(self) -> None:
        super().__init__(_Echo())
        self.recorded: dict[str, Recorded] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - the protocol's name
        response: Any = super().RegisterResource(request)  # pyright: ignore[reportUnknownMemberType]
        if request.type != "pulumi:pulumi:Stack":
            inputs = rpc.deserialize_properties(request.object)
            parent = request.parent.rpartition("::")[2]
            self.recorded[response.urn] = Recorded(
                request.type,
                request.name,
                parent,
                inputs,
                depends_on=_names(request.dependencies),
                after=frozenset(map(_kind_and_name, request.dependencies)),
            )
        return response

    def RegisterResourceOutputs(self, request: resource_pb2.RegisterResourceOutputsRequest) -> Any:  # noqa: N802
        if request.urn in self.recorded:
            self.recorded[request.urn].outputs.append(rpc.deserialize_properties(request.outputs))
        return empty_pb2.Empty()


def _names(urns: Iterable[str]) -> frozenset[str]:
    return frozenset(urn.rpartition("::")[2] for urn in urns)


def _kind_and_name(urn: str) -> tuple[str, str]:
    types, _, name = urn.rpartition("::")
    return types.rpartition(":")[2], name


def record(build: Callable[[], None], *, stack: str = "test") -> list[Recorded]:
    """Returns every resource that `build` registers, in arbitrary order."""
    monitor = _Recorder()
    mocks.set_mocks(monitor.mocks, project="quorate", stack=stack, preview=False, monitor=monitor)
    pulumi.runtime.test(build)()  # pyright: ignore[reportUnknownMemberType]
    return list(monitor.recorded.values())
