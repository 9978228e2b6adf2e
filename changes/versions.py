"""Finds changes of versions that are refused: steps back, steps that upstream does not support, several at once."""

from __future__ import annotations

from collections.abc import Iterator

from blueprint.version_steps import VersionFault, VersionProblem, problems
from changes.change import Change, ChangeKind, Phase, Risk
from changes.side import Side
from policy.facts.deployed_versions import deployed_versions

_RISKS = {
    VersionFault.NO_STEP: "The data of the older version is lost, or no program reads it any more.",
    VersionFault.TOGETHER: "Several quorums lack a member at the same time.",
    VersionFault.UNTRUSTED: "Members of etcd refuse each other until all are changed, and the quorum is lost.",
    VersionFault.NO_OPERATION: "No backup is made, and no quorum is asked between its members.",
}


def version_changes(before: Side, after: Side, *, is_live: bool) -> Iterator[Change]:
    """Yields each refused change of versions. `is_live`: whether `up` changes a running cloud."""
    for each in problems(deployed_versions(before.facts), deployed_versions(after.facts), is_live=is_live):
        yield _refused(each, tuple(cloud.resource.urn for cloud in after.facts.clouds))


def _refused(problem: VersionProblem, clouds: tuple[str, ...]) -> Change:
    return Change(
        ChangeKind.VERSION_REFUSED,
        Phase.PREPARE,
        f"{problem.key}: {problem.actual}",
        clouds,
        steps=(f"Expected {problem.expected}.",),
        risk=_RISKS[problem.fault],
        level=Risk.FORBIDDEN,
    )
