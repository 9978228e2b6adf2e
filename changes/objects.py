"""Finds changes of resources other than machines and workloads: budgets, configuration, volumes and others.

Also reports each difference that no other module reports, so that the comparison is complete.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

import contract
from changes.change import Change, ChangeKind, Phase, Risk
from changes.side import Side, title_of
from policy.facts.components import CloudFacts, MasterTierFacts, VirtHostFacts
from policy.facts.kubernetes.budgets_and_services import Budget
from policy.facts.kubernetes.workload import Workload, kubernetes_kind
from policy.facts.stack_configuration import LAB
from policy.wording import join_names
from text.plural import pluralize

_FACTS = {
    CloudFacts.TYPE: "the cloud",
    MasterTierFacts.TYPE: "the master tier",
    contract.CALICO: "Calico",
    VirtHostFacts.TYPE: "virt host",
}
"""Components with properties that none of their child resources has, each with its name in messages."""
_TOLD_BY_RESOURCES = frozenset({"masters", "vms"})
_LIBVIRT_DISK = "libvirt:index/volume:Volume"
_NOT_OURS = ("pulumi:pulumi:", "pulumi:providers:")
_AREAS = "quorate:"


def object_changes(before: Side, after: Side) -> Iterator[Change]:
    """Yields the changes of components' properties, disruption budgets, configuration and volumes."""
    yield from _facts(before, after)
    yield from _budgets(before, after)
    volumes: list[str] = []
    for urn in _differing(before, after):
        resource = after.resources.get(urn) or before.resources[urn]
        kind = kubernetes_kind(resource)
        if kind in ("ConfigMap", "Secret"):
            yield _config(urn, before, after)
        elif kind in ("PersistentVolume", "PersistentVolumeClaim"):
            volumes.append(urn)
        elif resource.type == _LIBVIRT_DISK:
            yield from _disk(urn, before, after)
    yield from _volumes(volumes, before, after)


def the_rest(before: Side, after: Side, told: Collection[str]) -> Iterator[Change]:
    """Yields changes of resources that no other change reports. Components are skipped, but not their children.

    `told`: URNs of the resources in reported changes.
    """
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for urn in _differing(before, after):
        resource = after.resources.get(urn) or before.resources[urn]
        if urn in told or resource.type.startswith((*_NOT_OURS, _AREAS)):
            continue
        verb = "adds" if urn not in before.plain else "removes" if urn not in after.plain else "changes"
        found[verb, resource.type].append(urn)
    for (verb, type_), urns in sorted(found.items()):
        names = [(after.resources.get(urn) or before.resources[urn]).name for urn in urns]
        phase = {"adds": Phase.ADD, "removes": Phase.SHRINK}.get(verb, Phase.ROLL)
        yield Change(
            ChangeKind.OTHER, phase, f"{verb} {type_.rpartition(':')[2]} {join_names(names)}", tuple(sorted(urns))
        )


def _differing(before: Side, after: Side) -> list[str]:
    urns = before.plain.keys() | after.plain.keys()
    return sorted(urn for urn in urns if before.plain.get(urn) != after.plain.get(urn))


def _facts(before: Side, after: Side) -> Iterator[Change]:
    for urn, new in after.plain.items():
        resource = after.resources[urn]
        old = before.plain.get(urn)
        if resource.type not in _FACTS or old is None:
            continue
        told = (old.keys() | new.keys()) - _TOLD_BY_RESOURCES
        keys = sorted(key for key in told if old.get(key) != new.get(key))
        if not keys:
            continue
        what = _FACTS[resource.type] + (f" {new.get('server')}" if resource.type == VirtHostFacts.TYPE else "")
        said = "; ".join(f"{key} from {_plain(old.get(key))} to {_plain(new.get(key))}" for key in keys)
        loosened = resource.type == CloudFacts.TYPE and "profile" in keys and new.get("profile") == LAB
        yield Change(
            ChangeKind.CLOUD_CHANGED,
            Phase.PREPARE,
            f"changes {what}: {said}",
            (urn,),
            risk="In a lab, rules are advisory: an update that production forbids is deployed." if loosened else "",
            level=Risk.RISKY if loosened else Risk.PLAIN,
        )


def _plain(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(str(each) for each in cast("list[object]", value)) or "none"
    return "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def _budgets(before: Side, after: Side) -> Iterator[Change]:
    old = {each.resource.urn: each for each in before.facts.budgets}
    new = {each.resource.urn: each for each in after.facts.budgets}
    for urn in sorted(old.keys() | new.keys()):
        if before.plain.get(urn) != after.plain.get(urn):
            yield _budget(old.get(urn), new.get(urn), before, after)


def _budget(old: Budget | None, new: Budget | None, before: Side, after: Side) -> Change:
    one = new or old
    assert one is not None  # noqa: S101 - one of the two is there
    side = after if new else before
    guarded = [each for each in side.facts.workloads if one.selects(each)]
    looser = _looser(old, new, guarded)
    of = f" of {join_names([title_of(each) for each in guarded])}" if guarded else " of nothing"
    was = old.written if old else "none"
    will = new.written if new else "none"
    selects = "; it selects other pods" if old and new and was == will else ""
    return Change(
        ChangeKind.BUDGET_CHANGED,
        Phase.SHRINK if new is None else Phase.PREPARE,
        f"changes the disruption budget{of}: {was} to {will}{selects}",
        (one.resource.urn,),
        steps=("Change it while no drain runs.",),
        risk="A drain may then take more pods at once than before." if looser else "",
        level=Risk.RISKY if looser else Risk.PLAIN,
    )


def _looser(old: Budget | None, new: Budget | None, guarded: list[Workload]) -> bool:
    if old is None:
        return False
    counts = [each.replicas or 1 for each in guarded] or [1]
    return new is None or any(new.allowed(count) > old.allowed(count) for count in counts)


def _config(urn: str, before: Side, after: Side) -> Change:
    side = after if urn in after.plain else before
    resource = side.resources[urn]
    name = resource.props.at("metadata", "name").text(resource.name)
    keys = _keys(before.plain.get(urn), after.plain.get(urn))
    verb = "adds" if urn not in before.plain else "removes" if urn not in after.plain else "changes"
    stale = [] if verb == "adds" else _unmoved(name, before, after)
    return Change(
        ChangeKind.CONFIG_CHANGED,
        Phase.SHRINK if verb == "removes" else Phase.PREPARE,
        f"{verb} {kubernetes_kind(resource)} {name}" + (f": {join_names(keys)}" if keys and verb == "changes" else ""),
        (urn,),
        risk=f"{join_names(stale)} reads it and is not rolled: it takes effect at the next restart." if stale else "",
        level=Risk.RISKY if stale else Risk.PLAIN,
    )


def _keys(old: dict[str, Any] | None, new: dict[str, Any] | None) -> list[str]:
    one, other = (old or {}), (new or {})
    found: list[str] = []
    for part in ("data", "stringData", "binaryData"):
        before, after = _entries(one.get(part)), _entries(other.get(part))
        found += [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    return sorted(found)


def _entries(part: object) -> Mapping[str, Any]:
    """Returns the entries of a part of a ConfigMap or Secret; none if the engine hides the whole part as a secret."""
    return cast("dict[str, Any]", part) if isinstance(part, dict) else {}


def _unmoved(name: str, before: Side, after: Side) -> list[str]:
    """Returns the titles of unchanged workloads, so not restarted, that mount the ConfigMap or Secret `name`."""
    return [
        title_of(workload)
        for workload in after.facts.workloads
        if before.plain.get(workload.resource.urn) == after.plain[workload.resource.urn] and name in _read_by(workload)
    ]


def _read_by(workload: Workload) -> set[str]:
    """Returns the names of the ConfigMaps and Secrets that the workload's pods mount."""
    found: set[str] = set()
    for volume in workload.pod.at("volumes").items():
        found |= {volume.at("configMap", "name").text(), volume.at("secret", "secretName").text()}
    return found - {""}


def _volumes(urns: Iterable[str], before: Side, after: Side) -> Iterator[Change]:
    """Yields the changes of PersistentVolumes and claims. Volumes that change in the same way are one change."""
    alike: dict[tuple[str, str], list[str]] = defaultdict(list)
    for urn in urns:
        old, new = before.plain.get(urn), after.plain.get(urn)
        verb = "adds" if old is None else "removes" if new is None else "changes"
        keys = [key for key in _spec(old).keys() | _spec(new).keys() if _spec(old).get(key) != _spec(new).get(key)]
        alike[verb, join_names(keys) if verb == "changes" else ""].append(urn)
    for (verb, detail), those in sorted(alike.items()):
        names = [(after.resources.get(urn) or before.resources[urn]).name for urn in those]
        says = f"{verb} {pluralize(len(those), 'volume')}: {join_names(names)}" + (f" ({detail})" if detail else "")
        harmless = verb == "adds" or (verb == "changes" and not detail)
        yield Change(
            ChangeKind.VOLUME_CHANGED,
            {"adds": Phase.ADD, "removes": Phase.REMOVE}.get(verb, Phase.ROLL),
            says,
            tuple(those),
            steps=("Remove the member from its quorum first: the volume is deleted and recreated.",) if detail else (),
            risk="" if harmless else "The data stays on the old volumes and is no longer used.",
            level=Risk.PLAIN if harmless else Risk.RISKY,
        )


def _disk(urn: str, before: Side, after: Side) -> Iterator[Change]:
    """Yields the change of a hand-written libvirt volume. Any change of such a volume replaces it."""
    resource = after.resources.get(urn) or before.resources[urn]
    if urn not in before.plain:
        yield Change(ChangeKind.VOLUME_CHANGED, Phase.ADD, f"adds {resource.name}", (urn,))
        return
    is_gone = urn not in after.plain
    yield Change(
        ChangeKind.DISK_REPLACED,
        Phase.REMOVE if is_gone else Phase.ROLL,
        f"{'removes' if is_gone else 'replaces'} the disk of a virtual machine: {resource.name}",
        (urn,),
        steps=("Drain the machine and remove its members from their quorums.", "Replace it and join again."),
        risk="The data on the disk is lost.",
        level=Risk.RISKY,
    )


def _spec(props: dict[str, Any] | None) -> dict[str, Any]:
    return cast("dict[str, Any]", (props or {}).get("spec") or {})
