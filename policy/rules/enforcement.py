"""Enforcement levels that configuration lowers, and the profile lab."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from contract import COMPUTE_NODE
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.machines.machine import MASTER
from policy.facts.stack import Facts
from policy.facts.stack_configuration import LAB
from policy.findings import Enforcement, Severity
from policy.resource import Resource
from policy.rule import IN_ANY_PROFILE, RuleProblem, RuleSource, rule
from policy.wording import join_names

MOST_COMPUTES = 50
"""Maximum number of computes in a lab: half of the smallest reference architecture."""


@dataclass(frozen=True)
class StackSubject:
    """The stack as a whole, as the subject of a rule."""

    resource: Resource
    title: str


def _stack(facts: Facts) -> Iterator[StackSubject]:
    yield StackSubject(Resource("pulumi:pulumi:Stack", facts.stack_urn, "stack", dict), "the stack")


def _with_levels(facts: Facts) -> Iterator[StackSubject]:
    if facts.levels or facts.clouds:
        yield from _stack(facts)


@rule(
    id="enforcement-not-lowered",
    title="Every rule has the enforcement level of the stack's profile",
    severity=Severity.CRITICAL,
    rationale="`--policy-pack-config` makes a mandatory rule advisory or disables it, and leaves no trace in the stack "
    "file. If the Cloud component has another profile than the stack's configuration, rules for production may not "
    "apply.",
    sources=(RuleSource("project", "Enforcement", 1),),
    remediation="Remove the rule from the file of --policy-pack-config, and accept single failures with a waiver in "
    "the stack file. Write the same profile in quorate:profile and in the Cloud component.",
    subjects=_with_levels,
    not_applicable_reason="the policies run without the pack's own server, and the stack has no Cloud",
    enforcement=IN_ANY_PROFILE,
    waivable=False,
    since="0.3.0",
)
def enforcement_not_lowered(facts: Facts, _stack: StackSubject) -> Iterator[RuleProblem]:
    """Raising a level is allowed, and so is disabling a rule that is advisory in the stack's profile."""
    configured = facts.configured_profile
    for applied in (Enforcement.ADVISORY, Enforcement.DISABLED):
        lowered = [level.rule for level in facts.levels if level.applied is applied and level.is_lowered(configured)]
        if lowered:
            yield RuleProblem(
                f"--policy-pack-config sets {join_names(lowered)} to {applied}", f"{Enforcement.MANDATORY}"
            )
    others = {cloud.profile for cloud in facts.clouds} - {configured}
    if others:
        yield RuleProblem(
            f"the Cloud has profile {join_names(others)}, and quorate:profile is {configured}", "one profile in both"
        )


def _with_own_server(facts: Facts) -> Iterator[StackSubject]:
    if facts.levels:
        yield from _stack(facts)


@rule(
    id="configuration-received",
    title="The policy pack has the configuration of the stack that it evaluates",
    severity=Severity.CRITICAL,
    rationale="Profile, architecture and waivers are in the stack's configuration. Without it, the pack evaluates a "
    "lab as production and ignores waivers; with the configuration of another stack, production may count as a lab.",
    sources=(RuleSource("project", "Enforcement", 3),),
    remediation="Run the pack with `pulumi preview`, `pulumi up` or `quorate audit`, and unset PULUMI_STACK, "
    "PULUMI_CONFIG and PULUMI_DRY_RUN in your shell: Pulumi sets them for the pack.",
    subjects=_with_own_server,
    not_applicable_reason="the policies run without the pack's own server",
    enforcement=IN_ANY_PROFILE,
    waivable=False,
    since="0.7.0",
)
def configuration_received(facts: Facts, _stack: StackSubject) -> Iterator[RuleProblem]:
    """Compares the name of the configured stack with the one in the URNs of the resources."""
    configured = facts.configured_stack
    if facts.stack_name not in ("", configured):
        yield RuleProblem(
            f"the pack has received the configuration of stack {configured}", f"that of {facts.stack_name}"
        )


def _is_compute(node: NodeFacts) -> bool:
    return "compute" in node.roles or node.labels.get(COMPUTE_NODE) == "enabled"


@rule(
    id="lab-profile-fits",
    title="A stack with profile lab has the size of a lab",
    severity=Severity.CRITICAL,
    rationale="The profile lab makes most rules advisory. A cloud with more than 50 computes, or with physical masters "
    "in racks, is larger than a lab, so that the rules for production must be mandatory.",
    sources=(RuleSource("project", "Enforcement", 2),),
    remediation="Set quorate:profile to production.",
    subjects=_stack,
    applies=lambda facts, _stack: LAB in (facts.profile, facts.configured_profile),
    not_applicable_reason="the stack's profile is production",
    parameters={"computes": MOST_COMPUTES},
    enforcement=IN_ANY_PROFILE,
    since="0.3.0",
)
def lab_profile_fits(facts: Facts, _stack: StackSubject) -> Iterator[RuleProblem]:
    """Counts computes, and masters in racks that are physical: their node and their server have the same name."""
    computes = sum(1 for node in facts.nodes if _is_compute(node))
    if computes > MOST_COMPUTES:
        yield RuleProblem(
            f"quorate:profile: lab makes most rules advisory for {computes} computes",
            f"at most {MOST_COMPUTES} computes, or profile production",
        )
    racked = {node.name for node in facts.nodes if MASTER in node.roles and node.server == node.name and node.rack}
    if racked:
        yield RuleProblem(
            f"quorate:profile: lab makes most rules advisory for physical masters in racks ({join_names(racked)})",
            "profile production",
        )
