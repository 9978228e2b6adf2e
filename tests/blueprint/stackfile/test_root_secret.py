"""The root secret of a stack without one: who gets a generated one, and the message for other stacks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.problems import InvalidStackError
from blueprint.stackfile.root_secret import ROOT_IS_MISSING, STATE, WithoutRootSecret
from files import generated_secret
from tests.stacks import full_size, parsed

LAB: dict[str, Any] = full_size("100", profile="lab")
FILE = Path("build/dev/.root-secret")


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FILE.parent.mkdir(parents=True)


def lab(**others: Any) -> WithoutRootSecret:
    values: dict[str, Any] = {"settings": parsed(LAB), "stack": "dev", "backend": STATE.resolve().as_uri(), **others}
    return WithoutRootSecret(**values)


def test_a_rendered_lab_has_a_generated_one() -> None:
    assert lab().file == FILE
    assert lab().generated() is None
    generated_secret.create(FILE)
    assert lab().generated() == generated_secret.read(FILE)


@pytest.mark.parametrize(
    ("backend", "own"),
    [
        (None, True),
        ("", True),
        ("file://{state}", True),
        ("file://elsewhere{state}", False),
        ("s3://{state}", False),
        ("file:///srv/state", False),
    ],
)
def test_users_of_a_shared_state_get_none(backend: str | None, own: bool) -> None:
    generated_secret.create(FILE)
    url = backend and backend.format(state=STATE.resolve())
    assert bool(lab(backend=url).generated()) is own


@pytest.mark.parametrize(
    "others",
    [
        {"settings": parsed(full_size("100"))},
        {"settings": parsed(LAB).model_copy(update={"target": "live"})},
        {"has_secrets": True},
    ],
)
def test_no_other_stack_gets_one(others: dict[str, Any]) -> None:
    assert lab(**others).missing() == ROOT_IS_MISSING
    generated_secret.create(FILE)
    assert lab(**others).generated() is None
    only = f"; {FILE} is used only by a rendered lab without other secrets in {STATE}"
    assert lab(**others).missing() == ROOT_IS_MISSING + only


def test_a_lab_is_told_how_to_get_one() -> None:
    advice = f", or run 'quorate up --stack dev', which generates one in {FILE}"
    assert lab().missing() == ROOT_IS_MISSING + advice
    assert lab().placeholders().endswith(f"quorate:rootSecret {ROOT_IS_MISSING}{advice}")


def _directory() -> None:
    FILE.mkdir()


def _empty() -> None:
    FILE.write_text("\n")


@pytest.mark.parametrize(("prepare", "what"), [(_empty, "is empty"), (_directory, "Is a directory")])
def test_a_damaged_one_is_refused(prepare: Any, what: str) -> None:
    prepare()
    with pytest.raises(InvalidStackError) as error:
        lab().generated()
    advice = "restore it from a backup, or start over with 'make clean'; a rendered lab loses no data"
    assert list(map(str, error.value.problems)) == [f"{FILE}: {what}; {advice}"]
