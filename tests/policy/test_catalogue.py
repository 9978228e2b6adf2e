"""No rule lacks anything: identity, sources, remediation, and a case of every kind."""

from __future__ import annotations

import re

import pytest
from pulumi_policy import EnforcementLevel

from policy import catalogue
from policy.catalogue import BY_ID, FAMILIES, RULES
from policy.engine.pack import RulePolicy
from policy.facts.stack_configuration import LAB, PRODUCTION
from policy.findings import Enforcement, Severity
from policy.requirements import DOCUMENTS, PROJECT, parts, requirement
from policy.rule import AnyRule
from tests.policy.cases import KINDS
from tests.policy.tables import CASES
from tests.stacks import ROOT

by_id = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(RULES)


def test_every_family_has_a_table() -> None:
    families = {family.__name__.rpartition(".")[2] for family in FAMILIES}
    rules_of = {each.rule.id for each in CASES}
    assert families
    assert rules_of == set(BY_ID)


@by_id
def test_it_is_whole(rule: AnyRule) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)+", rule.id)
    assert rule.severity in Severity
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)
    for text in (rule.title, rule.rationale, rule.remediation, rule.not_applicable_reason):
        assert len(text.split()) >= 4, text
    assert rule.rationale.endswith(".")
    assert rule.remediation.endswith(".")
    assert rule.check.__doc__, "says what the code does not"


@by_id
def test_it_has_a_source(rule: AnyRule) -> None:
    assert rule.sources
    for source in rule.sources:
        assert rule.id in requirement(source.seed, source.section, source.sentence).rules, source
        assert bool(source.why) == (source.seed == PROJECT), (
            "a project rule has a reason, a document's sentence has none"
        )


@by_id
def test_it_has_a_case_of_every_kind(rule: AnyRule) -> None:
    seen = {kind for case in CASES if case.rule is rule for kind in case.kinds}
    assert seen == set(KINDS), f"missing: {set(KINDS) - seen}"


@by_id
def test_the_engine_is_told_all_of_it(rule: AnyRule) -> None:
    policy = RulePolicy(rule)
    assert policy.name == rule.id
    assert policy.description == policy.display_name == rule.title
    assert policy.severity is not None
    assert policy.severity.value == rule.severity.value
    assert policy.remediation_steps == rule.remediation
    assert policy.url == f"docs/rules.md#{rule.id}"
    assert policy.framework is not None
    assert policy.framework.reference == rule.source
    assert policy.enforcement_level is EnforcementLevel(rule.enforced(PRODUCTION).value)


@by_id
def test_a_lab_is_never_held_to_more_than_production(rule: AnyRule) -> None:
    assert rule.enforcement.keys() == {PRODUCTION, LAB}
    assert Enforcement.DISABLED not in rule.enforcement.values()
    assert (rule.enforced(PRODUCTION), rule.enforced(LAB)) != (Enforcement.ADVISORY, Enforcement.MANDATORY)


@by_id
def test_the_policy_takes_the_level_of_the_profile(rule: AnyRule) -> None:
    policy = RulePolicy(rule)
    for profile in (LAB, PRODUCTION):
        policy.enforce(profile)
        assert policy.enforcement_level is EnforcementLevel(rule.enforcement[profile].value)
    policy.enforce("a profile of tomorrow")
    assert policy.enforcement_level is EnforcementLevel(rule.enforcement[PRODUCTION].value)


NORMS = [(part.title, norm) for part in parts() for norm in part.norms]


def test_norms_name_rules_that_there_are() -> None:
    unknown = {(title, norm.says): set(norm.rules) - set(BY_ID) for title, norm in NORMS}
    assert {norm: ids for norm, ids in unknown.items() if ids} == {}


def test_no_sentence_stands_twice() -> None:
    sentences = [(title, norm.section, norm.says) for title, norm in NORMS]
    assert len(sentences) == len(set(sentences))


def test_a_sentence_is_listed_once() -> None:
    listed = [
        (document, section, number)
        for part in parts()
        for norm in part.norms
        for document in part.documents
        for section, number in zip(norm.sections, norm.sentences, strict=True)
    ]
    assert len(listed) == len(set(listed))


def test_project_requirements_are_numbered_in_order() -> None:
    (project,) = (part for part in parts() if part.documents == (PROJECT,))
    for section in {norm.section for norm in project.norms}:
        numbers = [norm.sentences for norm in project.norms if norm.section == section]
        assert numbers == [(number,) for number in range(1, len(numbers) + 1)]


def test_documents_have_titles() -> None:
    assert {document for part in parts() for document in part.documents} == set(DOCUMENTS)


def test_no_two_cases_have_one_name() -> None:
    titles = [case.title for case in CASES]
    assert len(titles) == len(set(titles))


def test_the_pages_are_in_step() -> None:
    for path, text in catalogue.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m policy.catalogue`"


def test_each_module_of_rules_has_a_module_of_cases() -> None:
    """So the cases of a rule are found by the name of its module."""
    rules = {path.name for path in (ROOT / "policy" / "rules").glob("*.py")}
    assert {path.name for path in (ROOT / "tests" / "policy" / "tables").glob("*.py")} == rules
