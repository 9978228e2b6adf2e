"""Networks beside management: addresses by class for each machine, and what is refused with what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from blueprint.plan import class_addresses
from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.inventory import machines
from tests.stacks import full_size, parsed, server

OVERLAY = {"cidr": "10.21.0.0/16"}
USERS = ("controller", "compute")
"""Roles of machines with an L2 agent."""


def stack(overlay: dict[str, Any] | None = OVERLAY, **networks: Any) -> dict[str, Any]:
    """A stack whose machines with an L2 agent have an overlay address. `overlay`: the network; None for no such."""
    found = full_size("100", networks={"management": "10.20.0.0/16", **networks})
    if overlay is not None:
        found["networks"]["overlay"] = overlay
    for entry in found["servers"]:
        if set(entry["roles"]) & set(USERS):
            entry["addresses"] = {"overlay": entry["address"].replace("10.20.", "10.21.")}
    return found


def with_storage(given: dict[str, Any], mtu: int = 9000) -> dict[str, Any]:
    """The stack with a storage network, in which all machines but masters have an address."""
    given["networks"]["storage"] = {"cidr": "10.22.0.0/16", "mtu": mtu}
    for entry in given["servers"]:
        if entry["roles"] != ["master"]:
            entry["addresses"] = entry.get("addresses", {}) | {"storage": entry["address"].replace("10.20.", "10.22.")}
    return given


def refused(given: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(InvalidStackError) as error:
        plan(parsed(given))
    return {each.key: each.message for each in error.value.problems}


def test_addresses_follow_the_number_in_the_name_as_address_does() -> None:
    given = stack()
    given["servers"][3] |= {"name": "cmp[11-13]", "countFrom": 11}
    found = {each.name: each.addresses for each in machines(parsed(given))}
    assert found["cmp11"] == {"overlay": "10.21.4.1"}
    assert found["cmp13"] == {"overlay": "10.21.4.3"}
    assert found["master1"] == {}


def test_virtual_machines_have_addresses_of_their_own() -> None:
    addresses = {"address": "10.20.9.20", "addresses": {"overlay": "10.21.9.20"}}
    vm = {"id": 0, "name": "net[1-2]", "cpu": 2, "ram": 4, "roles": ["controller"], **addresses}
    given = stack()
    given["servers"].append(server("virt[1-2]", ["virt"], "10.20.9.1", vms=[vm]))
    given["features"] = ["reduced-footprint"]
    found = {each.name: each.addresses for each in machines(parsed(given))}
    assert found["net2"] == {"overlay": "10.21.9.21"}
    assert found["virt2"] == {}


def test_a_whole_stack_is_accepted() -> None:
    assert plan(parsed(stack({**OVERLAY, "mtu": 9000}))).nodes


def test_a_network_of_which_no_machine_has_an_address() -> None:
    given = stack()
    for entry in given["servers"]:
        entry.pop("addresses", None)
    assert refused(given) == {
        "quorate:servers": "no address in the overlay network, which neutron-l2-agent uses: ctl01, ctl02, ctl03, cmp1, "
        "cmp2 and 1 more; write addresses: {overlay: …} in their entries, for a pattern the address of number 1"
    }


def test_osds_and_the_clients_of_ceph_need_a_storage_address() -> None:
    assert plan(parsed(with_storage(stack()))).nodes
    given = with_storage(stack())
    del given["servers"][2]["addresses"]
    assert "in the storage network, which ceph-osd uses: stor1, stor2, stor3;" in refused(given)["quorate:servers"]
    given = with_storage(stack())
    del given["servers"][3]["addresses"]["storage"]
    assert "in the storage network, which nova-compute uses: cmp1, cmp2, cmp3;" in refused(given)["quorate:servers"]


def test_computes_need_a_migration_address() -> None:
    given = stack()
    given["networks"]["migration"] = {"cidr": "10.23.0.0/16"}
    assert "in the migration network, which nova-compute uses: cmp1, cmp2, cmp3;" in refused(given)["quorate:servers"]
    given["servers"][3]["addresses"]["migration"] = "10.23.4.1"
    assert plan(parsed(given)).nodes


def test_a_network_that_no_service_uses() -> None:
    settings = parsed(with_storage(stack()))
    assert [str(each) for each in class_addresses.problems(settings, (), ())] == [
        "quorate:networks.overlay: the stack has no neutron-l2-agent, which alone uses it; remove it",
        "quorate:networks.storage: the stack has no ceph-osd, which alone uses it; remove it",
    ]


def test_addresses_without_their_network() -> None:
    found = refused(stack(None))
    assert found["quorate:servers[3] (cmp[1-3]).addresses.overlay"] == (
        "the stack has no overlay network; write quorate:networks.overlay, such as {cidr: 10.21.0.0/16}, or remove the "
        "address"
    )


@pytest.mark.parametrize(
    ("overlay", "key", "message"),
    [
        ({"cidr": "10.20.128.0/17"}, "quorate:networks.overlay", "10.20.128.0/17 overlaps management 10.20.0.0/16"),
        ({"cidr": "172.16.0.0/16"}, "quorate:networks.overlay", "172.16.0.0/16 overlaps pods 172.16.0.0/13"),
        ({"cidr": "127.0.0.0/8"}, "quorate:networks.overlay", "127.0.0.0/8 is a loopback address"),
        (
            {"cidr": "10.22.0.0/16"},
            "quorate:servers",
            "ctl01 has 10.21.0.31, outside of overlay 10.22.0.0/16; write one inside (8 more machines have this error)",
        ),
        (
            {**OVERLAY, "mtu": 1300},
            "quorate:networks.overlay.mtu",
            "1300 leaves 1250 bytes for a packet of a project's network, because VXLAN adds 50, and IPv6 needs 1280; "
            "write 1330 or more, best 1550 or more",
        ),
        ({**OVERLAY, "mtu": 9300}, "quorate:networks.overlay.mtu", "9300 does not fit; write 9216 or less"),
        ({}, "quorate:networks.overlay.cidr", "is missing; write it"),
    ],
)
def test_a_network_that_cannot_be(overlay: dict[str, Any], key: str, message: str) -> None:
    assert message in refused(stack(overlay)).get(key, "")


def test_addresses_that_cannot_be() -> None:
    given = stack()
    given["servers"][3]["addresses"] = {"overlay": "10.21.0.36"}
    assert refused(given)["quorate:servers"] == "ctl06 and cmp1 have one overlay address, 10.21.0.36; give each its own"
    given["servers"][3]["addresses"] = {"overlay": "10.21.255.253"}
    assert "cmp3 has 10.21.255.255, the first or last address of overlay" in refused(given)["quorate:servers"]
    given["servers"][3]["addresses"] = {"overlay": "255.255.255.254"}
    assert refused(given)["quorate:servers[3] (cmp[1-3]).addresses.overlay"].startswith(
        "255.255.255.254 and 2 further on"
    )
    given["servers"][3]["addresses"] = {"tunnel": "10.21.0.1"}
    assert refused(given)["quorate:servers[3].addresses.tunnel (cmp[1-3])"] == (
        "'tunnel' is not known; write one of: overlay, storage, migration"
    )


def test_a_management_address_inside_of_the_network() -> None:
    given = stack()
    given["networks"].pop("management")
    given["servers"][0]["address"] = "10.21.7.1"
    assert "master1 has 10.21.7.1, inside of the overlay network 10.21.0.0/16" in refused(given)["quorate:servers"]
