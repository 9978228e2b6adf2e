"""The audit of real previews."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from audit.__main__ import main
from policy.catalogue import RULES
from tests.audit.logs import TODAY, log_of, written
from tests.policy.conftest import ROOT, Preview, Previews
from tests.policy.world import UNKNOWN, Given, machine, quorum, whole_stack, with_files

PRODUCTION = {"quorate:profile": "production"}


def audited(result: Preview, directory: Path) -> tuple[int, dict[str, Any]]:
    code = main(["--events", str(result.log), "--stack", "test", "--out", str(directory)])
    return code, json.loads((directory / "findings.json").read_text(encoding="utf-8"))


def test_the_synthetic_logs_say_what_real_ones_do(preview: Previews, tmp_path: Path) -> None:
    given = [quorum(apart=()) if each.name == "rabbitmq" else each for each in whole_stack()]
    began = datetime.now(UTC).date()
    code, real = audited(preview(given, PRODUCTION), tmp_path / "real")
    assert began <= date.fromisoformat(real["today"]) <= datetime.now(UTC).date()
    made = written(log_of(given), tmp_path / "made.jsonl")
    assert main(["--events", str(made), "--stack", "test", "--out", str(tmp_path / "made")]) == code == 1
    synthetic = json.loads((tmp_path / "made/findings.json").read_text(encoding="utf-8"))
    assert synthetic["today"] == TODAY.isoformat()
    for document in (real, synthetic):
        document["today"] = None
        document["generatedBy"] = None
        for counted in ("resources", "types"):  # a real preview has providers as well
            assert document["summary"].pop(counted)
    assert real == synthetic


def waived(result: Preview, directory: Path, rule: str, verdict: str) -> list[dict[str, Any]]:
    """Findings of a rule in an audit of a preview."""
    _, document = audited(result, directory)
    return [each for each in document["findings"] if each["rule"] == rule and each["verdict"] == verdict]


FOUR = [quorum(replicas=4, pools=["rabbitmq", "spare"]) if each.name == "rabbitmq" else each for each in whole_stack()]
NODES = [*FOUR, with_files(machine("rabbitmq-4", "spare"))]
"""The fourth member has a pool of its own: Neutron's agents could be on it without a Neutron server otherwise."""


IN_TIME = (datetime.now(UTC).date() + timedelta(days=90)).isoformat()


def waiver(rule: str, expires: str = IN_TIME, resource: str = "rabbit*", approved_by: str = "Grace") -> dict[str, str]:
    return {
        "rule": rule,
        "resource": resource,
        "reason": "a move",
        "owner": "Ada",
        "expires": expires,
        "approvedBy": approved_by,
    }


WAIVERS = [waiver(rule) for rule in ("rabbitmq-size", "quorum-larger-than-row", "budget-keeps-majority")]


def test_a_waiver_lets_an_update_pass_and_is_told_everywhere(preview: Previews, tmp_path: Path) -> None:
    config = {**PRODUCTION, "quorate:waivers": WAIVERS}
    stopped = preview(NODES, PRODUCTION)
    assert set(stopped.violations()) == {"mandatory rabbitmq-size", "advisory quorum-larger-than-row"}
    result = preview(NODES, config)
    assert result.code == 0, result.output
    assert (
        f"waived until {IN_TIME} by Ada, approved by Grace (a move): StatefulSet rabbitmq: 4 members" in result.output
    )
    (finding,) = waived(result, tmp_path / "out", "rabbitmq-size", "waived")
    assert finding["waiver"] == WAIVERS[0]
    (unused,) = waived(result, tmp_path / "out", "waiver-is-used", "fail")
    said = "quorate:waivers[2] (budget-keeps-majority, rabbit*): accepts no failure of budget-keeps-majority on rabbit*"
    assert unused["message"].startswith(said)
    for form in ("audit.html", "audit.md", "audit.sarif", "audit.junit.xml"):
        text = (tmp_path / "out" / form).read_text(encoding="utf-8")
        assert all(said in text for said in ("rabbitmq-size", "a move", "Ada", IN_TIME)), form


def test_an_expired_waiver_lets_nothing_pass(preview: Previews, tmp_path: Path) -> None:
    given = [waiver(rule, "2020-01-01") for rule in ("rabbitmq-size", "rabbitmq-sise")]
    result = preview(NODES, {**PRODUCTION, "quorate:waivers": given})
    assert result.code != 0
    assert set(result.violations()) == {
        "mandatory rabbitmq-size",
        "advisory quorum-larger-than-row",
        "advisory waiver-not-expired",
        "mandatory waiver-names-rule",
    }
    assert waived(result, tmp_path / "out", "rabbitmq-size", "waived") == []
    assert "has no effect: expired, a failure again since 2020-01-02" in result.output


def test_a_waiver_cannot_waive_itself_or_everything(preview: Previews, tmp_path: Path) -> None:
    given = [
        waiver("waiver-names-rule", resource="quorate-test"),
        waiver("waiver-names-rule", resource="*"),
        waiver("rabbitmq-size", resource="*"),
        waiver("instances-match-row", (datetime.now(UTC).date() + timedelta(days=181)).isoformat()),
        waiver("rabbitmq-size", approved_by="ada"),
    ]
    del given[4]["approvedBy"]
    result = preview(NODES, {**PRODUCTION, "quorate:waivers": given})
    assert result.code != 0
    assert set(result.violations()) == {
        "mandatory rabbitmq-size",
        "advisory quorum-larger-than-row",
        "mandatory waiver-names-rule",
        "mandatory waiver-within-limits",
        "mandatory waiver-is-approved",
    }
    assert waived(result, tmp_path / "out", "waiver-names-rule", "waived") == []


UNDECIDED = [quorum(replicas=UNKNOWN) if each.name == "rabbitmq" else each for each in whole_stack()]
PACKS = Path(__file__).parent / "packs"
FAULTS: dict[str, tuple[list[Given], Path, set[str], str]] = {
    "an unknown value": (UNDECIDED, ROOT / "policy", {"rabbitmq-size"}, "spec.replicas of rabbitmq cannot be known"),
    "a rule that raises": (whole_stack(), PACKS / "raising", {"galera-size"}, "failed with ZeroDivisionError"),
    "a pack that does not start": (
        whole_stack(),
        PACKS / "broken",
        {rule.id for rule in RULES},
        "the policy pack did not evaluate the stack",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_not_evaluated_is_named_in_every_form(fault: str, preview: Previews, tmp_path: Path) -> None:
    given, pack, rules, reason = FAULTS[fault]
    all_waived = [waiver(rule.id, resource=name) for rule in RULES for name in ("rabbit*", "mysqld")]
    result = preview(given, {**PRODUCTION, "quorate:waivers": all_waived}, pack=pack)
    assert result.code != 0
    code, document = audited(result, tmp_path / "out")
    assert code == 1
    assert document["summary"]["verdict"] == "fail"
    undecided = {each["rule"] for each in document["findings"] if each["verdict"] == "notEvaluated"}
    assert rules <= undecided
    failed = {each["rule"] for each in document["findings"] if each["verdict"] == "fail"}
    forms = {
        form: (tmp_path / "out" / form).read_text(encoding="utf-8")
        for form in ("audit.html", "audit.md", "audit.sarif", "audit.junit.xml")
    }
    for form, text in forms.items():
        assert reason in text, form
    for rule in undecided:
        assert f'href="#{rule}">{rule}</a>' in forms["audit.html"]
        row = next(line for line in forms["audit.md"].splitlines() if line.startswith(f"| {rule}: "))
        assert "| **not evaluated** |" in row or (rule in failed and "| **fail** |" in row)  # the worst of a rule
        suite = forms["audit.junit.xml"].partition(f'<testsuite name="{rule}"')[2].partition("</testsuite>")[0]
        assert "<error " in suite, rule
        results = json.loads(forms["audit.sarif"])["runs"][0]["results"]
        assert any(each["ruleId"] == rule and each["message"]["text"].startswith("not evaluated: ") for each in results)


@pytest.mark.parametrize("given", [[Given("kubernetes:apps/v1:Deployment", "broken", {"metadata": 5})]])
def test_a_preview_that_fails_by_itself(given: list[Given], preview: Previews, tmp_path: Path) -> None:
    result = preview(given, PRODUCTION)
    assert result.code != 0
    code, document = audited(result, tmp_path / "out")
    assert code == 1
    assert any("the preview failed: " in problem for problem in document["summary"]["problems"])
