"""Physical networks of Neutron: the bridges that a node creates, and the options that name them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from blueprint.plan.planner import plan
from openstack import bridges, configuration, node_values
from openstack.config.formats import public_text
from openstack.config.layers import TextFile, WrittenFile
from tests.stacks import full_size, parsed

TWO = {"physnet1": {"interface": "ens8", "vlans": "200:250,1001:1030"}, "fast": {"bridge": "br-fast"}}


def made(**settings: Any) -> Any:
    return plan(parsed(full_size("100", **settings)))


def written(name: str, service: str = "neutron-l2-agent", **settings: Any) -> WrittenFile:
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
    assert listed() == "br-ex\n"


def test_each_network_has_a_bridge_and_perhaps_an_interface() -> None:
    assert listed(networks=networks(**TWO)) == "br-ex ens8\nbr-fast\n"


def test_neutron_is_told_the_same_networks() -> None:
    agent = public_text(written("openvswitch_agent.ini", networks=networks(**TWO)))
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
        "cmp1.networks": "br-ex eno2\nbr-fast\n",
        "cmp2.networks": "br-ex eno2\nbr-fast eno3\n",
    }


def run(directory: Path, node: str, agent: str) -> tuple[str, ...]:
    """Runs the start script with a stand-in for ovs-vsctl, and returns the commands that it gets, and the output."""
    script, log = directory / "start.sh", directory / "log"
    text = bridges.files({})[0].parts[0]
    assert isinstance(text, str)
    assert node_values.DIRECTORY in text
    text = text.replace(node_values.DIRECTORY, str(directory / "values")).replace("/etc/openvswitch", str(directory))
    script.write_text(text, encoding="utf-8")
    (directory / "openvswitch_agent.ini").write_text(agent, encoding="utf-8")
    (directory / "physical-networks").write_text("br-ex ens8\nbr-fast\n", encoding="utf-8")
    program = directory / "ovs-vsctl"
    program.write_text(f'#!/bin/sh\necho "$*" >>{log}\n', encoding="utf-8")
    program.chmod(0o755)
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
    assert run(tmp_path, "cmp1", "[agent]\n") == (
        f"{CREATE} br-ex -- set bridge br-ex datapath_type=system",
        f"{ADD} br-ex ens8",
        f"{CREATE} br-fast -- set bridge br-fast datapath_type=system",
        "started a b",
    )


def test_bridges_have_the_datapath_of_the_agent(tmp_path: Path) -> None:
    first, *_ = run(tmp_path, "cmp1", "[ovs]\ndatapath_type = netdev\n")
    assert first.endswith("datapath_type=netdev")


def test_a_node_s_own_list_and_values_win(tmp_path: Path) -> None:
    (tmp_path / "values").mkdir()
    (tmp_path / "values" / "cmp1.networks").write_text("br-ex eno2\n", encoding="utf-8")
    (tmp_path / "values" / "cmp1.conf").write_text("[ovs]\ndatapath_type = netdev\n", encoding="utf-8")
    assert run(tmp_path, "cmp1", "[ovs]\ndatapath_type = system\n") == (
        f"{CREATE} br-ex -- set bridge br-ex datapath_type=netdev",
        f"{ADD} br-ex eno2",
        "started a b",
    )
