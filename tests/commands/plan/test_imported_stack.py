"""`quorate import`: the stack file on standard output has a plan, and the report is on standard error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.command_line import main

INVENTORY = """
[control]
ctl1 ansible_host=10.0.0.1
[compute]
cmp1 ansible_host=10.0.0.2
[barbican-api]
ctl1
[barbican-worker]
ctl1
[\x1b[31mred]
cmp1
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(form: str, text: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    Path("inventory").write_text(text)
    status = main(["import", form, "inventory"])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_stack_file_has_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run("kolla", INVENTORY.replace("\x1b[31m", ""), capsys)
    file = Path("Pulumi.made.yaml")
    file.write_text(out)
    assert {node.name for node in plan(load_file(file)).nodes} == {"master1", "master2", "master3", "ctl1", "cmp1"}
    assert status == 0
    assert out.startswith("# A stack that quorate import made of kolla's inventory")
    assert "left out: [barbican-api], [barbican-worker]: is not built" in err
    assert "unknown: [red]: " in err
    assert err.splitlines()[-1] == "inventory: 5 becomes, 0 same, 2 placeholder, 4 left out, 1 unknown"


def test_the_report_ends_with_what_needs_attention(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run("kolla", INVENTORY.replace("\x1b[31m", ""), capsys)
    fates = list(dict.fromkeys(line.split(":")[0] for line in err.splitlines()[:-1]))
    assert fates == ["becomes", "placeholder", "left out", "unknown"]


def test_a_refused_file_prints_its_errors_and_no_stack(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run("kolla", INVENTORY, capsys)
    assert (status, out) == (1, "")
    assert err.startswith("inventory line 10: ")
    assert "\x1b" not in err


def test_no_file_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    run("kolla", INVENTORY, capsys)
    assert [path.name for path in Path().iterdir()] == ["inventory"]


def directory(file: Path) -> None:
    file.mkdir()


def loop(file: Path) -> None:
    file.symlink_to(file)


def wrong_bytes(file: Path) -> None:
    file.write_bytes(b"[a]\n\xff")


def too_large(file: Path) -> None:
    file.write_text("#" * (5 << 20))


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (directory, "it is a directory"),
        (loop, "its symbolic links form a loop"),
        (wrong_bytes, "it is not UTF-8 text: line 2"),
        (too_large, "it has more than 4194304 bytes"),
    ],
)
def test_a_file_that_cannot_be_read(
    made: Callable[[Path], None], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made(Path("other"))
    assert main(["import", "kolla", "other"]) == 1
    assert words in capsys.readouterr().err


def test_an_unknown_deployer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("helm", "", capsys)[0] == 2
