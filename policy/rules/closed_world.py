"""Resources of types that no policy rule reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import contract
from policy.facts.known_types import RENDERING, KnownTypes
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import NotKnown
from policy.resource import Resource
from policy.rule import RuleProblem, RuleSource, rule

LIBVIRT = "libvirt:"
_URN = "urn:"
HELM_RELEASE = "kubernetes:helm.sh/v3:Release"


@dataclass(frozen=True)
class Unread:
    """A resource that rules cannot read completely. If a stack has none, the stack itself, without a problem."""

    resource: Resource
    title: str
    problem: RuleProblem | None = None


def _unread(facts: Facts) -> Iterator[Unread]:
    known = KnownTypes(facts.resources)
    found = [
        Unread(each, f"{each.type} {each.name}", None if known.is_known(each) else _problem(each))
        for each in facts.resources
        if not known.is_known(each) or _has_unknown_host(each)
    ]
    yield from found
    if facts.resources and not found:
        yield Unread(Resource("pulumi:pulumi:Stack", facts.stack_urn, "stack", dict), "the stack")


def _has_unknown_host(resource: Resource) -> bool:
    """Whether a libvirt resource has a provider without a known uri, and no VirtHost that names the host instead."""
    if f"{contract.VIRT_HOST}$" in resource.urn:
        return False
    return resource.type.startswith(LIBVIRT) and resource.provider.startswith(_URN)


def _problem(resource: Resource) -> RuleProblem:
    """Returns why no rule reads a resource, and which kind of resource to use instead."""
    if resource.type == HELM_RELEASE:
        return RuleProblem(
            "Helm renders its objects during the update, so a preview knows neither them nor what its values do",
            "a Chart (kubernetes:helm.sh/v4:Chart) with the same values, whose objects are resources of the stack",
        )
    if resource.type in RENDERING:
        return RuleProblem("no object of it is rendered in this preview", "objects that are resources of the stack")
    return RuleProblem("no rule reads resources of this type", _instead(resource.type))


_INSTEAD = (
    (re.compile(r"kubernetes:.*:\w+Patch"), "the change in the resource of the object itself"),
    (
        re.compile(r"kubernetes:admissionregistration\.k8s\.io/.*"),
        "a policy that fails open (failurePolicy: Ignore) and leaves out the control plane's namespaces, and a waiver "
        "that says so",
    ),
    (
        re.compile(r"kubernetes:flowcontrol\.apiserver\.k8s\.io/.*"),
        "Kubernetes' own FlowSchemas and levels, which admit nodes, controllers and leader election: a schema that "
        "precedes theirs can keep nodes from renewing their leases",
    ),
    (
        re.compile(r"kubernetes:apiregistration\.k8s\.io/.*"),
        "an API served by a CustomResourceDefinition: while the server of an APIService is down, namespaces and "
        "quotas are not processed",
    ),
    (
        re.compile(r"kubernetes:[^/]+\.[^/]+/.*"),
        "the workloads that its operator makes, or a cluster of a known operator (operators.py)",
    ),
)
"""What a stack can have in place of resources of unknown types, by their type tokens."""


def _instead(type_: str) -> str:
    found = next((words for form, words in _INSTEAD if form.fullmatch(type_)), "a type that the policy pack evaluates")
    return f"{found}; if nothing replaces it, a waiver with what the resource cannot touch"


@rule(
    id="resource-is-known",
    title="Every resource is of a type that the policy pack evaluates or knows to be harmless",
    severity=Severity.CRITICAL,
    rationale="A Helm release, a custom resource or another cloud's resource can contain a quorum that no rule has "
    "evaluated. Without this rule, a stack could pass although a resource was not read.",
    sources=(RuleSource("project", "Scope", 1),),
    remediation="Use resources that the pack reads: a Chart instead of a Release, a workload or a cluster of a known "
    "operator instead of another custom resource, a libvirt provider with a uri. Otherwise review the resource, and "
    "waive the rule for it with the reason why it cannot cost a quorum its members or data.",
    subjects=_unread,
    not_applicable_reason="the stack has no resource",
    parameters={"known types": "policy/facts/known_types.py", "operators": "policy/facts/kubernetes/operators.py"},
    since="0.4.0",
)
def resource_is_known(_facts: Facts, unread: Unread) -> Iterator[RuleProblem]:
    """Checks the resource's type; for a libvirt resource, also that the provider's uri names the physical host."""
    if unread.problem:
        yield unread.problem
    elif _has_unknown_host(unread.resource):
        raise NotKnown(unread.resource.name, "the uri of the libvirt provider, which names the physical host,")
