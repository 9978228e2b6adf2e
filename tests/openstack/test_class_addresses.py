"""Services use the addresses of their nodes in networks beside management, and nothing else of a stack changes."""

from __future__ import annotations

from functools import cache
from typing import Any

import pulumi

from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from openstack import configuration
from openstack.config.layers import ConfigFile
from tests.blueprint.stackfile.test_class_networks import OVERLAY, stack
from tests.recording import Recorded, record
from tests.stacks import full_size, parsed


@cache
def objects(*, overlay: bool) -> dict[str, Recorded]:
    """The Kubernetes objects and machines of a stack, by resource name."""
    given = stack() if overlay else full_size("100", networks={"management": "10.20.0.0/16"})
    made = plan(parsed(given))

    def build() -> None:
        Cloud("cloud", CloudArgs(made, "test", Render("test"), pulumi.Output.secret("root")))

    return {f"{each.type} {each.name}": each for each in record(build)}


def options(overlay: dict[str, Any], file: str) -> dict[str, dict[str, object]]:
    made = plan(parsed(stack(overlay)))
    found = next(each for each in configuration.of_service(made, "neutron-server") if each.name == file)
    assert isinstance(found, ConfigFile)
    document = found.document()
    return {section: {name: each.value for name, each in values.items()} for section, values in document.items()}


def test_tunnels_end_at_the_overlay_addresses() -> None:
    maps = {
        name: each.inputs["data"] for name, each in objects(overlay=True).items() if name.endswith("l2-agent-nodes")
    }
    assert list(maps.values()) == [
        {f"cmp{number}.conf": f"[ovs]\nlocal_ip = 10.21.4.{number}\n" for number in (1, 2, 3)},
    ]
    network = next(each for name, each in objects(overlay=True).items() if name.endswith("l2-agent-network-nodes"))
    assert network.inputs["data"].keys() == {"ctl01.conf", "ctl02.conf", "ctl03.conf"}
    assert network.inputs["data"]["ctl03.conf"] == "[ovs]\nlocal_ip = 10.21.0.33\n"


def test_the_network_adds_config_maps_and_facts_of_machines_and_changes_nothing_else() -> None:
    without, with_network = objects(overlay=False), objects(overlay=True)
    added = {name.rpartition(" ")[2] for name in with_network.keys() - without.keys()}
    agent = "cloud-openstack-neutron-l2-agent"
    assert added == {f"{agent}-nodes", f"{agent}-network-nodes"}
    changed = {name for name, each in without.items() if each.inputs != with_network[name].inputs}
    assert changed
    assert {with_network[name].type for name in changed} == {"quorate:machine:Machine", "quorate:machine:MachinePool"}


def test_networks_of_projects_use_the_mtu_of_the_overlay() -> None:
    assert "global_physnet_mtu" not in options(OVERLAY, "neutron.conf")["DEFAULT"]
    assert "path_mtu" not in options(OVERLAY, "ml2_conf.ini")["ml2"]
    large = {**OVERLAY, "mtu": 9000}
    assert options(large, "neutron.conf")["DEFAULT"]["global_physnet_mtu"] == 9000
    ml2 = options(large, "ml2_conf.ini")["ml2"]
    assert (ml2["path_mtu"], ml2["physical_network_mtus"]) == (9000, ("physnet1:1500",))
    small = {**OVERLAY, "mtu": 1400}
    assert "global_physnet_mtu" not in options(small, "neutron.conf")["DEFAULT"]
    ml2 = options(small, "ml2_conf.ini")["ml2"]
    assert ml2["path_mtu"] == 1400
    assert "physical_network_mtus" not in ml2
