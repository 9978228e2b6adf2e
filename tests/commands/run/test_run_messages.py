"""Tests of the warnings and errors that are shown: each once, and none is lost but those about meant secrets."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from commands.run.run_messages import RunMessages
from policy.engine.events import Event
from tests.commands.run.events import begins, message, started, urn

SECRET, PROVIDER = "kubernetes:core/v1:Secret", "pulumi:providers:kubernetes"
WILL = "rendered YAML will contain a secret value in plaintext\n"
FILE = "rendered file {} contains a secret value in plaintext\n"
MEANT = "build/dev/secrets/manifests/1-manifest/v1-secret-nova-{}.yaml"


def messages(*events: Event) -> RunMessages:
    found = RunMessages(PurePosixPath("build/dev/secrets"))
    for event in events:
        found.take(event)
    return found


def test_a_warning_is_shown_once_with_its_number_and_its_resources() -> None:
    said = messages(
        message("warning", "reduced footprint\n"),
        *(message("warning", "is deprecated", urn(SECRET, name)) for name in "abcda"),
        begins(),
        message("warning", "reduced footprint\n"),
        message("warning", "is deprecated", urn(SECRET, "a")),
        message("info#err", "main.py:3: DeprecationWarning: bad \x1b[31mname\n  use()\n"),
        message("info#err", "  use()\n\n"),
        message("info", "rendered a file"),
        message("debug", "hunter2"),
        message("warning", "[1/2] waiting", urn(SECRET, "a"), is_status=True),
        Event({"sequence": 2, "stdoutEvent": {"message": "a warning of the command line\n"}}),
    )
    assert list(said.warnings()) == [
        "reduced footprint",
        "4 times: is deprecated (Secret a, Secret b, Secret c and 1 more)",
        "a warning of the command line",
    ]
    assert said.program == [r"main.py:3: DeprecationWarning: bad \x1b[31mname", "  use()"]


def rendered(name: str, directory: str, file: str) -> list[Event]:
    """The events of a Secret that is rendered by a provider into a directory."""
    provider = f"{urn(PROVIDER, 'render')}::id"
    return [
        started("create", PROVIDER, "render", inputs={"renderYamlToDirectory": directory}),
        message("warning", WILL, urn(SECRET, name)),
        started("create", SECRET, name, provider=provider),
        message("warning", FILE.format(file), urn(SECRET, name)),
    ]


def test_secrets_that_are_rendered_where_they_are_meant_to_be_are_only_counted() -> None:
    events = [event for name in "abc" for event in rendered(name, "build/dev/secrets/manifests", MEANT.format(name))]
    said = messages(*events, begins(), *events)
    assert list(said.warnings()) == []
    assert said.rendered_secrets == 3


@pytest.mark.parametrize(
    ("directory", "file"),
    [
        ("build/dev/manifests", "build/dev/manifests/1-manifest/v1-secret-nova-a.yaml"),
        ("build/dev/secrets/../manifests", "build/dev/secrets/../manifests/v1-secret-nova-a.yaml"),
        ("build/prod/secrets", "build/prod/secrets/v1-secret-nova-a.yaml"),
        ("build/dev/secrets-of-mine", "build/dev/secrets-of-mine/v1-secret-nova-a.yaml"),
    ],
)
def test_a_secret_that_is_rendered_elsewhere_is_warned_of(directory: str, file: str) -> None:
    said = messages(*rendered("a", directory, file))
    assert list(said.warnings()) == [f"{WILL.strip()} (Secret nova/a)", f"{FILE.format(file).strip()} (Secret nova/a)"]
    assert said.rendered_secrets == 0


def test_a_secret_of_an_unknown_provider_is_warned_of() -> None:
    said = messages(message("warning", WILL, urn(SECRET, "a")))
    assert list(said.warnings()) == [f"{WILL.strip()} (Secret a)"]


def test_errors_name_their_resource_and_those_of_an_earlier_phase_are_over() -> None:
    said = messages(
        message("error", "of the preview"),
        begins(),
        started("create", SECRET, "a"),
        message("error", "is forbidden\n", urn(SECRET, "a")),
        message("error", "no resource"),
        message("error", "update failed\n"),
    )
    assert list(said.errors()) == ["Secret nova/a: is forbidden", "no resource"]
    assert [step.urn for step in said.failing] == [urn(SECRET, "a")]


@pytest.mark.parametrize("canceled", ["context canceled", "rpc error: code = Canceled desc = context canceled"])
def test_a_canceled_call_of_the_policy_pack_is_no_cause_beside_another_error(canceled: str) -> None:
    stopped = message("error", f"failed to run policy: {canceled}\n", urn("pulumi:pulumi:Stack", "dev"))
    failed = message("error", "is forbidden\n", urn(SECRET, "a"))
    assert list(messages(stopped, failed).errors()) == ["Secret a: is forbidden"]
    (alone,) = messages(stopped).errors()
    assert alone.endswith(f"failed to run policy: {canceled}")
    another = message("error", "failed to run policy: the pack ended\n", urn("pulumi:pulumi:Stack", "dev"))
    assert len(list(messages(another, failed).errors())) == 2
