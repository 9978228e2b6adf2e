"""A machine's name determines its address, rack and pool: removing or adding one changes no other."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from blueprint.patterns import expand
from blueprint.plan.plan import Plan
from blueprint.plan.plan_json import to_json
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.inventory import machines
from blueprint.stackfile.loader import load_file
from tests.stacks import full_size, parsed, server

FOLDER = Path(__file__).parents[2] / "data" / "identity"
CASES: list[dict[str, Any]] = yaml.safe_load((FOLDER / "cases.yaml").read_text(encoding="utf-8"))
ROLES = ("controller", "monitoring", "master", "compute", "storage")
relaxed = hypothesis_settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pools(result: Plan) -> dict[str, str]:
    return {node.name: node.pool for node in result.nodes}


def changes(before: dict[str, str], after: dict[str, str]) -> dict[str, list[str]]:
    """Nodes of `before` by pool that are not in that pool after."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, pool in before.items():
        if after.get(name) != pool:
            found[pool].append(name)
    return dict(found)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['before']}-{case['after']}")
def test_a_change_moves_what_it_says(case: dict[str, Any]) -> None:
    before, after = (plan(load_file(FOLDER / f"{case[side]}.yaml")) for side in ("before", "after"))
    was, now = pools(before), pools(after)
    leaves = {pool: names for pool, names in changes(was, now).items() if pool != "controller"}
    assert leaves == case["leaves"]
    assert changes(now, was) == case["joins"]
    assert [name for name in was if name in now and was[name] != now[name]] == case["moves"]
    where = {node.name: (node.address, node.rack) for node in before.nodes}
    differ = [node.name for node in after.nodes if node.name in where and where[node.name] != (node.address, node.rack)]
    assert differ == case.get("readdressed", [])


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("ctl[01-02,04-10]", {"ctl01": (".31", "r1"), "ctl02": (".32", "r2"), "ctl04": (".34", "r1")}),
        ("ctl[02,04]", {"ctl02": (".32", "r2"), "ctl04": (".34", "r1")}),
        ("ctl[4-5]x", {"ctl4x": (".34", "r1"), "ctl5x": (".35", "r2")}),
    ],
)
def test_address_and_rack_follow_the_number(name: str, places: dict[str, tuple[str, str]]) -> None:
    found = {one.name: one for one in machines(parsed(stack([server(name, ["compute"], "10.20.9.31", rack="r[1-3]")])))}
    assert {each: (found[each].address[7:], found[each].rack) for each in places} == places


def test_count_from_says_whose_the_address_is() -> None:
    entry = server("cmp[101-103]", ["compute"], "10.20.9.1", rack="r[1-2]", countFrom=101)
    found = [(one.name, one.address, one.rack) for one in machines(parsed(stack([entry])))]
    assert ("cmp101", "10.20.9.1", "r1") in found
    assert ("cmp103", "10.20.9.3", "r1") in found


def test_a_name_without_a_bracket_has_the_address_as_written() -> None:
    found = {one.name: one.address for one in machines(parsed(stack([server("cmp7", ["compute"], "10.20.9.1")])))}
    assert found["cmp7"] == "10.20.9.1"


def test_virtual_machines_follow_the_number_of_their_server() -> None:
    vms = [
        {"id": 0, "name": "ctl[4,6-7]", "cpu": 4, "ram": 8, "address": "10.20.9.40", "roles": ["controller"]},
        {"id": 1, "cpu": 4, "ram": 8, "address": "10.20.9.60", "roles": ["controller"]},
    ]
    entry = server("virt[1,3-4]", ["virt"], "10.20.9.1", rack="r[1-3]", vms=vms)
    found = {one.name: one for one in machines(parsed(stack([entry], features=["reduced-footprint"])))}
    places = {name: (one.server, one.address[6:], one.rack) for name, one in found.items() if one.virtual}
    assert places == {
        "ctl4": ("virt1", "9.40", "r1"),
        "ctl6": ("virt3", "9.42", "r3"),
        "ctl7": ("virt4", "9.43", "r1"),
        "virt1-vm1": ("virt1", "9.60", "r1"),
        "virt3-vm1": ("virt3", "9.62", "r3"),
        "virt4-vm1": ("virt4", "9.63", "r1"),
    }


def stack(servers: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    masters = server("m[1-3]", ["master"], "10.20.0.1")
    return {"profile": "production", "architecture": "100", "servers": [masters, *servers], **more}


def refusal(config: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidStackError) as caught:
        plan(parsed(config))
    return [str(problem) for problem in caught.value.problems]


def controllers(count: int = 6, **more: Any) -> dict[str, Any]:
    return server(f"ctl[1-{count}]", ["controller"], "10.20.9.1", **more)


def on_hosts(**vm: Any) -> list[dict[str, Any]]:
    facts = {"id": 0, "cpu": 4, "ram": 8, "address": "10.20.9.101", "roles": ["controller"], **vm}
    return [server("virt[1,3]", ["virt"], "10.20.9.1", vms=[facts])]


WRONG: dict[str, tuple[list[dict[str, Any]], str]] = {
    "several brackets": (
        [server("r[1-2]s[1-4]", ["compute"], "10.20.9.1")],
        "'r[1-2]s[1-4]' has 2 brackets; a server's address and rack follow one number: write an entry for each, such "
        "as r1s[1-4]",
    ),
    "a number twice": (
        [server("cmp[1-3,2]", ["compute"], "10.20.9.1")],
        "'cmp[1-3,2]' names cmp2 twice; write each number once",
    ),
    "a number before the first": (
        [server("cmp[0-3]", ["compute"], "10.20.9.1")],
        "'cmp[0-3]' has the number 0, and address and rack count from 1; write countFrom: 0 and the address of that "
        "number",
    ),
    "racks of one server": (
        [server("cmp7", ["compute"], "10.20.9.1", rack="r[1-3]")],
        "'cmp7' is one server, and 'r[1-3]' are 3 racks; write its own",
    ),
    "a virtual machine that would change its server": (
        on_hosts(name="ctl[4-5]"),
        "the numbers of 'ctl[4-5]' do not follow those of the servers: ctl4 is on virt1, so the virtual machine of "
        "each server has its server's number plus 3; write these",
    ),
    "a pool of another entry's name": (
        [controllers(pool={"mysqld": "ctl[5-7]"})],
        ".pool: 'ctl[5-7]' names ctl7, which this entry does not have; write names of the entry alone",
    ),
    "a pool whose pattern is none": (
        [controllers(pool={"mysqld": "ctl[a]"})],
        ".pool: '[a]' in 'ctl[a]' is not a valid range; write for example [01-09] or [1,3,5-7]",
    ),
    "two pools of one name": (
        [controllers(pool={"mysqld": "ctl[1-3]", "rabbitmq": "ctl[3-5]"})],
        ".pool: ctl3 is written for mysqld and for rabbitmq; write it once",
    ),
    "an unknown pool": (
        [controllers(pool={"mysql": "ctl1"})],
        "quorate:servers (ctl1).pool: there is no pool 'mysql' (did you mean 'mysqld'?); write one of: mysqld, "
        "rabbitmq, or controller for a node that is dedicated to none of them",
    ),
    "a pool that the role does not admit": (
        [controllers(), server("mon1", ["monitoring"], "10.20.9.20", pool="mysqld")],
        "quorate:servers (mon1).pool: mysqld-server takes no node of role monitoring; remove pool",
    ),
    "a pool of a compute": (
        [controllers(), server("cmp1", ["compute"], "10.20.9.20", pool="compute")],
        "quorate:servers (cmp1).pool: only nodes of role controller or monitoring have a choice of pools; remove pool",
    ),
    "too many of a pool": (
        [controllers(8, pool={"mysqld": "ctl[1-4]"})],
        "quorate:servers.pool: mysqld-server has 3 nodes, pool mysqld is written beside 4 (ctl1, ctl2, ctl3, ctl4); "
        "remove it from 1, or write quorate:services.mysqld.replicas: 4",
    ),
    "too few that are free": (
        [controllers(7, pool={"mysqld": "ctl[1-3]", "controller": "ctl[4-5]"})],
        "quorate:servers: rabbitmq-server needs 3 nodes, 2 are free or written for it; 2 are reserved for pool "
        "controller (ctl4, ctl5): write pool rabbitmq beside 1 of them, or add 1 with role controller",
    ),
    "a quorum's pool twice on one host": (
        [
            server("v1", ["virt"], "10.20.9.1", memory=512, vms=[
                {"id": i, "cpu": 4, "ram": 8, "address": f"10.20.9.{50 + i}", "roles": ["controller"], "pool": "mysqld"}
                for i in range(2)
            ]),
            {**controllers(count=9), "address": "10.20.9.21"},
        ],
        "quorate:servers.pool: pool mysqld is written beside v1-vm0 and v1-vm1, which share the physical host v1; "
        "members of a quorum share none: write it beside one of them",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_is_one_clear_error(name: str) -> None:
    servers, said = WRONG[name]
    found = refusal(stack(servers, features=["reduced-footprint"]))
    assert len([text for text in found if said in text]) == 1, found
    assert len([text for text in found if "dedicates 6 nodes" not in text]) == 1, found


def test_a_written_pool_and_a_topology_contradict_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    topology = tmp_path / "topology.yaml"
    topology.write_text("nodes: {'ctl.*': {roles: [all]}}\nroles: {all: [keystone]}\n", encoding="utf-8")
    config = stack([{**controllers(pool={"mysqld": "ctl1"}), "roles": []}], topology="topology.yaml")
    said = "quorate:servers[1] (ctl[1-6]).pool: the topology gives the pools; remove pool"
    assert said in refusal(config)


@st.composite
def pinned_stacks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Controllers, one entry each, some in pools as the planner chose, with others that are free."""
    count = 6 + draw(st.integers(1, 5))
    numbers = draw(st.lists(st.integers(1, 40), min_size=count, max_size=count, unique=True))
    entries = [server(f"c[{number}]", ["controller"], "10.20.1.1", rack="r[1-3]") for number in numbers]
    chosen = {node.name: node for node in plan(parsed(stack(entries))).nodes}
    for entry, number in zip(entries, numbers, strict=True):
        node = chosen[f"c{number}"]
        if node.dedicated_to and draw(st.booleans()):
            entry["pool"] = node.pool
    return entries


def standing(result: Plan, *, pinned: bool = True) -> dict[str, tuple[Any, ...]]:
    """Returns address, rack, pool and quorum members of each node, for pinned nodes or for all nodes."""
    owners = {row.service for row in result.architecture.owners}
    work: dict[str, set[str]] = defaultdict(set)
    for each in result.assignment:
        if each.service in owners:
            work[each.node].add(each.service)
    return {
        node.name: (node.address, node.rack, node.pool, frozenset(work[node.name]))
        for node in result.nodes
        if node.machine.pin or not pinned
    }


@relaxed
@given(pinned_stacks(), st.data())
def test_removing_a_server_changes_no_other_pinned_one(entries: list[dict[str, Any]], data: st.DataObject) -> None:
    gone = data.draw(st.sampled_from(entries))
    before = standing(plan(parsed(stack(entries))))
    after = standing(plan(parsed(stack([entry for entry in entries if entry is not gone]))))
    assert after == {name: facts for name, facts in before.items() if f"c[{name[1:]}]" != gone["name"]}


@relaxed
@given(pinned_stacks(), st.integers(41, 60))
def test_adding_a_server_changes_no_pinned_one(entries: list[dict[str, Any]], number: int) -> None:
    more = server(f"c[{number}]", ["controller"], "10.20.1.1", rack="r[1-3]")
    before, after = (plan(parsed(stack(each))) for each in (entries, [*entries, more]))
    assert standing(before) == standing(after)


@relaxed
@given(pinned_stacks(), st.sampled_from(["mysqld", "rabbitmq"]))
def test_a_count_that_grows_takes_only_free_nodes(entries: list[dict[str, Any]], service: str) -> None:
    assume(len(entries) >= 8)
    before = plan(parsed(stack(entries)))
    # The network agents on RabbitMQ's nodes need a Neutron server and a metadata agent on each of them.
    beside = ("neutron-server", "neutron-metadata-agent") if service == "rabbitmq" else ()
    services = {name: {"replicas": 5} for name in (service, *beside)}
    after = plan(parsed(stack(entries, services=services)))
    was, now = pools(before), pools(after)
    assert {was[name] for name in now if was[name] != now[name]} == {"controller"}
    assert {now[name] for name in now if was[name] != now[name]} == {service}


@relaxed
@given(pinned_stacks(), st.randoms(use_true_random=False))
def test_the_order_of_entries_does_not_matter(entries: list[dict[str, Any]], random: Any) -> None:
    shuffled = random.sample(entries, len(entries))
    assert to_json(plan(parsed(stack(entries)))) == to_json(plan(parsed(stack(shuffled))))


@relaxed
@given(st.integers(6, 12), st.data())
def test_without_pins_one_that_goes_costs_one_move_at_most(count: int, data: st.DataObject) -> None:
    """Numbered from 1 on, as a pattern has them: only the free one moves, to take the place."""
    gone = data.draw(st.integers(1, count))
    assume(count > 6)
    all_of_them = pools(plan(parsed(stack([controllers(count)]))))
    numbers = ",".join(str(number) for number in range(1, count + 1) if number != gone)
    rest = pools(plan(parsed(stack([{**controllers(count), "name": f"ctl[{numbers}]"}]))))
    moved = {name: pool for name, pool in rest.items() if all_of_them[name] != pool}
    assert len(moved) == (1 if gone <= 6 else 0)
    assert all(all_of_them[name] == "controller" for name in moved)


def test_a_server_that_only_carries_virtual_machines_needs_no_host_key() -> None:
    """The target live does not log in to it, unless it makes the virtual machines there."""
    stack = full_size("100", target="live")
    stack["features"] = ["reduced-footprint"]
    key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGXqs8CyFbxQiLxeSStFVrwAOGXvJ5DtYNBNv1YYcF0c"
    for each in stack["servers"]:
        each["hostKey"] = dict.fromkeys(expand(each["name"]), key)
    guest = {"id": 0, "name": "cmp9", "cpu": 4, "ram": 8, "address": "10.20.9.2", "roles": ["compute"]}
    stack["servers"].append(server("host9", ["virt"], "10.20.9.1", vms=[guest]))
    with pytest.raises(InvalidStackError) as caught:
        machines(parsed(stack))
    assert [str(each) for each in caught.value.problems] == [
        "quorate:servers: target live logs in to machines by SSH, and cmp9 have no hostKey; write the line of "
        "/etc/ssh/ssh_host_ed25519_key.pub of each"
    ]
