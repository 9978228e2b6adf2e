"""The name of the stack file is in each message about it once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commands.plan import stack_check
from console.errors import UserError
from tests.blueprint.stackfile.bad_inputs.case import Bad, stack

NAME = "Pulumi.test.yaml"


def checked(root: Path) -> None:
    assert stack_check.check(root, [Path(NAME)]) == 1


def planned(root: Path) -> None:
    assert stack_check.show_plan(root, "test", as_json=False) == 1


def validated(root: Path) -> None:
    with pytest.raises(UserError):
        stack_check.validated_stack(root, "test")


BAD = {
    "no YAML": Bad(b"config:\n  a: [\n", "is not valid YAML: line 3, column 1: did not find"),
    "bytes": Bad(b"\xff", "cannot be read: it is not UTF-8 text"),
    "no config": Bad(b"quorate:profile: lab\n", "has no 'config:' mapping; write it"),
    "no topology": Bad(stack(topology="ccp.yaml").encode(), "quorate:topology (ccp.yaml): cannot be read: no such"),
    "no architecture": Bad(stack(architecture="./own.yaml").encode(), "quorate:architecture: own.yaml: cannot be"),
    "a key": Bad(stack(profile="x").encode(), "quorate:profile: 'x' is not known; write"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=list(BAD))
@pytest.mark.parametrize("command", [checked, planned, validated])
def test_a_message_has_each_file_once(
    command: Callable[[Path], None],
    bad: Bad,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert isinstance(bad.content, bytes)
    (tmp_path / NAME).write_bytes(bad.content)
    command(tmp_path)
    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith(f"{NAME}: {bad.said}"), first
    assert not [name for name in (NAME, "ccp.yaml", "own.yaml") if first.count(name) > 1]
