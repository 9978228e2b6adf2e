"""Physical networks of Neutron: the bridges that a node creates, and the options that name them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from blueprint.openstack.projects.process_definition import Backend
from blueprint.plan.planner import plan
from openstack import bridges, configuration, node_values
from openstack.config.formats import public_text
from openstack.config.layers import TextFile, WrittenFile
from tests.stacks import full_size, parsed

TWO = {"physnet1": {"interface": "ens8", "vlans": "200:250,1001:1030"}, "fast": {"bridge": "br-fast"}}


def made(**settings: Any) -> Any:
    return plan(parsed(full_size("100", **settings)))


def written(name: str, service: str = "openvswitch-vswitchd", **settings: Any) -> WrittenFile:
    files = configuration.of_service(made(**settings), service)
    return next(file for file in files if file.name == name)


def listed(**settings: Any) -> str:
    file = written(bridges.LIST.name, **settings)
    assert isinstance(file, TextFile)
    (text,) = file.parts
    assert isinstance(text, str)
    return text


def networks(**physical: Any) -> dict[str, Any]:
    return {"management": "10.20.0.0/16", "physical": physical}


def test_without_settings_there_is_one_bridge_without_an_interface() -> None:
    assert listed() == "br-ex system\n"


def test_each_network_has_a_bridge_and_perhaps_an_interface() -> None:
    assert listed(networks=networks(**TWO)) == "br-ex system ens8\nbr-fast system\n"


def test_neutron_is_told_the_same_networks() -> None:
    agent = public_text(written("openvswitch_agent.ini", "neutron-l2-agent", networks=networks(**TWO)))
    plugin = public_text(written("ml2_conf.ini", "neutron-server", networks=networks(**TWO)))
    assert agent
    assert plugin
    assert "bridge_mappings = physnet1:br-ex,fast:br-fast\n" in agent
    assert "flat_networks = physnet1,fast\n" in plugin
    assert "network_vlan_ranges = physnet1:200:250,physnet1:1001:1030,fast\n" in plugin


def test_only_nodes_with_interfaces_of_their_own_get_a_list() -> None:
    nodes = {"cmp[1-2]": {"interfaces": {"physnet1": "eno2"}}, "cmp2": {"interfaces": {"fast": "eno3"}}}
    settings = made(networks=networks(**TWO), nodes=nodes).settings
    assert bridges.texts(settings, ["cmp1", "cmp2", "cmp3"]) == {
        "cmp1.networks": "br-ex system eno2\nbr-fast system\n",
        "cmp2.networks": "br-ex system eno2\nbr-fast system eno3\n",
    }


def datapath(value: str, name: str = "datapath_type") -> dict[str, Any]:
    return {"options": {"openvswitch_agent.ini": {"ovs": {name: value}}}}


def test_bridges_have_the_datapath_of_the_agents() -> None:
    """Of the project, of the agent's own options, and of single nodes, each before the last."""
    assert listed(projects={"neutron": datapath("netdev")}) == "br-ex netdev\n"
    assert listed(projects={"neutron": datapath("x")}, services={"neutron-l2-agent": datapath("netdev")}) == (
        "br-ex netdev\n"
    )
    own = {"cmp[2-3]": {"services": {"neutron-l2-agent": datapath("netdev", "datapath-type")}}}
    settings = made(nodes=own).settings
    assert bridges.texts(settings, ["cmp1", "cmp2"]) == {"cmp2.networks": "br-ex netdev\n"}
    settings = made(nodes=own, services={"neutron-l2-agent": datapath("netdev")}).settings
    assert bridges.texts(settings, ["cmp1", "cmp2"]) == {}


def run(directory: Path, node: str, backend: Backend = "ovs") -> tuple[str, ...]:
    """Runs the start script with stand-ins for ovs-vsctl and sleep; returns their commands, and the output."""
    script, log = directory / "start.sh", directory / "log"
    text = bridges.files({}, "system", backend)[0].parts[0]
    assert isinstance(text, str)
    assert node_values.DIRECTORY in text
    text = text.replace(node_values.DIRECTORY, str(directory / "values")).replace("/etc/openvswitch", str(directory))
    script.write_text(text, encoding="utf-8")
    (directory / "physical-networks").write_text("br-ex system ens8\nbr-fast netdev\n", encoding="utf-8")
    for program, line in (("ovs-vsctl", '"$*"'), ("sleep", '"sleep $*"')):
        (directory / program).write_text(f"#!/bin/sh\necho {line} >>{log}\n", encoding="utf-8")
        (directory / program).chmod(0o755)
    done = subprocess.run(
        ["sh", "-e", script, "echo", "started", "a b"],
        env={"PATH": f"{directory}:/usr/bin:/bin", node_values.VARIABLE: node},
        capture_output=True,
        text=True,
        check=True,
    )
    return (*log.read_text(encoding="utf-8").splitlines(), done.stdout.strip())


CREATE = "--retry --timeout=120 --no-wait --may-exist add-br"
ADD = "--timeout=30 --no-wait --may-exist add-port"


def test_the_start_script_creates_the_bridges_and_then_starts_the_program(tmp_path: Path) -> None:
    assert run(tmp_path, "cmp1") == (
        f"{CREATE} br-ex -- set bridge br-ex datapath_type=system",
        f"{ADD} br-ex ens8",
        f"{CREATE} br-fast -- set bridge br-fast datapath_type=netdev",
        "sleep 6",
        "started a b",
    )


def test_with_ovn_the_program_starts_at_once(tmp_path: Path) -> None:
    """ovn-controller does not need the pause of Neutron's L2 agent, and packets would wait for it."""
    assert run(tmp_path, "cmp1", "ovn")[-2:] == (
        f"{CREATE} br-fast -- set bridge br-fast datapath_type=netdev",
        "started a b",
    )


def test_a_node_s_own_list_wins(tmp_path: Path) -> None:
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "cmp1.networks").write_text("br-ex netdev eno2\n", encoding="utf-8")
    assert run(tmp_path, "cmp1") == (
        f"{CREATE} br-ex -- set bridge br-ex datapath_type=netdev",
        f"{ADD} br-ex eno2",
        "sleep 6",
        "started a b",
    )
