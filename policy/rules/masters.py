"""Kubernetes masters and etcd members."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from policy.facts.components import ComponentFacts, EtcdFacts, MasterTierFacts, MemberFacts
from policy.facts.machines.etcd_files import EtcdConfiguration
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize

LEAST_MASTERS = 3


def _tiers(facts: Facts) -> Iterator[ComponentFacts]:
    """Yields the MasterTier components. Without any, yields the Cloud, on which missing masters are reported."""
    yield from facts.master_tiers or facts.clouds


@rule(
    id="three-masters",
    title="A production cloud has at least three masters",
    severity=Severity.CRITICAL,
    rationale="API server, scheduler, controller manager and etcd run on the masters. With fewer than three, "
    "maintenance of one leaves no quorum.",
    sources=(
        RuleSource("004", "5.5.3", 26),
        RuleSource("004", "5.5.9", 4),
    ),
    remediation="Give the role master to three servers (or virtual machines on three physical hosts).",
    subjects=_tiers,
    applies=lambda facts, _tier: facts.profile == PRODUCTION,
    not_applicable_reason="the stack is a lab, or has neither a master tier nor a Cloud",
    parameters={"least": LEAST_MASTERS},
)
def three_masters(facts: Facts, tier: ComponentFacts) -> Iterator[RuleProblem]:
    """Counts masters by name, and requires a machine with the role master for each of them."""
    masters = {master.node for master in tier.masters} if isinstance(tier, MasterTierFacts) else set[str]()
    if len(masters) < LEAST_MASTERS:
        yield RuleProblem(pluralize(len(masters), "master"), f"at least {LEAST_MASTERS}")
    unknown = masters - {node.name for node in facts.nodes if "master" in node.roles}
    if unknown and facts.nodes:
        yield RuleProblem(
            f"masters {join_names(unknown)} have no machine with the role master", "a machine for each master"
        )


def _members(component: ComponentFacts) -> Sequence[MemberFacts]:
    if isinstance(component, EtcdFacts):
        return component.members
    return component.masters if isinstance(component, MasterTierFacts) else ()


@rule(
    id="masters-apart",
    title="Masters and etcd members run on distinct physical hosts",
    severity=Severity.CRITICAL,
    rationale="Masters that are virtual machines on one physical host fail together. A member that is listed twice "
    "is only one member, so the quorum has fewer members than the list.",
    sources=(
        RuleSource("000", "Problem description", 3),
        RuleSource("004", "5.5.4", 4),
        RuleSource("004", "5.5.4", 60),
        RuleSource("004", "5.5.9", 5),
        RuleSource("project", "Failure domains", 1),
    ),
    remediation="Put each master and each etcd member on a physical host of its own, and list each of them once.",
    subjects=lambda facts: (*facts.etcds, *facts.master_tiers),
    not_applicable_reason="the stack has neither a master tier nor etcd on machines",
)
def masters_apart(facts: Facts, component: ComponentFacts) -> Iterator[RuleProblem]:
    """Takes the physical host from the node's label or the machine's property, or else from the component."""
    servers = {node.name: node.server for node in facts.places}
    members = _members(component)
    for what in ("node", "address"):
        twice = [name for name, count in Counter(getattr(each, what) for each in members).items() if count > 1]
        if twice:
            yield RuleProblem(f"{what} {join_names(twice)} is listed more than once", "each member once")
    hosts: dict[str, set[str]] = {}
    for member in members:
        server = servers.get(member.node) or member.server
        if server != member.server:
            yield RuleProblem(
                f"{member.node} is declared on {member.server}, its machine is on {server}", "the same host"
            )
        hosts.setdefault(server, set()).add(member.node)
    for server, names in hosts.items():
        if len(names) > 1:
            yield RuleProblem(f"{join_names(names)} share physical host {server}", "one member per physical host")


def _configurations(facts: Facts, etcd: EtcdFacts) -> dict[str, EtcdConfiguration | None]:
    """Returns the etcd configuration on each member's machine, by node; None for a machine without configuration.

    Existing machines, which have no files in the stack, are omitted.
    """
    names = {member.node for member in etcd.members} - {each.node for each in facts.machines if each.is_existing}
    return {name: found for name, found in facts.etcd_configurations.items() if name in names}


def _undeclared(facts: Facts) -> set[str]:
    """Returns the machines that have an etcd configuration and are members of no etcd cluster."""
    declared = {member.node for etcd in facts.etcds for member in etcd.members}
    return {name for name, found in facts.etcd_configurations.items() if found} - declared


@rule(
    id="etcd-members-agree",
    title="All etcd members are configured with the same member list",
    severity=Severity.CRITICAL,
    rationale="Members that start with different lists form separate clusters, or none.",
    sources=(
        RuleSource("004", "5.5.9", 5),
        RuleSource("project", "Quorums", 8),
    ),
    remediation="Write the same ETCD_INITIAL_CLUSTER on every member, with each member once and at its address.",
    subjects=lambda facts: facts.etcds,
    applies=lambda facts, etcd: bool(_configurations(facts, etcd)),
    not_applicable_reason="no etcd member runs on a machine of the stack",
    reads_machine_files=True,
)
def etcd_members_agree(facts: Facts, etcd: EtcdFacts) -> Iterator[RuleProblem]:
    """Compares the member list, name and addresses in each member's etcd configuration with the etcd component.

    Reports machines that have an etcd configuration and are not members, such as a master beside machines of role etcd.
    """
    addresses = {member.node: member.address for member in etcd.members}
    found = {node: each for node, each in _configurations(facts, etcd).items() if each}
    for node, configuration in found.items():
        if configuration.members.keys() != addresses.keys():
            listed, expected = join_names(configuration.members), join_names(addresses)
            yield RuleProblem(f"{node} is configured with {listed}", f"the members {expected}")
        if configuration.name not in ("", node):
            yield RuleProblem(f"{node} is configured as {configuration.name}", f"the name {node}")
        for name, host in configuration.members.items():
            if addresses.get(name) and host not in (name, addresses[name]):
                yield RuleProblem(f"{node} reaches {name} at {host}", f"its address {addresses[name]}")
    if missing := addresses.keys() - found.keys():
        yield RuleProblem(f"no etcd configuration on {join_names(missing)}", "one on every member")
    if etcd is facts.etcds[0] and (strange := _undeclared(facts)):
        yield RuleProblem(f"etcd is configured on {join_names(strange)}, which are not members", "it on members only")
