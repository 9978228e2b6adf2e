"""Finds changes of workloads: added, removed, renamed, scaled, moved between pools, replaced, rolled out.

jobs.py finds those of Jobs.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from changes.change import Change, ChangeKind, Phase, Risk
from changes.jobs import JOB, MOST
from changes.side import ComparedQuorum, Side, object_name, title_of
from changes.template import alike, parts
from formats import image_reference
from policy.facts.kubernetes.workload import Workload
from policy.wording import join_names
from text.plural import pluralize

_MUTABLE = {
    "StatefulSet": frozenset(
        {
            *("replicas", "template", "updateStrategy", "minReadySeconds", "revisionHistoryLimit", "ordinals"),
            "persistentVolumeClaimRetentionPolicy",
        }
    ),
}
"""Fields of `spec` that can be changed in place, by kind. In other kinds, all fields except the selector can."""
_CARRIERS = {
    "openvswitch-vswitchd": "On each node, the packets of virtual machines stop while the switch restarts.",
    "nova-libvirt": "On nodes without systemd-machined, virtual machines end with libvirtd's pod.",
}
"""What a restart does to virtual machines, by the image of the program that carries them or their packets."""
_ROLLOUT = ("strategy", "updateStrategy", "minReadySeconds", "progressDeadlineSeconds")

Pairs = dict[str, tuple[Workload, Workload]]


def workload_changes(before: Side, after: Side) -> Iterator[Change]:
    """Yields the changes of workloads between two previews: of those in both, then renamed, added and removed ones."""
    pairs = [(before.workloads[key], new) for key, new in after.workloads.items() if key in before.workloads]
    pairs = [(old, new) for old, new in pairs if new.kind != JOB]
    for old, new in pairs:
        yield from _of_pair(old, new, before, after)
    yield from _rolled_alike(pairs, before)
    yield from _scheduled(pairs)
    renamed = renamings(before, after)
    for old, new in renamed.items():
        yield _renamed(before.workloads[old], after.workloads[new], before.quorum_of(before.workloads[old]))
    for key, new in after.workloads.items():
        if key not in before.workloads and key not in renamed.values() and new.kind != JOB:
            yield _added(new, after)
    for key, old in before.workloads.items():
        # The removal of a quorum is reported with its members.
        is_gone = key not in after.workloads and key not in renamed and old.kind != JOB
        if is_gone and before.quorum_of(old) is None:
            yield _removed(old)


def renamings(before: Side, after: Side) -> Mapping[str, str]:
    """Returns the new key of each workload that only gets another name, by its old key.

    Such workloads have the same kind, and the same row of the architecture or, without a row, the same spec.
    """
    come = {key: each for key, each in after.workloads.items() if key not in before.workloads}
    found: dict[str, str] = {}
    for key, old in before.workloads.items():
        if key in after.workloads or old.kind == JOB:
            continue
        twin = next((name for name, new in come.items() if _is_same(old, new)), None)
        if twin is not None:
            found[key] = twin
            del come[twin]
    return found


def _is_same(old: Workload, new: Workload) -> bool:
    if old.kind != new.kind or old.row != new.row:
        return False
    if old.row is not None:
        return True
    one, other = object_name(old.resource), object_name(new.resource)
    text = json.dumps(_spec(old), sort_keys=True, default=str)
    return text.replace(json.dumps(one)[1:-1], other) == json.dumps(_spec(new), sort_keys=True, default=str)


def _of_pair(old: Workload, new: Workload, before: Side, after: Side) -> Iterator[Change]:
    quorum = before.quorum_of(old)
    if reason := _replaced_because(old, new):
        yield _replaced(new, reason, quorum)
    elif not new.is_long_running:
        return
    if old.replicas != new.replicas:
        yield _counted(old, new, after)
    pools = before.pools(old), after.pools(new)
    if pools[0] != pools[1] and all(pools):
        yield _moved(new, *pools, quorum)
    if rollout := sorted(key for key in _ROLLOUT if _spec(old).get(key) != _spec(new).get(key)):
        yield _strategy(new, rollout)
    if quorum and _template(old) != _template(new):
        yield _members_rolled(old, new, quorum)


def _replaced_because(old: Workload, new: Workload) -> str:
    """Returns why Pulumi deletes and recreates the workload, for messages; "" if it does not."""
    if old.resource.urn != new.resource.urn:
        return "its resource has another name, so the engine treats it as another object"
    spec, other = _spec(old), _spec(new)
    mutable = _MUTABLE.get(new.kind)
    changed = sorted(key for key in spec.keys() | other.keys() if spec.get(key) != other.get(key))
    fixed = [key for key in changed if (key not in mutable if mutable else key == "selector")]
    return f"{', '.join(fixed)} cannot be changed in place" if fixed else ""


def _replaced(new: Workload, reason: str, quorum: ComparedQuorum | None) -> Change:
    return Change(
        ChangeKind.SERVICE_REPLACED,
        Phase.ROLL,
        f"deletes {title_of(new)} and recreates it: {reason}",
        (new.resource.urn,),
        steps=(
            "Give the resource an alias of its old name, or create the new object beside the old one.",
            "If neither is possible, delete it with --cascade=orphan, which keeps its pods, and apply again.",
        ),
        checks=(quorum.complete,) if quorum else (),
        risk=f"All {quorum.size} members stop at once." if quorum else "All its pods stop at once.",
        level=Risk.FORBIDDEN if quorum else Risk.RISKY,
    )


def _counted(old: Workload, new: Workload, after: Side) -> Change:
    was, will = old.replicas, new.replicas
    grows = will is None or (was is not None and will > was)
    each_node = "one on each node"
    return Change(
        ChangeKind.COUNT_CHANGED,
        Phase.ADD if grows else Phase.SHRINK,
        f"{title_of(new)}: {each_node if was is None else was} to {each_node if will is None else will} instances",
        (new.resource.urn,),
        steps=("Provide the nodes first.", "Then raise the count.") if grows else ("Lower the count.",),
        row=_row(new, after),
    )


def _row(workload: Workload, after: Side) -> str:
    """Returns a text about the architecture's row that sets the number of instances; "" if the workload has no row."""
    row = after.facts.row(workload)
    if row is None:
        return ""
    norm = "one on each node" if row.instances is None else str(row.instances)
    source = "; ".join(row.sources)
    ours = workload.replicas == row.instances
    return f"row {row.row} says {norm} ({source})" + ("" if ours else "; the stack file overrides it")


def _moved(new: Workload, was: tuple[str, ...], will: tuple[str, ...], quorum: ComparedQuorum | None) -> Change:
    return Change(
        ChangeKind.SERVICE_MOVED,
        Phase.MOVE,
        f"moves {title_of(new)} from {_pools(was)} to {_pools(will)}",
        (new.resource.urn,),
        steps=(
            f"Make sure the nodes of {_pools(will)} are Ready, labelled and tainted.",
            "The rollout moves it pod by pod. Copy data that it keeps on its node, or wait until it has synchronized.",
            f"Only then drain or remove nodes of {_pools(was)}.",
        ),
        checks=(quorum.complete,) if quorum else (),
        risk="Local volumes stay on the old nodes." if quorum or _keeps_data(new) else "",
        level=Risk.RISKY if quorum or _keeps_data(new) else Risk.PLAIN,
    )


def _rolled_alike(pairs: Sequence[tuple[Workload, Workload]], before: Side) -> Iterator[Change]:
    """Yields the roll of workloads that are not quorums: one change for all that differ in the same parts."""
    found: dict[tuple[str, tuple[str, ...]], list[tuple[Workload, list[str]]]] = defaultdict(list)
    for old, new in pairs:
        if new.is_long_running and _template(old) != _template(new) and before.quorum_of(old) is None:
            why = parts(_template(old), _template(new))
            found[_harm(old), tuple(alike(why))].append((new, why))
    for (harm, kind), those in found.items():
        names = join_names([title_of(each) for each, _ in those], MOST)
        first_why = those[0][1]
        says = f"rolls {len(those)} workloads: {join_names(kind, most=6)}: {names}"
        yield Change(
            ChangeKind.SERVICE_ROLLED,
            Phase.ROLL,
            f"rolls {names}: {join_names(first_why, most=6)}" if len(those) == 1 else says,
            tuple(sorted(each.resource.urn for each, _ in those)),
            steps=("Kubernetes replaces their pods according to their update strategies.",),
            risk=harm,
            level=Risk.RISKY if harm else Risk.PLAIN,
        )


def _harm(workload: Workload) -> str:
    """Returns what a restart of the workload's pods does to virtual machines; "" for nothing."""
    images = (container.at("image").text() for container in workload.pod.at("containers").items())
    names = {image_reference.parse(image).name for image in images}
    return " ".join(harm for name, harm in _CARRIERS.items() if name in names)


def _members_rolled(old: Workload, new: Workload, quorum: ComparedQuorum) -> Change:
    why = join_names(parts(_template(old), _template(new)), most=6)
    by_hand = new.strategy.at("type").text("RollingUpdate") == "OnDelete"
    who = "Delete its pods yourself" if by_hand else "Kubernetes replaces its pods"
    return Change(
        ChangeKind.MEMBERS_ROLLED,
        Phase.ROLL,
        f"rolls quorum {quorum.title}, {quorum.size} members: {why}",
        (new.resource.urn,),
        steps=(
            "Roll only this quorum; do not roll another quorum or drain a node meanwhile.",
            f"{who} one after another; each is Ready, and has all the data, before the next.",
        ),
        checks=(quorum.complete,),
        risk=f"While one restarts, {quorum.size - 1} of {quorum.size} are up; a majority is {quorum.majority}.",
        level=Risk.RISKY,
    )


def _strategy(new: Workload, keys: list[str]) -> Change:
    says = f"{title_of(new)} has another update strategy: {', '.join(keys)}"
    return Change(ChangeKind.STRATEGY_CHANGED, Phase.PREPARE, says, (new.resource.urn,))


def _scheduled(pairs: Sequence[tuple[Workload, Workload]]) -> Iterator[Change]:
    """Yields one change for all CronJobs whose next runs differ."""
    those = [new for old, new in pairs if not new.is_long_running and _spec(old) != _spec(new)]
    if those:
        names = join_names([object_name(each.resource) for each in those], MOST)
        yield Change(
            ChangeKind.JOB_RUNS,
            Phase.ROLL,
            f"changes what {pluralize(len(those), 'CronJob')} will run: {names}",
            tuple(sorted(each.resource.urn for each in those)),
        )


def _added(new: Workload, after: Side) -> Change:
    pools = after.pools(new)
    where = f" on {_pools(pools)}" if pools else ""
    count = "one on each node" if new.replicas is None else f"{new.replicas} instances"
    return Change(
        ChangeKind.SERVICE_ADDED,
        Phase.ADD,
        f"adds {title_of(new)}{where}, {count}" if new.is_long_running else f"adds {title_of(new)}",
        (new.resource.urn,),
        row=_row(new, after),
    )


def _removed(old: Workload) -> Change:
    return Change(
        ChangeKind.SERVICE_REMOVED,
        Phase.SHRINK,
        f"removes {title_of(old)}",
        (old.resource.urn,),
        steps=("Remove its clients.", "Then remove it."),
        risk="Its data stays on its nodes until it is deleted there." if _keeps_data(old) else "",
        level=Risk.RISKY if _keeps_data(old) else Risk.PLAIN,
    )


def _renamed(old: Workload, new: Workload, quorum: ComparedQuorum | None) -> Change:
    data = quorum is not None or _keeps_data(old)
    return Change(
        ChangeKind.SERVICE_RENAMED,
        Phase.MOVE,
        f"renames {title_of(old)} to {object_name(new.resource)}",
        (new.resource.urn, old.resource.urn),
        steps=(
            "Create the new workload beside the old one.",
            *(("Copy the data, or let new members join the old quorum one at a time.",) if data else ()),
            "Point its clients to the new name.",
            "Remove the old workload in a later change.",
        ),
        checks=(quorum.complete,) if quorum else (),
        risk="The data stays under the old name; the new quorum starts empty." if quorum else "",
        level=Risk.FORBIDDEN if quorum else Risk.RISKY,
    )


def _keeps_data(workload: Workload) -> bool:
    return bool(_spec(workload).get("volumeClaimTemplates"))


def _pools(names: tuple[str, ...]) -> str:
    return f"pool{'s' if len(names) > 1 else ''} {join_names(names)}"


def _spec(workload: Workload) -> Mapping[str, Any]:
    plain = workload.resource.plain()
    return cast("Mapping[str, Any]", plain if workload.kind == "Pod" else plain.get("spec") or {})


def _template(workload: Workload) -> Mapping[str, Any]:
    spec = _spec(workload)
    return spec if workload.kind == "Pod" else cast("Mapping[str, Any]", spec.get("template") or {})
