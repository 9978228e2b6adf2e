"""Tests of the CI workflows: the linters report nothing, and further requirements hold that no linter checks."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import yaml

from console.errors import UserError
from console.programs import ProgramError
from console.progress import Reporter
from tests.fakes import script
from toolchain import workflows
from toolchain.go_build import Go

FILES = sorted(workflows.WORKFLOWS.glob("*.yml"))
PINNED = re.compile(r"uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+){2}$")
WRITES = {
    "comment": {"pull-requests"},
    "code-scanning": {"security-events"},
    "publish": {"contents", "id-token", "attestations"},
}
"""Rights to write, by job."""


@pytest.fixture(scope="module")
def actionlint() -> Path:
    try:
        return workflows.ensure(Reporter())
    except (UserError, ProgramError) as trouble:
        pytest.skip(f"actionlint cannot be had here: {trouble}")


def test_both_are_content_with_our_workflows(actionlint: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert workflows.check(actionlint, FILES) == 0, capfd.readouterr()


def test_both_complain_of_a_broken_one(actionlint: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A misspelt context for actionlint; a title run as shell code and a tag that may move for zizmor."""
    broken = tmp_path / ".github" / "workflows" / "broken.yml"
    broken.parent.mkdir(parents=True)
    shutil.copyfile(workflows.WORKFLOWS / "preview.yml", broken)
    text = broken.read_text(encoding="utf-8")
    text = text.replace("download-artifact@634f93cb2916e3fdff6788551b99b062d0335ce0", "download-artifact@v5").replace(
        "matrix.stack }}", "matrix.stak }}"
    )
    text = text.replace("run: bash .ci/run", 'run: echo "${{ github.event.pull_request.title }}"')
    broken.write_text(text, encoding="utf-8")
    assert workflows.check(actionlint, [broken]) == 1
    lint_alone = capfd.readouterr().out
    assert 'property "stak" is not defined' in lint_alone
    assert workflows.check(None, [broken]) == 1
    audit = capfd.readouterr().out
    assert "template-injection" in audit
    assert "unpinned-uses" in audit


def test_a_damaged_actionlint_is_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = script(tmp_path / "bin", "go", 'while [ "$1" != -o ]; do shift; done\necho built >"$2"')
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(workflows, "ensure_go", Mock(return_value=Go(go, (1, 26), "linux/amd64")))
    built = workflows.ensure(Reporter())
    for damage in (b"", b"half"):
        built.write_bytes(damage)
        assert workflows.ensure(Reporter()) == built
        assert built.read_bytes() == b"built\n"
    script(tmp_path / "bin", "go", "exit 1")
    assert workflows.ensure(Reporter()) == built


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_right_is_given_that_no_job_asks_for(file: Path) -> None:
    document: dict[Any, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    triggers = document[True]  # YAML 1.1 reads the key `on` so
    assert document["permissions"] == {}
    assert "pull_request_target" not in triggers
    assert "secrets." not in file.read_text(encoding="utf-8")
    for name, job in document["jobs"].items():
        writes = {right for right, level in job["permissions"].items() if level == "write"}
        assert writes == WRITES.get(name, set())
        # Whoever may write runs nothing of the pull request, or of the tag.
        assert not (writes and any("run" in step or "checkout" in step.get("uses", "") for step in job["steps"]))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_action_is_pinned_by_its_commit(file: Path) -> None:
    uses = [
        line.strip().removeprefix("- ") for line in file.read_text(encoding="utf-8").splitlines() if "uses:" in line
    ]
    assert uses
    assert [line for line in uses if not PINNED.fullmatch(line)] == []


def test_every_stack_of_the_repository_is_reviewed() -> None:
    document = yaml.safe_load((workflows.WORKFLOWS / "preview.yml").read_text(encoding="utf-8"))
    root = workflows.ROOT
    stacks = {path.name.split(".")[1] for path in root.glob("Pulumi.*.yaml")}
    stacks |= {path.stem for path in (root / "examples").glob("*.yaml")}
    for job in ("review", "comment", "code-scanning"):
        assert set(document["jobs"][job]["strategy"]["matrix"]["stack"]) == stacks
