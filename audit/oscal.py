"""Writes the audit as OSCAL assessment results, from findings.json.

Every rule is an observation, with its resources as subjects. Every rule and every control of a framework that applies
has a finding: satisfied or not satisfied, with the verdict as the reason, because OSCAL has no third state. A waiver is
a risk with a deadline. The same findings.json gives the same document: UUIDs are of version 5, of the stack and the
thing's id, so that a rule of a stack has the same UUIDs in every audit.

The document is plain data; `quorate audit --oscal` writes it by the models of compliance-trestle (ADR 40).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from audit.result import most_severe
from policy.catalogue import RULES
from policy.findings import Verdict, resource_name
from policy.frameworks import Framework, frameworks
from policy.rule import AnyRule
from text.quoting import printable

NAME = "audit.oscal.json"
VERSION = "1.2.1"
"""Version of OSCAL, of which compliance-trestle 5.2 has models."""
PROPERTIES = "urn:quorate:oscal"
"""Namespace of the names of Quorate's properties."""
NAMESPACE = uuid5(NAMESPACE_URL, PROPERTIES)
"""Namespace of all UUIDs of the documents."""

Json = dict[str, Any]

_WORDS = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "fail",
    Verdict.NOT_EVALUATED: "not-evaluated",
    Verdict.WAIVED: "waived",
    Verdict.NOT_APPLICABLE: "not-applicable",
}
_IN_PART = "pass-in-part"
"""Result of a control whose rules pass but do not tell all of it."""


def write(findings: Json) -> Json:
    """Returns the OSCAL document of an audit. `findings`: the content of its findings.json."""
    return {"assessment-results": _Results(findings).document()}


@dataclass(frozen=True)
class _Objective:
    """What a finding concludes on: a rule, or a control of a framework."""

    id: str
    title: str
    result: str
    rules: tuple[str, ...]
    remarks: tuple[str, ...]


class _Results:
    """The parts of one document, which refer to each other by UUID."""

    def __init__(self, findings: Json) -> None:
        self._audit = findings
        self._stack: str = findings["stack"]
        self._when = datetime.fromtimestamp(findings["generatedBy"]["time"], UTC).isoformat()
        self._by_rule: Mapping[str, list[Json]] = defaultdict(list)
        for each in findings["findings"]:
            self._by_rule[each["rule"]].append(each)

    def document(self) -> Json:
        plan = self._uuid("plan")
        return {
            "uuid": self._uuid("document"),
            "metadata": {
                "title": f"Audit of stack {_line(self._stack)}",
                "last-modified": self._when,
                "version": self._pack,
                "oscal-version": VERSION,
                "remarks": "Declared resources were evaluated, before anything was created. Nothing ran.",
            },
            "import-ap": {
                "href": f"#{plan}",
                "remarks": "There is no assessment plan in OSCAL. Every audit evaluates all rules of the policy pack.",
            },
            "results": [self._result()],
            "back-matter": {"resources": [_policy_pack(plan), *(self._framework(each) for each in frameworks())]},
        }

    @property
    def _pack(self) -> str:
        return self._audit["generatedBy"]["version"] or "unknown"

    def _uuid(self, *words: str) -> str:
        return str(uuid5(NAMESPACE, "\n".join((self._stack, *words))))

    def _result(self) -> Json:
        summary = self._audit["summary"]
        resources = sorted({each["resource"] for each in self._audit["findings"]})
        return {
            "uuid": self._uuid("result", self._when),
            "title": f"Audit of stack {_line(self._stack)}, {self._when}",
            "description": "Every rule of Quorate's policy pack, evaluated on the resources of the stack's preview.",
            "start": self._when,
            "end": self._when,
            "props": _properties(
                verdict=summary["verdict"],
                profile=self._audit["profile"],
                architecture=self._audit["architecture"],
            ),
            "local-definitions": {
                "components": [self._tool()],
                "inventory-items": [self._item(each) for each in resources],
            },
            "reviewed-controls": {"control-selections": list(self._selections())},
            "observations": [self._observation(rule) for rule in RULES],
            **_unless_empty("risks", [self._risk(rule, each) for rule in RULES for each in self._waivers(rule.id)]),
            "findings": [*self._rules(), *self._controls()],
            **_unless_empty("remarks", "\n\n".join(f"Unreliable: {printable(each)}" for each in summary["problems"])),
        }

    def _tool(self) -> Json:
        return {
            "uuid": self._uuid("tool"),
            "type": "software",
            "title": "Quorate's policy pack",
            "description": "Evaluates rules on the resources of a Pulumi program.",
            "props": _properties(version=self._pack),
            "status": {"state": "operational"},
        }

    def _item(self, resource: str) -> Json:
        return {
            "uuid": self._uuid("resource", resource),
            "description": _name(resource),
            **_unless_empty("props", _properties(urn=resource)),
        }

    def _selections(self) -> Iterable[Json]:
        """Yields the rules and the controls of each framework; `exclude-controls` are those that no rule evaluates."""
        yield {
            "description": "Rules of Quorate's policy pack. The id of a control is the id of the rule.",
            "include-controls": [{"control-id": rule.id} for rule in RULES],
        }
        for framework in frameworks():
            judged = [{"control-id": each.control} for each in framework.controls if each.rules]
            others = [{"control-id": each.control} for each in framework.controls if not each.rules]
            yield {
                "description": f"{framework.framework}: {framework.title}, {framework.version}",
                "links": [{"href": f"#{self._uuid('framework', framework.framework)}", "rel": "reference"}],
                **_unless_empty("include-controls", judged),
                **_unless_empty("exclude-controls", others),
            }

    def _verdict(self, rule: AnyRule) -> Verdict:
        return most_severe(Verdict(each["verdict"]) for each in self._by_rule[rule.id])

    def _observation(self, rule: AnyRule) -> Json:
        findings = self._by_rule[rule.id]
        of_resource: dict[str, list[Json]] = defaultdict(list)
        for each in findings:
            of_resource[each["resource"]].append(each)
        return {
            "uuid": self._uuid("observation", rule.id),
            "title": _line(rule.title),
            "description": _text(rule.rationale),
            "props": _properties(
                rule=rule.id,
                verdict=_WORDS[self._verdict(rule)],
                severity=str(rule.severity),
                enforcement=findings[0]["enforcement"],
            ),
            "methods": ["EXAMINE"],
            "types": ["control-objective"],
            "origins": [self._origin()],
            "subjects": [self._subject(resource, several) for resource, several in of_resource.items()],
            "relevant-evidence": [
                {"href": "./findings.json", "description": f"The findings whose rule is {rule.id}"},
                *({"description": f"{source}: {_text(source.quotation)}"} for source in rule.sources),
            ],
            "collected": self._when,
        }

    def _origin(self) -> Json:
        return {"actors": [{"type": "tool", "actor-uuid": self._uuid("tool")}]}

    def _subject(self, resource: str, findings: list[Json]) -> Json:
        verdict = most_severe(Verdict(each["verdict"]) for each in findings)
        return {
            "subject-uuid": self._uuid("resource", resource),
            "type": "inventory-item",
            "title": _name(resource),
            "props": _properties(verdict=_WORDS[verdict]),
            "remarks": _text("\n\n".join(each["message"] for each in findings)),
        }

    def _rules(self) -> Iterable[Json]:
        for rule in RULES:
            verdict = self._verdict(rule)
            told = [
                f"{_name(each['resource'])}: {each['message']}"
                for each in self._by_rule[rule.id]
                if Verdict(each["verdict"]).reported
            ]
            remarks = [*told, f"Fix: {rule.remediation}"] if told else []
            if verdict is not Verdict.NOT_APPLICABLE:
                yield self._finding(_Objective(rule.id, rule.title, _WORDS[verdict], (rule.id,), tuple(remarks)))

    def _controls(self) -> Iterable[Json]:
        for each in self._audit["frameworks"]:
            verdict = Verdict(each["verdict"]) if each["verdict"] else Verdict.NOT_APPLICABLE
            if verdict is Verdict.NOT_APPLICABLE:
                continue
            partly = verdict is Verdict.PASS and each["notJudged"]
            title = f"{each['framework']} {each['version']}, {each['where']}: {each['says']}"
            remarks = (f"Not judged: {each['notJudged']}",) if each["notJudged"] else ()
            result = _IN_PART if partly else _WORDS[verdict]
            yield self._finding(_Objective(each["control"], title, result, tuple(each["rules"]), remarks))

    def _finding(self, objective: _Objective) -> Json:
        risks = [self._risk_uuid(rule, waiver) for rule in objective.rules for waiver in self._waivers(rule)]
        return {
            "uuid": self._uuid("finding", objective.id),
            "title": _line(objective.title),
            "description": _text(objective.title),
            "origins": [self._origin()],
            "target": {
                "type": "objective-id",
                "target-id": objective.id,
                "status": {
                    "state": "satisfied" if objective.result in ("pass", _IN_PART) else "not-satisfied",
                    "reason": objective.result,
                    **_unless_empty("remarks", printable("\n\n".join(objective.remarks))),
                },
            },
            "related-observations": [{"observation-uuid": self._uuid("observation", rule)} for rule in objective.rules],
            **_unless_empty("related-risks", [{"risk-uuid": uuid} for uuid in risks]),
        }

    def _waivers(self, rule: str) -> list[Json]:
        """Returns the waivers that accept failures of a rule, each once."""
        waivers = (each["waiver"] for each in self._by_rule[rule] if each["waiver"])
        return list({self._risk_uuid(rule, waiver): waiver for waiver in waivers}.values())

    def _risk_uuid(self, rule: str, waiver: Json) -> str:
        return self._uuid("risk", rule, waiver["resource"])

    def _risk(self, rule: AnyRule, waiver: Json) -> Json:
        accepted = [each for each in self._by_rule[rule.id] if each["waiver"] == waiver]
        return {
            "uuid": self._risk_uuid(rule.id, waiver),
            "title": f"Waived: {_line(rule.title)}",
            "description": _text("\n\n".join(f"{_name(each['resource'])}: {each['message']}" for each in accepted)),
            "statement": _text(rule.rationale),
            "props": _properties(
                rule=rule.id,
                severity=str(rule.severity),
                pattern=waiver["resource"],
                reason=waiver["reason"],
                owner=waiver["owner"],
                **{"approved-by": waiver["approvedBy"]},
            ),
            "status": "deviation-approved",
            "origins": [self._origin()],
            "deadline": _end_of(waiver["expires"]),
            "remediations": [
                {
                    "uuid": self._uuid("remediation", rule.id, waiver["resource"]),
                    "lifecycle": "recommendation",
                    "title": "Fix",
                    "description": _text(rule.remediation),
                }
            ],
            "related-observations": [{"observation-uuid": self._uuid("observation", rule.id)}],
        }

    def _framework(self, framework: Framework) -> Json:
        return {
            "uuid": self._uuid("framework", framework.framework),
            "title": _line(f"{framework.framework}: {framework.title}"),
            "citation": {"text": _line(f"{framework.title}, {framework.version}: {framework.place}")},
        }


def _policy_pack(uuid: str) -> Json:
    return {
        "uuid": uuid,
        "title": "The rules of Quorate's policy pack",
        "description": "docs/rules.md lists every rule with its sources; docs/frameworks.md maps controls to rules.",
    }


def _end_of(day: str) -> str:
    """Returns the last second of a day in UTC: a waiver is valid on its last day."""
    return datetime.combine(date.fromisoformat(day), time(23, 59, 59), UTC).isoformat()


def _properties(**values: str) -> list[Json]:
    """Returns properties of Quorate's namespace, without empty ones."""
    return [{"name": name, "ns": PROPERTIES, "value": _line(value)} for name, value in values.items() if value.strip()]


def _unless_empty(key: str, value: list[Json] | str) -> Json:
    """Returns a dictionary with the key, or an empty one, because OSCAL allows no empty lists and texts."""
    return {key: value} if value else {}


def _name(resource: str) -> str:
    """Returns a resource's name for people. An audit without a log does not know the stack's URN."""
    return _line(resource_name(resource) or "the stack")


def _line(text: str) -> str:
    """Returns a text as one line without control characters; OSCAL's strings have no line ends and are not empty."""
    return printable(" ".join(text.split()), kept="") or "(empty)"


def _text(text: str) -> str:
    return printable(text.strip()) or "(empty)"
