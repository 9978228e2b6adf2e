"""OSCAL assessment results say what findings.json says: verdicts, subjects, controls, and waivers as risks that end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from audit import oscal
from audit.__main__ import main
from policy.catalogue import RULES
from policy.frameworks import frameworks
from tests.audit.logs import Event, log_of, written
from tests.audit.test_views import FOUR, UNDECIDED, WAIVED
from tests.policy.world import Given, whole_stack

Json = dict[str, Any]


def findings(tmp_path: Path, events: Iterable[Event]) -> Json:
    """The findings.json of an event log."""
    log = written(events, tmp_path / "events.jsonl")
    main(["--events", str(log), "--stack", "prod", "--out", str(tmp_path / "out")])
    return json.loads((tmp_path / "out" / "findings.json").read_text(encoding="utf-8"))


def result_of(document: Json) -> Json:
    (result,) = document["assessment-results"]["results"]
    return result


def properties(of: Json) -> dict[str, str]:
    return {each["name"]: each["value"] for each in of.get("props", [])}


def observation(result: Json, rule: str) -> Json:
    return next(each for each in result["observations"] if properties(each)["rule"] == rule)


def conclusions(result: Json) -> dict[str, tuple[str, str]]:
    """State and reason by rule or control."""
    status = {each["target"]["target-id"]: each["target"]["status"] for each in result["findings"]}
    return {target: (each["state"], each["reason"]) for target, each in status.items()}


def test_every_rule_is_an_observation_with_its_resources(tmp_path: Path) -> None:
    audit = findings(tmp_path, log_of(FOUR))
    result = result_of(oscal.write(audit))
    assert [properties(each)["rule"] for each in result["observations"]] == [rule.id for rule in RULES]
    items = {each["uuid"]: properties(each)["urn"] for each in result["local-definitions"]["inventory-items"]}
    for rule in RULES:
        of_rule = [each for each in audit["findings"] if each["rule"] == rule.id]
        subjects = observation(result, rule.id)["subjects"]
        assert {items[each["subject-uuid"]] for each in subjects} == {each["resource"] for each in of_rule}
    (broker,) = (each for each in observation(result, "rabbitmq-size")["subjects"])
    assert properties(broker) == {"verdict": "fail"}
    assert "4 members tolerate 1 failure" in broker["remarks"]


def test_verdicts_are_told_apart(tmp_path: Path) -> None:
    found = conclusions(result_of(oscal.write(findings(tmp_path, log_of(FOUR)))))
    assert found["galera-size"] == ("satisfied", "pass")
    assert found["rabbitmq-size"] == ("not-satisfied", "fail")
    waived = conclusions(result_of(oscal.write(findings(tmp_path, log_of(FOUR, "production", WAIVED)))))
    assert waived["rabbitmq-size"] == ("not-satisfied", "waived")
    undecided = conclusions(result_of(oscal.write(findings(tmp_path, log_of(UNDECIDED)))))
    assert undecided["rabbitmq-size"] == ("not-satisfied", "not-evaluated")


def test_a_rule_that_does_not_apply_has_no_finding(tmp_path: Path) -> None:
    audit = findings(tmp_path, log_of(whole_stack()))
    result = result_of(oscal.write(audit))
    silent = {each["rule"] for each in audit["findings"] if each["verdict"] == "notApplicable"}
    assert silent
    assert not silent & conclusions(result).keys()
    assert {properties(observation(result, rule))["verdict"] for rule in silent} == {"not-applicable"}


def test_controls_are_judged_as_in_findings_json(tmp_path: Path) -> None:
    audit = findings(tmp_path, log_of(FOUR))
    result = result_of(oscal.write(audit))
    found = conclusions(result)
    for control in audit["frameworks"]:
        state = found.get(control["control"])
        if control["verdict"] in (None, "notApplicable"):
            assert state is None
        elif control["verdict"] == "pass":
            assert state == ("satisfied", "pass-in-part" if control["notJudged"] else "pass")
        else:
            assert state == ("not-satisfied", control["verdict"])
    selections = result["reviewed-controls"]["control-selections"]
    judged = {each["control-id"] for selection in selections for each in selection.get("include-controls", [])}
    assert judged == {rule.id for rule in RULES} | {
        each.control for framework in frameworks() for each in framework.controls if each.rules
    }
    left_out = {each["control-id"] for selection in selections for each in selection.get("exclude-controls", [])}
    assert "CIS-2.7" in left_out


def test_a_waiver_is_a_risk_that_ends_after_its_last_day(tmp_path: Path) -> None:
    assert "risks" not in result_of(oscal.write(findings(tmp_path, log_of(FOUR))))
    result = result_of(oscal.write(findings(tmp_path, log_of(FOUR, "production", WAIVED))))
    (risk,) = result["risks"]
    assert risk["deadline"] == "2027-01-31T23:59:59+00:00"
    assert risk["status"] == "deviation-approved"
    told = properties(risk)
    assert (told["rule"], told["owner"], told["approved-by"]) == ("rabbitmq-size", "Ada", "Grace")
    assert (told["pattern"], told["reason"]) == ("rabbit*", "a fifth server is ordered")
    assert "4 members" in risk["description"]
    related = {
        each["target"]["target-id"]
        for each in result["findings"]
        for one in each.get("related-risks", [])
        if one["risk-uuid"] == risk["uuid"]
    }
    assert related == {"rabbitmq-size"}


def test_the_same_audit_is_the_same_document_and_a_later_one_keeps_the_ids(tmp_path: Path) -> None:
    audit = findings(tmp_path, log_of(FOUR))
    first = oscal.write(audit)
    assert oscal.write(audit) == first
    audit["generatedBy"]["time"] += 86400
    later = oscal.write(audit)
    assert result_of(later)["uuid"] != result_of(first)["uuid"]
    for kind in ("observations", "findings"):
        assert [each["uuid"] for each in result_of(later)[kind]] == [each["uuid"] for each in result_of(first)[kind]]
    audit["stack"] = "other"
    assert not set(ids(oscal.write(audit))) & set(ids(first))


def test_every_id_is_defined_once_and_every_reference_is_defined(tmp_path: Path) -> None:
    document = oscal.write(findings(tmp_path, log_of(FOUR, "production", WAIVED)))
    defined = list(ids(document))
    assert len(defined) == len(set(defined))
    text = json.dumps(document)
    mentioned = set(re.findall(r'-uuid": "([^"]+)"', text)) | set(re.findall(r'"#([0-9a-f-]{36})"', text))
    assert mentioned <= set(defined)


def test_an_audit_that_cannot_be_believed_says_so(tmp_path: Path) -> None:
    result = result_of(oscal.write(findings(tmp_path, [])))
    assert "Unreliable: " in result["remarks"]
    assert properties(result)["verdict"] == "fail"
    assert {reason for _, reason in conclusions(result).values()} == {"not-evaluated"}


def test_odd_names_are_one_printable_line(tmp_path: Path) -> None:
    odd = Given("quorate:k8s:Etcd", "a\x1bb\n\tc ", {"members": []})
    result = result_of(oscal.write(findings(tmp_path, log_of([*whole_stack(), odd]))))
    titles = [each["title"] for each in observation(result, "etcd-size")["subjects"]]
    assert "a\\x1bb c" in titles


def test_an_audit_removes_the_document_of_an_earlier_one(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / oscal.NAME).write_text("{}", encoding="utf-8")
    findings(tmp_path, log_of(FOUR))
    assert not (tmp_path / "out" / oscal.NAME).exists()


def ids(value: object) -> Iterator[str]:
    """Yields every UUID that a document defines."""
    if isinstance(value, dict):
        for key, each in cast("Json", value).items():
            if key == "uuid":
                yield each
            else:
                yield from ids(each)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            yield from ids(each)
