"""Computes in availability zones by their racks, and what is refused with what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan import availability_zones
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from tests.stacks import full_size, parsed, server

KEY = "quorate:bootstrap.availabilityZones"


def stack(zones: dict[str, list[str]], racks: str | None = "r[1-3]") -> dict[str, Any]:
    """A stack with these zones and three computes. `racks`: the computes' racks; None for none."""
    found = full_size("100", bootstrap={"availabilityZones": zones})
    if racks:
        found["servers"][-1]["rack"] = racks
    return found


def refused(given: dict[str, Any]) -> list[str]:
    with pytest.raises(InvalidStackError) as error:
        plan(parsed(given))
    return list(map(str, error.value.problems))


def test_computes_are_in_the_zone_of_their_rack() -> None:
    given = stack({"az1": ["r[1-2]", "row-b"], "az2": ["r3"]})
    given["servers"].append(server("cmp9", ["compute"], "10.20.4.9", rack="row-b"))
    made = plan(parsed(given))
    found = availability_zones.hosts(made.settings.bootstrap, made.processes, made.nodes)
    assert found == {"az1": ("cmp1", "cmp2", "cmp9"), "az2": ("cmp3",)}, "servers with other roles are in none"


@pytest.mark.parametrize("more", [{}, {"bootstrap": {}}])
def test_without_zones_no_compute_needs_a_rack(more: dict[str, Any]) -> None:
    made = plan(parsed(full_size("100") | more))
    assert availability_zones.hosts(made.settings.bootstrap, made.processes, made.nodes) == {}


def test_computes_without_a_rack_are_named() -> None:
    (said,) = refused(stack({"az1": ["r1"]}, racks=None))
    advice = "write rack: … in their entries, for a pattern of names one such as r[1-3]"
    assert said == f"{KEY}: computes without a rack: cmp1, cmp2, cmp3; {advice}"


def test_computes_in_racks_of_no_zone_and_zones_without_computes_are_named() -> None:
    assert refused(stack({"az1": ["r1"], "az2": ["r9"]})) == [
        f"{KEY}: no zone has the racks of cmp2 (r2), cmp3 (r3); write each rack in a zone",
        f"{KEY}.az2: no compute is in its racks; write racks of computes, or remove it",
    ]
