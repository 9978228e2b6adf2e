"""The stand-in for pulumi-command has the official provider's schema, which the SDK of the same version contains."""

from __future__ import annotations

from importlib import import_module
from typing import Any, cast

import pulumi
import pytest
from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.mocks import MockCallArgs, MockMonitor, MockResourceArgs, Mocks
from pulumi.runtime.proto import provider_pb2 as messages
from pulumi_command import remote

from tests.fakes import locked
from toolchain import command_provider
from toolchain.command_provider import COMMAND, CONNECTION, COPY, DEFAULTS, OPTIONAL, OUTPUTS, REPLACING, REQUIRED

TYPES: Any = import_module("pulumi._types")
RESOURCES: list[tuple[str, Any, Any]] = [
    (COMMAND, remote.Command, remote.CommandArgs),
    (COPY, remote.CopyToRemote, remote.CopyToRemoteArgs),
]


def names(input_type: Any) -> dict[str, str]:
    """Returns the schema's names of an input type's properties, by their names in Python."""
    return TYPES.input_type_py_to_pulumi_names(input_type)


def test_it_has_the_version_of_the_sdk() -> None:
    assert locked("pulumi-command") == command_provider.VERSION


@pytest.mark.parametrize(("token", "resource", "arguments"), RESOURCES)
def test_tokens_inputs_and_outputs(token: str, resource: Any, arguments: Any) -> None:
    assert resource.pulumi_type == token
    inputs = set(names(arguments).values())
    assert REQUIRED[token] | OPTIONAL[token] == inputs
    required = {names(arguments)[each] for each in required_arguments(arguments)}
    assert REQUIRED[token] == required
    assert OUTPUTS[token] == set(TYPES.resource_types(resource)) - inputs


def required_arguments(arguments: Any) -> set[str]:
    """Returns the arguments of a type's constructor that have no default."""
    return set(arguments.__init__.__annotations__) - set(arguments.__init__.__kwdefaults__ or {})


@pytest.mark.parametrize(
    ("connection", "properties"),
    [(remote.ConnectionArgs, CONNECTION | {"proxy"}), (remote.ProxyConnectionArgs, CONNECTION)],
)
def test_properties_and_defaults_of_a_connection(connection: Any, properties: frozenset[str]) -> None:
    schema = names(connection)
    assert set(schema.values()) == properties
    given: dict[str, Any] = connection(host="a").__dict__
    defaults = {schema.get(name, name): value for name, value in given.items()}
    assert defaults == {"host": "a", **DEFAULTS}


class Answers(Mocks):
    """Answers every registration with the inputs."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        return args.name, cast("Any", args).inputs

    def call(self, args: MockCallArgs) -> tuple[dict[str, Any], None]:  # noqa: ARG002 - of the interface
        return {}, None


class Registrations(MockMonitor):
    """Keeps what the SDK asks the engine to register."""

    def __init__(self) -> None:
        super().__init__(Answers())
        self.requests: dict[str, Any] = {}

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802 - of the protocol
        self.requests[request.type] = request
        answer: Any = super()
        return answer.RegisterResource(request)


def test_secrets_and_what_replaces() -> None:
    """The connection is the only secret that the SDK adds, and triggers the only input that replaces."""
    monitor, runtime = Registrations(), cast("Any", pulumi.runtime)
    runtime.set_mocks(monitor.mocks, monitor=monitor)

    @runtime.test
    def program() -> pulumi.Output[Any]:
        connection = remote.ConnectionArgs(host="a")
        command = remote.Command("a", connection=connection, create="a", stdin="a")
        source = pulumi.StringAsset("a")
        copy = remote.CopyToRemote("a", connection=connection, source=source, remote_path="a")
        return pulumi.Output.all(command.urn, copy.urn)

    program()
    for token in (COMMAND, COPY):
        request = monitor.requests[token]
        assert list(request.additionalSecretOutputs) == ["connection"]
        assert list(request.replaceOnChanges) == [f"{REPLACING}[*]"]
        secret = [key for key, value in request.object.fields.items() if "value" in value.struct_value.fields]
        assert secret == ["connection"]


@pytest.mark.parametrize("token", [COMMAND, COPY])
def test_missing_and_unknown_inputs_are_refused(token: str) -> None:
    news = Struct()
    news.update({"connection": {"host": "a"}, "dir": "a"})
    request = messages.CheckRequest(urn=f"urn:pulumi:dev::quorate::{token}::a", news=news)
    provider = command_provider.Provider("127.0.0.1:1")
    response = provider.Check(request, None)  # pyright: ignore[reportArgumentType] - the call does not use it
    missing = [(key, "missing") for key in sorted(REQUIRED[token] - {"connection"})]
    assert [(each.property, each.reason) for each in response.failures] == sorted([("dir", "unknown"), *missing])
    assert response.inputs["connection"] == {"host": "a", **DEFAULTS}
