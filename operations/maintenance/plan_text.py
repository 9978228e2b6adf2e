"""What a maintenance would do, as numbered actions: what each touches, and what tenants notice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cluster.objects import Object, text
from openstack.config.wiring import ENVIRONMENT
from operations.living.cloud import OSD, workload_of
from operations.living.leaving import Leave
from operations.maintenance import measured
from operations.maintenance.batches import Batches
from operations.maintenance.failure_domains import MaintenanceDomain
from operations.maintenance.instances import Instance, Outlook
from operations.maintenance.machine_command import REBOOT, is_held
from operations.maintenance.network_services import NetworkServices
from operations.maintenance.steps import MaintenanceStep, numbered, numbered_back
from operations.operation_lease import NAME, CloudOperation
from text.quoting import first_of

_NAMED = 8
"""Workloads that a line names."""
_NOTICES = {
    "live": f"go on; a move took {measured.MIGRATION}",
    "cold": "stop until they have moved, those that ran start again; how long it takes was not measured",
    "stays": "cannot be started until the end",
}
"""What tenants notice, by what happens to their instances."""

_WITHOUT = {
    "router": "has no other agent that is ready: it routes nothing until the end",
    "network": "has no other DHCP agent that is ready: it gives no addresses until it has one, or the end",
}
"""What becomes of a router, or of a network, whose only agent leaves."""


@dataclass(frozen=True)
class Foreseen:
    """What a plan knows of a domain beside its steps."""

    domain: MaintenanceDomain
    leave: Leave
    pods: Mapping[str, Sequence[Object]]
    """Pods that would be evicted, by node."""
    instances: Sequence[tuple[Instance, Outlook]]
    """Instances on its computes, each with what happens to it."""
    network: NetworkServices
    """Routers and networks that it carries."""
    command: str = ""
    """What would run on it."""


def shown(found: Foreseen, under_way: CloudOperation | None) -> str:
    """Returns the plan of a domain as text. `under_way`: the operation that has the Lease now."""
    actions = list(_actions(found))
    source = [measured.SOURCE] if any("[lab]" in line for line in actions) else []
    return "\n".join((*_head(found, under_way), "", *actions, *source, "", *_way_back(found))) + "\n"


def pool(wanted: Batches, command: str) -> str:
    """Returns what precedes the plans of the first batch of a pool. `command`: what would run on each."""
    count = -(-len(wanted.domains) // wanted.size)
    took = measured.reboots(wanted.pool, len(wanted.domains)) if command == REBOOT else ""
    return (
        f"Pool {wanted.pool}: {len(wanted.domains)} in {count} batches of at most {wanted.size}; a run stops when "
        f"more than {wanted.max_failed} have failed. {took}{' ' if took else ''}The plan of the first batch:\n"
    )


def _head(found: Foreseen, under_way: CloudOperation | None) -> Iterator[str]:
    yield f"Maintenance of {found.domain.name}: {', '.join(found.domain.all)}. Nothing is changed by this plan."
    members = ", ".join(f"{member} of {quorum}" for quorum, member in found.leave.members)
    yield f"Members of quorums there: {members or 'none'}."
    if under_way:
        yield under_way.sentence()
    if found.leave.may_go:
        yield "; ".join(("The living quorums admit it now", *found.leave.effects)) + "."
    else:
        yield "It may NOT go now:"
        yield from (f"  - {reason}" for reason in found.leave.reasons)
        yield "  Make whole first what is named: `quorate status` shows it, docs/on-call.md says what to do."


def _actions(found: Foreseen) -> Iterator[str]:
    for does, step in numbered(found.domain, command=found.command):
        yield does
        yield from (f"      {detail}" for detail in _details(found, step))


def _details(found: Foreseen, step: MaintenanceStep) -> Iterator[str]:
    if step.kind == "take":
        yield f"touches: the Lease {NAME} in namespace {ENVIRONMENT}"
    elif step.kind == "disable":
        yield "touches: the state of these services in Nova"
        yield "tenants: no new instance starts there; running ones go on"
    elif step.kind == "empty":
        yield from _moves(found.instances)
    elif step.kind == "noout":
        yield "touches: a flag of these hosts in Ceph"
        yield "tenants: nothing; while the OSDs are stopped, their data has one copy less"
    elif step.kind == "cordon":
        yield "touches: these Node objects"
        yield "tenants: nothing"
    elif step.kind == "evict":
        (node,) = step.nodes
        yield from _eviction(found.pods.get(node, ()), has_osds=node in found.domain.storage)
    elif step.kind == ("do" if found.command else "hold"):
        if found.command == REBOOT:
            yield f"took: {measured.REBOOT}"
        yield from _network(found.network)


def _moves(found: Sequence[tuple[Instance, Outlook]]) -> Iterator[str]:
    yield f"touches: {len(found)} instances, one at a time from each compute, to where Nova's scheduler puts them"
    yield from (f"- {each.called}, {each.status}, of project {each.project}: {what.says}" for each, what in found)
    if took := measured.moves(each.host for each, what in found if what.way == "live"):
        yield took
    ways = Counter(what.way for _, what in found)
    yield from (f"tenants: {ways[way]} {notice}" for way, notice in _NOTICES.items() if ways[way])
    if ways["stops"]:
        yield f"the run stops here, when the others have moved: {ways['stops']} instances are not moved"


def _eviction(pods: Sequence[Object], *, has_osds: bool) -> Iterator[str]:
    counts = Counter(workload_of(pod) or text(pod, "metadata", "name") for pod in pods)
    names = [f"{name} ({count})" if count > 1 else name for name, count in sorted(counts.items())]
    yield f"touches: {len(pods)} pods" + (f": {first_of(names, _NAMED)}" if names else "")
    if took := measured.drain([*counts, OSD] if has_osds else counts):
        yield f"took: {took}"
    if silence := measured.silence(counts):
        yield f"tenants: {silence}"


def _network(services: NetworkServices) -> Iterator[str]:
    """Yields what becomes of routers and addresses; those that no other agent carries are all named."""
    if services.problem:
        yield services.problem
    for kind, then in _WITHOUT.items():
        found = [each for each in services.found if each.kind == kind]
        if others := [each.called for each in found if each.has_another]:
            yield f"tenants: {len(others)} {kind}s pause until another agent serves them: {first_of(others, _NAMED)}"
        yield from (f"tenants: {kind} {each.called} {then}" for each in found if not each.has_another)


def _way_back(found: Foreseen) -> Iterator[str]:
    end = "Then it is brought back; --end does so from any of these steps:"
    yield "The end (--end), from any of these steps:" if is_held(found.command) else end
    yield from (does for does, _ in numbered_back(found.domain))
