"""The program of the jobs: what it does by its argument, and what it prints of an error."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import nullcontext

import pytest

from openstack.scripts.galera_backup import __main__ as program
from openstack.scripts.galera_backup.backup_files import Refused


def raising(error: Exception) -> Callable[[str], None]:
    def operation(_settings: str) -> None:
        raise error

    return operation


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "settings", lambda: "settings")
    monkeypatch.setattr(program, "alone", nullcontext)


@pytest.mark.parametrize(("argument", "operation"), [("backup", "take"), ("restore", "restore"), ("test", "compare")])
def test_an_argument_names_an_operation(monkeypatch: pytest.MonkeyPatch, argument: str, operation: str) -> None:
    did: list[tuple[str, str]] = []
    for name in ("take", "restore", "compare"):
        monkeypatch.setattr(program, name, lambda settings, name=name: did.append((name, settings)))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert program.main([argument]) == 0
    assert did == [(operation, "settings")]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (Refused("the backup is of another cluster"), ["the backup is of another cluster"]),
        (OSError(28, "No space left on device"), ["[Errno 28] No space left on device"]),
        (
            subprocess.CalledProcessError(3, ["mariadb-backup", "--backup", "--user=x"], "", "one\ntwo\n"),
            ["mariadb-backup --backup … failed with 3:", "one", "two"],
        ),
        (subprocess.CalledProcessError(3, ["tar"], "only here"), ["tar … failed with 3:", "only here"]),
        (
            subprocess.CalledProcessError(1, ["tar"], "", "\n".join(map(str, range(20)))),
            ["tar … failed with 1:", *map(str, range(5, 20))],
        ),
    ],
)
def test_an_error_is_printed_and_is_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], error: Exception, told: list[str]
) -> None:
    monkeypatch.setattr(program, "take", raising(error))
    assert program.main(["backup"]) == 1
    assert capfd.readouterr().err.removeprefix("galera-backup: ").splitlines() == told
