"""Finds changes of machines: added, removed, renamed, moved, resized; changed disks, labels, taints or files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from changes.change import Change, ChangeKind, Phase, Risk
from changes.machine_wordings import WORDINGS
from changes.side import ComparedMachine, ComparedQuorum, Side
from contract import ETCD_ROLE, POOL, SERVER
from policy.wording import join_names
from text.plural import pluralize

_PLACES = frozenset({SERVER, POOL})
"""Labels whose change is reported as a move of the machine to another server or pool."""
_OF_THE_NODE = frozenset(
    {"root/etc/quorate/node.yaml", "root/etc/kubernetes/patches/kubeletconfiguration.yaml", "definition/domain.xml"}
)
"""Files that only repeat properties of the machine, whose change is reported with the property."""
_FOR_DATA = "The data on the disk is lost: its members must be rebuilt from the others."


@dataclass(frozen=True)
class Renaming:
    """A machine that only gets another name, before and after the change."""

    before: ComparedMachine
    after: ComparedMachine


def machine_changes(before: Side, after: Side) -> Iterator[Change]:
    """Yields the changes of machines between two previews.

    The same difference in machines of one pool is one change.
    """
    renamed = renamings(before, after)
    gone = {each.before.name for each in renamed}
    come = {each.after.name for each in renamed}
    yield from _added(after, before, come)
    yield from _removed(before, after, gone)
    for each in renamed:
        yield _renaming(each, before)
    pairs = [(before.machines[name], after.machines[name]) for name in before.machines if name in after.machines]
    for (kind, pool, detail), those in _alike(pairs).items():
        yield _change(kind, pool, detail, those, before)


def renamings(before: Side, after: Side) -> list[Renaming]:
    """Returns the removed machines that reappear under another name with the same properties."""
    gone = [each for name, each in before.machines.items() if name not in after.machines]
    come = {name: each for name, each in after.machines.items() if name not in before.machines}
    found: list[Renaming] = []
    for machine in gone:
        twin = next((each for each in come.values() if _is_same(machine, each)), None)
        if twin:
            found.append(Renaming(machine, come.pop(twin.name)))
    return found


def one_at_a_time(what: str, names: Iterable[str], quorums: Iterable[ComparedQuorum]) -> tuple[str, ...]:
    """Returns the steps of a change that stops quorum members on nodes temporarily, one node at a time.

    `what`: the action, such as "Cordon and drain". `names`: the nodes. `quorums`: those with members on the nodes.
    """
    ordered = sorted(names)
    whole = [f"Wait until it is back: {each.complete}." for each in quorums]
    if len(ordered) == 1:
        return (f"{what} {ordered[0]}.", *whole)
    return (
        f"{what} one machine at a time: {join_names(ordered, most=12)}.",
        *(f"Between two, {_small(w)}" for w in whole),
    )


def _small(text: str) -> str:
    return text[:1].lower() + text[1:]


def _is_same(one: ComparedMachine, other: ComparedMachine) -> bool:
    if one.place and other.place:
        return one.pool == other.pool and one.place.get("address", "") == other.place.get("address")
    return not one.place and not other.place and one.renamed(other.name) == other.props


def _added(after: Side, before: Side, renamed: set[str]) -> Iterator[Change]:
    for pool, those in _by_pool(after, before, renamed):
        names = [each.name for each in those]
        yield Change(
            ChangeKind.MACHINE_ADDED,
            Phase.ADD,
            f"adds {pluralize(len(names), 'machine')} to {_group(pool)}: {join_names(names)}",
            _resources(those),
            steps=(
                f"Install {join_names(names)} with the files that are rendered for {_them(names)}.",
                _join(pool, names, is_member=any(not each.workloads for each in after.quorums_on(names))),
                "Only then move services there, or remove other machines.",
            ),
        )


def _join(pool: str, names: list[str], *, is_member: bool) -> str:
    """Returns the step in which machines join. `is_member`: whether they are members of etcd."""
    several = len(names) > 1
    if pool == ETCD_ROLE:
        return (
            f"Let {_them(names)} join etcd one at a time, and wait until {'each has' if several else 'it has'} a vote."
        )
    roles = "master and etcd member" if is_member else "master"
    kind = f" as {roles}, one at a time" if pool == "master" else ""
    return f"Join {_them(names)} to the cluster{kind}, and wait until {'all are' if several else 'it is'} Ready."


def _leave(pool: str, names: list[str], quorums: list[ComparedQuorum]) -> tuple[str, ...]:
    if pool == ETCD_ROLE:
        return (*one_at_a_time("Run `leave` on", names, quorums), f"Then switch {_them(names)} off.")
    return (
        *one_at_a_time("Cordon and drain", names, quorums),
        f"Delete {_them(names)} from the cluster, then switch {_them(names)} off.",
    )


def _group(pool: str) -> str:
    return "etcd's machines" if pool == ETCD_ROLE else f"pool {pool}"


def _removed(before: Side, after: Side, renamed: set[str]) -> Iterator[Change]:
    for pool, those in _by_pool(before, after, renamed):
        names = [each.name for each in those]
        quorums = before.quorums_on(names)
        users = " Instances of users on them must have left before." if pool == "compute" else ""
        yield Change(
            ChangeKind.MACHINE_REMOVED,
            Phase.REMOVE,
            f"removes {pluralize(len(names), 'machine')} from {_group(pool)}: {join_names(names)}",
            _resources(those),
            steps=_leave(pool, names, quorums),
            checks=tuple(each.complete for each in quorums),
            risk=f"The data on {'their disks' if len(names) > 1 else 'its disk'} is lost.{users}",
            level=Risk.RISKY,
        )


def _renaming(each: Renaming, before: Side) -> Change:
    quorums = before.quorums_on([each.before.name])
    return Change(
        ChangeKind.MACHINE_RENAMED,
        Phase.REMOVE,
        f"renames machine {each.before.name} to {each.after.name}",
        _resources([each.after, each.before]),
        steps=(*_renaming_steps(each), *(f"Wait until {quorum.complete}." for quorum in quorums)),
        checks=tuple(quorum.complete for quorum in quorums),
        risk=(
            "To etcd it is another member, which copies everything from the others."
            if each.before.is_of_etcd
            else "To Kubernetes it is another node: volumes that are bound to the old name do not follow."
        ),
        level=Risk.RISKY,
    )


def _renaming_steps(each: Renaming) -> tuple[str, ...]:
    if each.before.is_of_etcd:
        return (f"Run `leave` on {each.before.name}.", f"Let it join etcd again as {each.after.name}.")
    return (
        f"Cordon and drain {each.before.name}.",
        f"Delete node {each.before.name}, and join the machine again as {each.after.name}.",
    )


Alike = dict[tuple[ChangeKind, str, str], list[ComparedMachine]]


def _alike(pairs: Iterable[tuple[ComparedMachine, ComparedMachine]]) -> Alike:
    found: Alike = defaultdict(list)
    for one, other in pairs:
        for kind, detail in _differences(one, other):
            found[kind, other.group, detail].append(other)
    return found


def _differences(one: ComparedMachine, other: ComparedMachine) -> Iterator[tuple[ChangeKind, str]]:
    if one.pool != other.pool:
        yield ChangeKind.MACHINE_REPOOLED, f"from pool {one.pool or 'none'} to {other.pool or 'none'}"
    if one.server != other.server:
        yield ChangeKind.VM_MOVED, f"from server {one.server or 'unknown'} to {other.server or 'unknown'}"
    lost = [device for device, where in one.disks.items() if other.disks.get(device) != where]
    if lost and one.server == other.server:
        yield ChangeKind.DISK_REPLACED, f"({', '.join(lost)})"
    if one.size != other.size:
        kind = ChangeKind.MACHINE_RESIZED if other.is_virtual else ChangeKind.CAPACITY_CHANGED
        yield kind, f"from {one.size or 'an unknown size'} to {other.size or 'an unknown size'}"
    if marks := "; ".join(_marks(one, other)):
        yield ChangeKind.NODE_MARKED, marks
    if files := _other_files(one, other):
        yield ChangeKind.MACHINE_CONFIGURED, ", ".join(files)


def _marks(one: ComparedMachine, other: ComparedMachine) -> Iterator[str]:
    old, new = dict(one.node.labels), dict(other.node.labels)
    for key in sorted(old.keys() | new.keys()):
        if key not in _PLACES and old.get(key) != new.get(key):
            yield _mark("label", key, old.get(key), new.get(key))
    old_taints = {f"{each.key}={each.value}:{each.effect}" for each in one.node.taints}
    new_taints = {f"{each.key}={each.value}:{each.effect}" for each in other.node.taints}
    yield from (f"removed taint {each}" for each in sorted(old_taints - new_taints))
    yield from (f"new taint {each}" for each in sorted(new_taints - old_taints))


def _mark(what: str, key: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"new {what} {key}={new}"
    return f"removed {what} {key}={old}" if new is None else f"{what} {key} from {old} to {new}"


def _other_files(one: ComparedMachine, other: ComparedMachine) -> list[str]:
    """Returns the paths of a machine's files that differ, except files that only repeat another reported difference."""
    differing = {path for path in one.files.keys() | other.files.keys() if one.files.get(path) != other.files.get(path)}
    told = any(
        (one.pool != other.pool, one.server != other.server, one.size != other.size, one.disks != other.disks)
    ) or any(_marks(one, other))
    places = {"addresses"} if one.place.get("address") != other.place.get("address") else set[str]()
    return sorted((differing - _OF_THE_NODE if told else differing) | places)


def _change(kind: ChangeKind, pool: str, detail: str, those: list[ComparedMachine], before: Side) -> Change:
    names = [each.name for each in those]
    quorums = before.quorums_on(names)
    them = join_names(names)
    machines = f"{'machine' if len(names) == 1 else 'machines'} {them}"
    wording = WORDINGS[kind]
    step = wording.step_of_etcd if pool == ETCD_ROLE and wording.step_of_etcd else wording.step
    lost = _FOR_DATA if kind in (ChangeKind.DISK_REPLACED, ChangeKind.VM_MOVED) else ""
    risk = " ".join(part for part in (lost or wording.risk, _together(names, quorums)) if part)
    return Change(
        kind,
        wording.phase,
        wording.says.format(machines=machines, group=_group(pool), detail=detail),
        tuple(dict.fromkeys((*_resources(those), *_resources(before.machines[name] for name in names)))),
        steps=one_at_a_time(step, names, quorums) if wording.takes_down else (f"{step} {them}.",),
        checks=tuple(each.complete for each in quorums) if wording.takes_down else (),
        risk=risk if wording.takes_down else wording.risk,
        level=Risk.RISKY if lost or (quorums and wording.takes_down) else Risk.PLAIN,
    )


def _together(names: list[str], quorums: list[ComparedQuorum]) -> str:
    """Returns a sentence: which quorum is at risk if all of these machines are down, or one; "" if none is."""
    for each in quorums:
        if len(each.nodes & set(names)) > each.size - each.majority:
            return f"If all are down at once, {each.title} loses its majority ({each.majority} of {each.size})."
    return f"While one is down, {quorums[0].title} has one member less." if quorums else ""


def _by_pool(side: Side, other: Side, but: set[str]) -> Iterator[tuple[str, list[ComparedMachine]]]:
    """Yields machines of preview `side` that preview `other` lacks, by pool or role etcd, except those in `but`."""
    pools: dict[str, list[ComparedMachine]] = defaultdict(list)
    for name, machine in side.machines.items():
        if name not in other.machines and name not in but:
            pools[machine.group].append(machine)
    yield from sorted(pools.items())


def _resources(machines: Iterable[ComparedMachine]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.resource for each in machines))


def _them(names: list[str]) -> str:
    return "them" if len(names) > 1 else "it"
