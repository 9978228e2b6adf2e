"""Finds changes of Jobs: those that run again, new ones, and finished ones that are removed.

A Job of Quorate is named after its content, so that a change makes another Job: Pulumi knows it by the resource's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from changes.change import Change, ChangeKind, Phase
from changes.side import Side, object_name
from policy.facts.kubernetes.workload import Workload
from policy.wording import join_names
from text.plural import pluralize

JOB = "Job"
MOST = 40
"""Most names in a sentence; changes.json has all resources."""


def job_changes(before: Side, after: Side) -> Iterator[Change]:
    """Yields one change for all Jobs that run again, one for new Jobs, and one for removed ones."""
    old, new = _jobs(before), _jobs(after)
    again = [new[urn] for urn in old.keys() & new.keys() if _runs_again(old[urn], new[urn])]
    if again:
        yield Change(
            ChangeKind.JOB_RUNS,
            Phase.ROLL,
            f"runs {pluralize(len(again), 'Job')} again, because what they run has changed: {_names(again)}",
            _urns(again),
            steps=(
                "Nothing by hand: each Job runs once, before the workloads that wait for it. Pulumi removes the "
                "finished Job that it replaces.",
            ),
        )
    if added := [new[urn] for urn in new.keys() - old.keys()]:
        says = f"adds {pluralize(len(added), 'Job')}, which run once: {_names(added)}"
        yield Change(ChangeKind.JOB_ADDED, Phase.ADD, says, _urns(added))
    if gone := [old[urn] for urn in old.keys() - new.keys()]:
        says = f"removes {pluralize(len(gone), 'Job')}, which have run: {_names(gone)}"
        yield Change(ChangeKind.JOB_REMOVED, Phase.SHRINK, says, _urns(gone))


def _jobs(side: Side) -> Mapping[str, Workload]:
    return {each.resource.urn: each for each in side.facts.workloads if each.kind == JOB}


def _runs_again(old: Workload, new: Workload) -> bool:
    """Whether name or specification differ; other differences are updates in place."""
    specs = (each.resource.plain().get("spec") for each in (old, new))
    return object_name(old.resource) != object_name(new.resource) or next(specs) != next(specs)


def _names(jobs: Sequence[Workload]) -> str:
    return join_names([object_name(each.resource) for each in jobs], MOST)


def _urns(jobs: Sequence[Workload]) -> tuple[str, ...]:
    return tuple(sorted(each.resource.urn for each in jobs))
