"""Properties that every difference of two stacks has, tested with generated stacks."""

from __future__ import annotations

import copy
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from changes.change import Change, ChangeKind
from policy.findings import resource_name
from tests.changes.worlds import CLOUD, DOMAIN, compared, edited, vm, without
from tests.policy.test_unknown import paths
from tests.policy.world import UNKNOWN, Given

KEPT = ("cloud", "master", "rabbitmq", "keystone", "compute", "vm", "etcd", "config", "domain", "step")
SMALL = [
    each
    for each in [
        *edited(CLOUD, "cloud", release="2026.1"),
        *(vm(f"vm-{number}", "rabbitmq", f"virt{number}", definition={"domain.xml": DOMAIN}) for number in (1, 2)),
        Given("kubernetes:core/v1:ConfigMap", "config", {"metadata": {"name": "config"}, "data": {"a": "1"}}),
        Given("libvirt:index/domain:Domain", "domain", {"memory": 1024}),
        Given("command:remote:Command", "step", {"create": "true"}),
    ]
    if each.name.startswith(KEPT)
]
COMPONENTS = ("pulumi:", "quorate:")


@st.composite
def others(draw: st.DrawFn) -> list[Given]:
    """Generates changes of the small cloud: removed resources, and changed or unknown values."""
    gone = draw(st.sets(st.sampled_from([each.urn for each in SMALL]), max_size=3))
    left = [each for each in SMALL if each.urn not in gone]
    for _ in range(draw(st.integers(0, 3))):
        index = draw(st.integers(0, len(left) - 1))
        where = list(paths(left[index].props))
        if where:
            left[index] = changed(
                left[index], draw(st.sampled_from(where)), draw(st.sampled_from(["other", 7.0, UNKNOWN]))
            )
    return draw(st.permutations(left))


def changed(one: Given, path: tuple[str | int, ...], value: object) -> Given:
    props = copy.deepcopy(one.props)
    holder: Any = props
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return Given(one.type, one.name, props)


def differing(before: list[Given], after: list[Given]) -> set[str]:
    """Returns the URNs of resources that differ, without components and providers."""
    one, other = ({each.urn: each for each in side} for side in (before, after))
    urns = {urn for urn in one.keys() | other.keys() if one.get(urn) != other.get(urn)}
    return {urn for urn in urns if not urn.split("::")[2].startswith(COMPONENTS)}


@settings(max_examples=40, deadline=None)
@given(others())
def test_the_same_twice_is_no_change(world: list[Given]) -> None:
    assert [each for each in compared(world, world[::-1]) if each.resources] == []


@settings(max_examples=80, deadline=None)
@given(others())
def test_no_difference_is_passed_over(world: list[Given]) -> None:
    told = {urn for change in compared(SMALL, world) for urn in change.resources}
    assert differing(SMALL, world) <= told


@settings(max_examples=40, deadline=None)
@given(others())
def test_the_order_of_resources_means_nothing(world: list[Given]) -> None:
    assert compared(SMALL, world) == compared(SMALL[::-1], sorted(world, key=lambda each: each.urn))


@settings(max_examples=40, deadline=None)
@given(others())
def test_changes_come_in_the_order_of_their_phases(world: list[Given]) -> None:
    phases = [each.phase for each in compared(SMALL, world)]
    assert phases == sorted(phases)


def test_other_names_of_all_machines_change_nothing_but_names() -> None:
    """If all machines have other names on both sides, the changes are the same but for the names."""

    def renamed(world: list[Given]) -> list[Given]:
        return [Given(each.type, each.name, _other(each.props)) for each in world]

    def kinds(changes: list[Change]) -> list[tuple[ChangeKind, str]]:
        return [(each.kind, resource_name(each.resources[0])) for each in changes]

    before, after = SMALL, without(edited(SMALL, "vm-1", "Machine", allocatable={"cpu": 4, "memory": 16}), "vm-2")
    assert kinds(compared(renamed(before), renamed(after))) == kinds(compared(before, after))


def _other(props: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(props).replace("vm-", "renamed-").replace("master-", "chief-"))
