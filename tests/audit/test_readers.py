"""Programs of others read the reports: sarif-tools reads SARIF, junitparser reads JUnit.

They have an environment of their own, of requirements-readers.lock, which the first test installs.
"""

from __future__ import annotations

import csv
import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from console.progress import Reporter
from policy.catalogue import BY_ID, RULES
from tests.audit.logs import log_of
from tests.audit.test_oscal import findings
from tests.audit.test_views import FOUR, STACK_FILE, UNDECIDED, WAIVED
from tests.stacks import ROOT
from toolchain.install import ensure_beside

VENV = ROOT / ".venv-readers"
COUNTS = """\
import json, sys
from junitparser import JUnitXml
report = JUnitXml.fromfile(sys.argv[1])
suites = [[each.name, each.tests, each.failures, each.errors, each.skipped] for each in report]
print(json.dumps([suites, report.tests, report.failures, report.errors, report.skipped]))
"""


@pytest.fixture(scope="module")
def programs() -> Path:
    """The folder of the programs."""
    ensure_beside(VENV, ROOT / "requirements-readers.lock", Reporter())
    return VENV / "bin"


def read(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_sarif_tools_lists_every_result_with_its_line(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "Pulumi.prod.yaml").write_text(STACK_FILE, encoding="utf-8")
    audit = findings(tmp_path, log_of(FOUR, "production", WAIVED))
    read(programs / "sarif", "csv", "--output", tmp_path / "seen.csv", tmp_path / "out" / "audit.sarif")
    rows = list(csv.DictReader((tmp_path / "seen.csv").read_text(encoding="utf-8").splitlines()))
    reported = [each for each in audit["findings"] if each["verdict"] in ("fail", "notEvaluated", "waived")]
    assert len(reported) == 4
    levels = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
    expected = Counter((levels[each["severity"]], each["rule"]) for each in reported)
    assert Counter((row["Severity"], row["Code"]) for row in rows) == expected
    assert {row["Tool"] for row in rows} == {"quorate"}
    for row in rows:
        assert row["Location"].endswith("Pulumi.prod.yaml")
        assert int(row["Line"]) >= 1
        assert BY_ID[row["Code"]].remediation in row["Description"]


def test_junitparser_counts_as_findings_json_does(programs: Path, tmp_path: Path) -> None:
    for events in (log_of(FOUR, "production", WAIVED), log_of(UNDECIDED)):
        audit = findings(tmp_path, events)
        seen = json.loads(read(programs / "python", "-c", COUNTS, tmp_path / "out" / "audit.junit.xml"))
        suites, *totals = seen
        assert [suite[0] for suite in suites] == [rule.id for rule in RULES]
        verdicts = Counter(each["verdict"] for each in audit["findings"])
        assert totals == counts(verdicts)
        for name, *numbers in suites:
            of_rule = Counter(each["verdict"] for each in audit["findings"] if each["rule"] == name)
            assert numbers == counts(of_rule), name


def counts(verdicts: Counter[Any]) -> list[int]:
    """Tests, failures, errors and skipped ones."""
    skipped = verdicts["waived"] + verdicts["notApplicable"]
    return [verdicts.total(), verdicts["fail"], verdicts["notEvaluated"], skipped]
