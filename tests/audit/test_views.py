"""SARIF and JUnit say what findings.json says, in their own forms and valid by their own rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from pydantic_sarif.model import (  # pyright: ignore[reportMissingTypeStubs]
    StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif,
)

from audit.__main__ import main
from policy.catalogue import RULES
from tests.audit.logs import Event, log_of, written
from tests.policy.waivers import written_waiver
from tests.policy.world import UNKNOWN, Given, quorum, whole_stack

STACK_FILE = """\
config:
  quorate:profile: production
  quorate:architecture: "100"
  quorate:waivers:
    - {rule: rabbitmq-size, resource: "rabbit*", reason: "a move", owner: Ada, expires: 2027-01-31}
    - {rule: rabbit-size, resource: "rabbit*", reason: "a move", owner: Ada, expires: 2027-01-31}
  quorate:servers:
    - name: rabbitmq-[1-3]
      address: 10.0.0.1
  quorate:services:
    keystone: {replicas: 3}
    rabbitmq:
      replicas: 4
"""


def but(name: str, changed: Given) -> list[Given]:
    return [changed if each.name == name else each for each in whole_stack()]


WAIVED = written_waiver("rabbitmq-size", "rabbit*", "a fifth server is ordered", "Ada", date(2027, 1, 31), "Grace")
MISSPELT = written_waiver("rabbit-size", "rabbit*", "a move", "Ada", date(2027, 1, 31))
FOUR = but("rabbitmq", quorum(replicas=4))
UNDECIDED = but("rabbitmq", quorum(replicas=UNKNOWN))


class Views:
    """The documents of one audit: findings.json, SARIF and JUnit."""

    def __init__(self, directory: Path) -> None:
        self.findings: list[dict[str, Any]] = json.loads((directory / "findings.json").read_text())["findings"]
        self.sarif: dict[str, Any] = json.loads((directory / "audit.sarif").read_text(encoding="utf-8"))
        Sarif.model_validate(self.sarif)  # the official schema, as models that refuse an unknown key
        self.run: dict[str, Any] = self.sarif["runs"][0]
        self.xml = Xml.fromstring((directory / "audit.junit.xml").read_text(encoding="utf-8"))  # noqa: S314 - our own

    def results(self, rule: str) -> list[dict[str, Any]]:
        return [each for each in self.run["results"] if each["ruleId"] == rule]

    def line(self, rule: str) -> int:
        (result,) = self.results(rule)
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"] == {"uri": str(self.file), "uriBaseId": "%SRCROOT%"}
        return place["region"]["startLine"]

    file = Path("Pulumi.prod.yaml")

    def cases(self, rule: str) -> dict[str, str]:
        """Marks of a suite's cases, by the name of the resource; empty for a pass."""
        suite = next(each for each in self.xml if each.get("name") == rule)
        return {
            (case.get("name") or "").rpartition("::")[2]: next((mark.tag for mark in case), "")
            for case in suite.iter("testcase")
        }


See = Callable[..., Views]


@pytest.fixture
def see(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> See:
    """Returns the documents of an audit of an event log with a stack file."""
    monkeypatch.chdir(tmp_path)
    for name in ("SERVER_URL", "REPOSITORY", "SHA"):
        monkeypatch.delenv(f"GITHUB_{name}", raising=False)
    (tmp_path / Views.file).write_text(STACK_FILE, encoding="utf-8")

    def views(events: list[Event]) -> Views:
        log = written(events, tmp_path / "events.jsonl")
        main(["--events", str(log), "--stack", "prod", "--out", "out", "--stack-file", str(Views.file)])
        return Views(tmp_path / "out")

    return views


def test_every_violation_is_a_result_and_nothing_else(see: See) -> None:
    seen = see(log_of(FOUR))
    told = {(each["rule"], each["resource"]) for each in seen.findings if each["verdict"] == "fail"}
    assert told
    results = {
        (each["ruleId"], each["locations"][0]["logicalLocations"][0]["fullyQualifiedName"])
        for each in seen.run["results"]
    }
    assert results == told
    assert see(log_of(whole_stack())).run["results"] == []


def test_rules_stand_in_the_log_with_what_a_reader_needs(see: See) -> None:
    rules = {each["id"]: each for each in see(log_of(FOUR)).run["tool"]["driver"]["rules"]}
    assert list(rules) == [rule.id for rule in RULES]
    galera = rules["galera-size"]
    assert galera["properties"]["security-severity"] == "9.5"
    assert galera["defaultConfiguration"] == {"level": "error"}
    assert "- 004, 2.2.5 (5): the size of the [Galera] cluster should be odd" in galera["help"]["markdown"]
    levels = {each["properties"]["security-severity"]: each["defaultConfiguration"]["level"] for each in rules.values()}
    assert levels.items() <= {"9.5": "error", "8.0": "error", "5.5": "warning", "2.0": "note"}.items()
    assert "helpUri" not in galera, "where the pages are is known on GitHub's runners alone"


def test_a_rule_links_to_its_page_where_that_is_known(see: See, monkeypatch: pytest.MonkeyPatch) -> None:
    known: Mapping[str, str] = {"SERVER_URL": "https://git.example", "REPOSITORY": "a/b", "SHA": "c0ffee"}
    for name, value in known.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    rule = see(log_of(FOUR)).run["tool"]["driver"]["rules"][0]
    assert rule["helpUri"] == f"https://git.example/a/b/blob/c0ffee/docs/rules.md#{rule['id']}"


def test_a_fingerprint_is_of_rule_and_resource_not_of_the_message(see: See) -> None:
    def marks(replicas: int) -> dict[str, list[str]]:
        run = see(log_of(but("rabbitmq", quorum(replicas=replicas)))).run
        found: dict[str, list[str]] = {}
        for each in run["results"]:
            found.setdefault(each["ruleId"], []).append(each["partialFingerprints"]["quorateRuleAndResource/v1"])
        return found

    four, six = marks(4), marks(6)
    assert four["rabbitmq-size"] == six["rabbitmq-size"]
    everything = [mark for several in four.values() for mark in several]
    assert len(everything) == len(set(everything))


def test_a_waived_failure_is_suppressed_with_its_reason(see: See) -> None:
    (result,) = see(log_of(FOUR, "production", WAIVED)).results("rabbitmq-size")
    assert result["suppressions"] == [
        {
            "kind": "external",
            "justification": "waived until 2027-01-31 by Ada, approved by Grace (a fifth server is ordered)",
        }
    ]
    (bare,) = see(log_of(FOUR)).results("rabbitmq-size")
    assert "suppressions" not in bare


def test_positions_are_the_lines_that_somebody_would_change(see: See) -> None:
    lines = STACK_FILE.splitlines()

    def at(text: str) -> int:
        return next(number for number, line in enumerate(lines, start=1) if text in line)

    seen = see(log_of(FOUR, "production", WAIVED, MISSPELT))
    assert seen.line("rabbitmq-size") == at("    rabbitmq:") + 1, "the only setting of the entry"
    assert seen.line("waiver-names-rule") == at("rabbit-size")
    galera = but("mysqld", quorum("mysqld", "mysqld-server", replicas=4))
    assert see(log_of(galera)).line("galera-size") == at("quorate:architecture"), "no entry of its own"


def test_junit_has_a_case_for_each_rule_and_resource(see: See) -> None:
    seen = see(log_of(FOUR, "production", WAIVED))
    assert [suite.get("name") for suite in seen.xml] == [rule.id for rule in RULES]
    assert seen.cases("rabbitmq-size") == {"rabbitmq": "skipped"}
    assert seen.cases("galera-size") == {"mysqld": ""}
    assert seen.cases("server-label-is-true") == {"quorate-test": "skipped"}
    assert seen.cases("replicas-fit-nodes")["rabbitmq"] == "failure"
    suite = next(each for each in seen.xml if each.get("name") == "replicas-fit-nodes")
    assert (suite.get("failures"), suite.get("errors"), suite.get("skipped")) == ("1", "0", "0")


def test_not_evaluated_is_an_error_in_both(see: See) -> None:
    seen = see(log_of(UNDECIDED))
    assert seen.cases("rabbitmq-size") == {"rabbitmq": "error"}
    (result,) = seen.results("rabbitmq-size")
    assert result["message"]["text"].startswith("not evaluated: ")
    assert result["level"] == "error"


def test_an_audit_that_cannot_be_believed_says_so_in_both(see: See) -> None:
    seen = see([])
    (call,) = seen.run["invocations"]
    assert call["executionSuccessful"] is False
    assert "is empty" in call["toolExecutionNotifications"][0]["message"]["text"]
    assert seen.xml[0].get("name") == "the audit itself"
    assert seen.xml[0].get("errors") == "1"
    assert {mark for rule in RULES for mark in seen.cases(rule.id).values()} == {"error"}


def test_characters_that_xml_cannot_hold_are_written_as_escapes(see: See) -> None:
    odd = Given("quorate:k8s:Etcd", 'a\x1bb<&"', {"members": []})
    assert see(log_of([*whole_stack(), odd])).cases("etcd-size")['a\\x1bb<&"'] == "failure"


def test_a_stack_file_that_cannot_be_read_has_one_line(see: See) -> None:
    Views.file.write_text("config: [", encoding="utf-8")
    assert see(log_of(FOUR)).line("rabbitmq-size") == 1
