"""Defines policy rules, and evaluates a rule on the facts of a stack. The results are findings.

A rule lists its subjects (for example all workloads), selects those that it applies to, and yields a problem for each
violation. If a subject cannot be evaluated (an unknown value, a malformed property, an error in the rule), its verdict
is "not evaluated" and not "pass", and the evaluation continues with the next subject.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from policy.facts.stack import Facts, NoNodes, NotConfigured
from policy.facts.stack_configuration import LAB, PRODUCTION
from policy.findings import Enforcement, Finding, Severity, Verdict
from policy.properties import Malformed, NotKnown
from policy.requirements import PROJECT, requirement
from policy.resource import Resource


class Subject(Protocol):
    """Something that a rule evaluates: a resource or a part of a resource, with a name for messages (`title`)."""

    @property
    def resource(self) -> Resource: ...
    @property
    def title(self) -> str: ...


S = TypeVar("S", bound=Subject)


@dataclass(frozen=True)
class RuleSource:
    """The source of a rule: a sentence of a source document, or a requirement of Quorate itself.

    policy/requirements lists the sentence with its paraphrase.
    """

    seed: str
    """The number of the source document, such as "004", or "project" for a requirement of Quorate itself."""
    section: str
    sentence: int
    """The number of the sentence in its section, from 1."""

    @property
    def says(self) -> str:
        """A paraphrase of the cited sentence."""
        return requirement(self.seed, self.section, self.sentence).says

    @property
    def why(self) -> str:
        """Why Quorate itself adds the requirement; "" for a sentence of a source document."""
        return requirement(self.seed, self.section, self.sentence).why

    def __str__(self) -> str:
        document = "project rule" if self.seed == PROJECT else self.seed
        return f"{document}, {self.section} ({self.sentence})"

    @property
    def quotation(self) -> str:
        """The paraphrase of the cited sentence, and for a requirement of Quorate itself the reason, in one line."""
        return f"{self.says}. Reason: {self.why}" if self.why else self.says

    def to_json(self) -> dict[str, str | int]:
        """Returns the source in the format of findings.json (schemas/findings.schema.json)."""
        return {
            "document": self.seed,
            "section": self.section,
            "sentence": self.sentence,
            "says": self.says,
            "why": self.why,
        }


@dataclass(frozen=True)
class RuleProblem:
    """A violation of a rule: the actual and the expected state of a subject, in the words of a finding."""

    actual: str
    expected: str


ENFORCEMENT: Mapping[str, Enforcement] = {PRODUCTION: Enforcement.MANDATORY, LAB: Enforcement.ADVISORY}
"""The default enforcement level of a rule, by the stack's profile."""
ADVISORY: Mapping[str, Enforcement] = {PRODUCTION: Enforcement.ADVISORY, LAB: Enforcement.ADVISORY}
"""The enforcement levels, by profile, of a rule that only warns and does not stop an update."""
NO_ARCHITECTURE = "the stack names no reference architecture"
"""Reason why a rule that compares the stack with a reference architecture does not apply to a stack without one."""
EXISTING_MACHINES = (
    "the machines exist already (quorate:machines: existing), so the stack has no files of theirs to evaluate"
)
"""Reason why a rule that reads machines' files does not apply if the machines are nodes of a running cluster."""
SUBJECTS_UNKNOWN = "its subjects are not known: "
"""Prefix of a finding's message if it is not known which resources the rule has to evaluate."""
IN_ANY_PROFILE: Mapping[str, Enforcement] = {PRODUCTION: Enforcement.MANDATORY, LAB: Enforcement.MANDATORY}
"""The enforcement levels of a rule that is mandatory in every profile (docs/adr/0009-mandatory-in-a-lab.md).

Such rules protect the policy pack from being switched off, or prevent a loss of data at the first failure.
"""


@dataclass(frozen=True, kw_only=True)
class Rule(Generic[S]):
    """A policy rule: the function that checks a subject, and the texts that explain the rule's findings."""

    id: str
    title: str
    severity: Severity
    rationale: str
    sources: tuple[RuleSource, ...]
    remediation: str
    since: str
    subjects: Callable[[Facts], Iterable[S]]
    applies: Callable[[Facts, S], bool]
    not_applicable_reason: str
    """Reason in the finding for a stack in which the rule applies to no subject."""
    check: Callable[[Facts, S], Iterator[RuleProblem]]
    parameters: Mapping[str, object] = field(default_factory=dict[str, object])
    enforcement: Mapping[str, Enforcement] = field(default_factory=lambda: ENFORCEMENT)
    waivable: bool = True
    """Whether a waiver in the stack file may accept failures of the rule."""
    needs_architecture: bool = False
    """Whether the rule compares the stack with a reference architecture; it does not apply to a stack without one."""
    reads_machine_files: bool = False
    """Whether the rule reads files that the stack writes to machines; the stack has none for existing machines."""
    single: tuple[str, ...] = ()
    """Types, or prefixes of types, whose resources the rule can evaluate one at a time: the check reads only the
    resource and the Cloud. For these types, the rule also runs before the resource is created (engine/single.py)."""

    def is_enough(self, type_: str) -> bool:
        """Whether the rule can evaluate a resource of this type without the rest of the stack."""
        return type_.startswith(self.single)

    def enforced(self, profile: str) -> Enforcement:
        """Returns the enforcement level for a profile; an unknown profile counts as production."""
        return self.enforcement.get(profile, self.enforcement[PRODUCTION])

    @property
    def source(self) -> str:
        """The rule's sources, separated by semicolons."""
        return "; ".join(str(each) for each in self.sources)


AnyRule = Rule[Subject]


def rule(  # noqa: PLR0913 - the facts of a rule, each by its name
    *,
    id: str,  # noqa: A002 - what it is
    title: str,
    severity: Severity,
    rationale: str,
    sources: Sequence[RuleSource],
    remediation: str,
    subjects: Callable[[Facts], Iterable[S]],
    not_applicable_reason: str,
    applies: Callable[[Facts, S], bool] | None = None,
    parameters: Mapping[str, object] | None = None,
    enforcement: Mapping[str, Enforcement] = ENFORCEMENT,
    waivable: bool = True,
    needs_architecture: bool = False,
    reads_machine_files: bool = False,
    single: tuple[str, ...] = (),
    since: str = "0.1.0",
) -> Callable[[Callable[[Facts, S], Iterator[RuleProblem]]], Rule[S]]:
    """Makes a check function a policy rule, as a decorator. The arguments are the fields of `Rule`.

    `applies`: by default, the rule applies to every subject.
    """

    def make(check: Callable[[Facts, S], Iterator[RuleProblem]]) -> Rule[S]:
        return Rule(
            id=id,
            title=title,
            severity=severity,
            rationale=rationale,
            sources=tuple(sources),
            remediation=remediation,
            since=since,
            subjects=subjects,
            applies=applies or (lambda _facts, _subject: True),
            not_applicable_reason=not_applicable_reason,
            check=check,
            parameters=parameters or {},
            enforcement=enforcement,
            waivable=waivable,
            needs_architecture=needs_architecture,
            reads_machine_files=reads_machine_files,
            single=single,
        )

    return make


def evaluate(rule: Rule[S], facts: Facts, enforcement: Enforcement) -> list[Finding]:
    """Evaluates a rule on the facts of a stack. Returns its findings, at least one, with this enforcement level."""

    def found(verdict: Verdict, resource: str, message: str) -> Finding:
        return Finding(rule.id, rule.severity, enforcement, verdict, resource, message, rule.source, rule.remediation)

    try:
        subjects = list(rule.subjects(facts))
    except Exception as reason:  # any error: the rule has not passed
        return [found(Verdict.NOT_EVALUATED, facts.stack_urn, f"{SUBJECTS_UNKNOWN}{_why(reason)}")]
    findings: list[Finding] = []
    for subject in subjects:
        urn = subject.resource.urn
        try:
            if not rule.applies(facts, subject):
                continue
            problems = list(rule.check(facts, subject))
        except Exception as reason:
            findings.append(found(Verdict.NOT_EVALUATED, urn, f"{subject.title}: {_why(reason)}"))
            continue
        findings += [
            found(Verdict.FAIL, urn, f"{subject.title}: {problem.actual}; expected {problem.expected}")
            for problem in problems
        ] or [found(Verdict.PASS, urn, subject.title)]
    if findings:
        return findings
    return [found(Verdict.NOT_APPLICABLE, facts.stack_urn, _why_not_applicable(rule, facts))]


def _why_not_applicable(rule: Rule[S], facts: Facts) -> str:
    if rule.needs_architecture and facts.names_no_architecture:
        return NO_ARCHITECTURE
    try:
        existing = rule.reads_machine_files and facts.has_existing_machines
    except (NotKnown, Malformed):
        existing = False
    return EXISTING_MACHINES if existing else rule.not_applicable_reason


def _why(reason: Exception) -> str:
    if isinstance(reason, NotKnown | Malformed | NoNodes | NotConfigured):
        return str(reason)
    return f"the rule failed with {type(reason).__name__}: {reason}"
