"""compliance-trestle on audits: its models write them, its command line validates them, and it refuses a broken one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from audit import oscal
from commands.review import audit_report, oscal_results
from console.errors import UserError
from console.programs import ProgramError
from console.progress import Reporter
from tests.audit.logs import Event, log_of
from tests.audit.test_oscal import findings
from tests.audit.test_views import FOUR, UNDECIDED, WAIVED
from tests.policy.world import Given, whole_stack
from toolchain.install import ensure_beside

ODD = [*whole_stack(), Given("quorate:k8s:Etcd", 'a\x1bb\n<&"é ', {"members": []})]
AUDITS: dict[str, list[Event]] = {
    "waived": log_of(FOUR, "production", WAIVED),
    "undecided": log_of(UNDECIDED),
    "odd": log_of(ODD),
    "unreliable": [],
}


@pytest.fixture(scope="module")
def trestle() -> Callable[..., None]:
    ensure_beside(oscal_results.VENV, oscal_results.LOCK, Reporter())
    return oscal_results.trestle


@pytest.fixture
def workspace(trestle: Callable[..., None], tmp_path: Path) -> Path:
    """A workspace of trestle, as an auditor has it."""
    there = tmp_path / "workspace"
    there.mkdir()
    trestle(there, "init", "--local")
    return there


def put(document: object, workspace: Path, name: str) -> None:
    folder = workspace / "assessment-results" / name
    folder.mkdir()
    (folder / "assessment-results.json").write_text(json.dumps(document), encoding="utf-8")


def test_trestle_validates_every_kind_of_audit(trestle: Callable[..., None], workspace: Path, tmp_path: Path) -> None:
    for name, events in AUDITS.items():
        put(oscal.write(findings(tmp_path, events)), workspace, name)
    trestle(workspace, "validate", "--all")


def test_trestle_refuses_an_id_that_occurs_twice(trestle: Callable[..., None], workspace: Path, tmp_path: Path) -> None:
    document = oscal.write(findings(tmp_path, AUDITS["waived"]))
    observations = document["assessment-results"]["results"][0]["observations"]
    observations[0]["uuid"] = observations[1]["uuid"]
    put(document, workspace, "twice")
    with pytest.raises(ProgramError):
        trestle(workspace, "validate", "--all")


@pytest.mark.usefixtures("trestle")
def test_the_models_read_and_write_the_same_document(tmp_path: Path) -> None:
    audit = findings(tmp_path, AUDITS["waived"])
    oscal_results.convert(tmp_path / "out")
    assert json.loads((tmp_path / "out" / oscal.NAME).read_text(encoding="utf-8")) == oscal.write(audit)


@pytest.mark.usefixtures("trestle")
def test_a_document_that_the_models_refuse_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    findings(tmp_path, AUDITS["waived"])
    monkeypatch.setattr(oscal, "PROPERTIES", "no address")
    with pytest.raises(UserError, match=r"(?s)refuses the document.*URL"):
        oscal_results.convert(tmp_path / "out")
    assert not (tmp_path / "out" / oscal.NAME).exists()


def test_an_audit_without_a_report_is_not_converted(tmp_path: Path) -> None:
    report = tmp_path / "build" / "prod" / "audit"
    with pytest.raises(UserError, match="wrote no report"):
        audit_report.written(tmp_path, "prod", 0)
    report.mkdir(parents=True)
    (report / "findings.json").write_text("{}", encoding="utf-8")
    assert audit_report.written(tmp_path, "prod", 0) == report
    with pytest.raises(UserError, match="wrote no report"):
        oscal_results.write(tmp_path, "prod", (report / "findings.json").stat().st_mtime + 1)
