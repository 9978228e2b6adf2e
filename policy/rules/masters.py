"""Kubernetes masters and etcd members."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from policy.facts.components import Component, Etcd, MasterTier, Member
from policy.facts.kubernetes.node import is_machine
from policy.facts.stack import PRODUCTION, Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names, pluralize

LEAST_MASTERS = 3
_INITIAL_CLUSTER = re.compile(r"^\s*(?:ETCD_INITIAL_CLUSTER=|(?:initial-cluster|--initial-cluster)[:=]\s*)(\S+)", re.M)


def _tiers(facts: Facts) -> Iterator[Component]:
    """The master tiers; a Cloud without one is judged in their place."""
    yield from facts.master_tiers or facts.clouds


@rule(
    id="three-masters",
    title="A production cloud has at least three masters",
    severity=Severity.CRITICAL,
    rationale="API server, scheduler, controller manager and etcd run on the masters. With fewer than three, "
    "maintenance of one leaves no quorum.",
    sources=(
        Source("004", "5.5.3", 26),
        Source("004", "5.5.9", 4),
    ),
    remediation="Give the role master to three servers (or virtual machines on three physical hosts).",
    subjects=_tiers,
    applies=lambda facts, _tier: facts.profile == PRODUCTION,
    not_applicable_reason="the stack is a lab, or has neither a master tier nor a Cloud",
    parameters={"least": LEAST_MASTERS},
)
def three_masters(facts: Facts, tier: Component) -> Iterator[Problem]:
    """Counts masters by name: a master that is listed twice counts once."""
    masters = {master.node for master in tier.masters} if isinstance(tier, MasterTier) else set[str]()
    if len(masters) < LEAST_MASTERS:
        yield Problem(pluralize(len(masters), "master"), f"at least {LEAST_MASTERS}")
    unknown = masters - {node.name for node in facts.nodes if "master" in node.roles}
    if unknown and facts.nodes:
        yield Problem(
            f"masters {join_names(unknown)} have no machine with the role master", "a machine for each master"
        )


def _members(component: Component) -> Sequence[Member]:
    if isinstance(component, Etcd):
        return component.members
    return component.masters if isinstance(component, MasterTier) else ()


@rule(
    id="masters-apart",
    title="Masters and etcd members run on distinct physical hosts",
    severity=Severity.CRITICAL,
    rationale="Masters that are virtual machines on one physical host fail together. A member that is listed twice "
    "counts once, so the quorum has fewer members than listed.",
    sources=(
        Source("000", "Problem description", 3),
        Source("004", "5.5.4", 4),
        Source("004", "5.5.4", 60),
        Source("004", "5.5.9", 5),
        Source("project", "Failure domains", 1),
    ),
    remediation="Put each master on a physical host of its own, and list each of them once.",
    subjects=lambda facts: (*facts.etcds, *facts.master_tiers),
    not_applicable_reason="the stack has neither a master tier nor etcd on machines",
)
def masters_apart(facts: Facts, component: Component) -> Iterator[Problem]:
    """Uses the machine's own label, or the component's facts if the stack has no such machine."""
    servers = {node.name: node.server for node in facts.nodes}
    members = _members(component)
    for what in ("node", "address"):
        twice = [name for name, count in Counter(getattr(each, what) for each in members).items() if count > 1]
        if twice:
            yield Problem(f"{what} {join_names(twice)} is listed more than once", "each member once")
    hosts: dict[str, set[str]] = {}
    for member in members:
        server = servers.get(member.node) or member.server
        if server != member.server:
            yield Problem(f"{member.node} is declared on {member.server}, its machine is on {server}", "the same host")
        hosts.setdefault(server, set()).add(member.node)
    for server, names in hosts.items():
        if len(names) > 1:
            yield Problem(f"{join_names(names)} share physical host {server}", "one member per physical host")


def _clusters(facts: Facts, etcd: Etcd) -> dict[str, set[str]]:
    """The members that each machine's own configuration names, by machine."""
    names = {member.node for member in etcd.members}
    found: dict[str, set[str]] = {}
    for machine in facts.resources:
        if not is_machine(machine) or machine.props.at("node").text() not in names:
            continue
        files = machine.props.at("files").texts()
        for path in files:
            if "etcd" in path and (line := _INITIAL_CLUSTER.search(files[path])):
                found[machine.props.at("node").text()] = {each.partition("=")[0] for each in line[1].split(",")}
    return found


@rule(
    id="etcd-members-agree",
    title="All etcd members are configured with the same member list",
    severity=Severity.CRITICAL,
    rationale="Members that start with different lists form separate clusters, or none.",
    sources=(
        Source("004", "5.5.9", 5),
        Source("project", "Quorums", 8),
    ),
    remediation="Write the same ETCD_INITIAL_CLUSTER on every master, with each member once.",
    subjects=lambda facts: facts.etcds,
    applies=lambda facts, etcd: bool(_clusters(facts, etcd)),
    not_applicable_reason="no machine of the stack carries a configuration of etcd",
)
def etcd_members_agree(facts: Facts, etcd: Etcd) -> Iterator[Problem]:
    """Reads the files that are rendered for the machines."""
    names = {member.node for member in etcd.members}
    clusters = _clusters(facts, etcd)
    for machine, listed in clusters.items():
        if listed != names:
            yield Problem(f"{machine} is configured with {join_names(listed)}", f"the members {join_names(names)}")
    if missing := names - clusters.keys():
        yield Problem(f"no etcd configuration on {join_names(missing)}", "one on every member")
