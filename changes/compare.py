"""Compares the resources of two previews and returns typed changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from changes.change import Change, ChangeKind, Phase, Risk, ordered
from changes.jobs import job_changes
from changes.machines import machine_changes
from changes.members import quorum_changes
from changes.objects import object_changes, the_rest
from changes.side import Side, trees_by_machine
from changes.versions import version_changes
from changes.workloads import renamings, workload_changes
from policy.facts.stack import Facts
from policy.resource import Resource

Teller = Callable[[Side, Side], Iterator[Change]]


def changes(before: Iterable[Resource], after: Iterable[Resource], *, is_live: bool = False) -> list[Change]:
    """Returns the differences of two previews' resources, in the order in which the changes must be made.

    `is_live`: whether `up` changes a running cloud; the previews compared are always those of rendered files.
    If an unknown or malformed value prevents a comparison, this is reported as a separate change, and the affected
    resources are listed among the other differences.
    """
    one, other = (Side(Facts(sorted(side, key=lambda each: each.urn))) for side in (before, after))
    found: list[Change] = []
    tellers = {"versions": partial(version_changes, is_live=is_live), **_TELLERS}
    for about, tell in tellers.items():
        found += _told(about, tell, one, other)
    told = {urn for change in found for urn in change.resources}
    # A reported change of a machine also covers the resource with the files that are rendered from the machine.
    trees = {tree for side in (one, other) for owner, tree in trees_by_machine(side.plain).items() if owner in told}
    return ordered([*found, *the_rest(one, other, told | trees)])


def _quorums(before: Side, after: Side) -> Iterator[Change]:
    return quorum_changes(before, after, renamings(before, after).keys())


def _told(about: str, tell: Teller, before: Side, after: Side) -> list[Change]:
    found: list[Change] = []
    try:
        found.extend(tell(before, after))
    except Exception as reason:  # an unknown or malformed value
        says = f"the changes of {about} are not completely known: {reason}"
        risk = "Check the difference of the rendered trees."
        # If it is unknown whether a quorum keeps its majority, or its data, the change is forbidden.
        level = Risk.FORBIDDEN if about in _DECISIVE else Risk.RISKY
        found.append(Change(ChangeKind.OTHER, Phase.PREPARE, says, (), risk=risk, level=level))
    return found


_DECISIVE = ("quorums", "versions")
_TELLERS: dict[str, Teller] = {
    "machines": machine_changes,
    "workloads": workload_changes,
    "Jobs": job_changes,
    "quorums": _quorums,
    "budgets, configuration and volumes": object_changes,
}
