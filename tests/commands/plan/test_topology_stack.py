"""`quorate topology --to-stack`: the stack file of a topology loads, and has the plan of the topology."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.command_line import main
from tests.topologies import REAL, numbered

FILES = [
    *(file for file in sorted(REAL.glob("*.yaml")) if "golden" not in file.name),
    REAL / "texts/2.1.4-environment.yaml",
]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def stack_of(text: str, capsys: pytest.CaptureFixture[str], nodes: int = 3) -> Path:
    Path("topology.yaml").write_text(text)
    assert main(["topology", "topology.yaml", "--nodes", ",".join(numbered(nodes)), "--to-stack"]) == 0
    file = Path("Pulumi.made.yaml")
    file.write_text(capsys.readouterr().out)
    return file


@pytest.mark.parametrize("source", FILES, ids=lambda file: file.name)
def test_the_stack_of_a_topology_has_its_plan(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for included in source.parent.glob("2.1.4-common.yaml"):
        Path(included.name).write_text(included.read_text())
    check_plan(stack_of(source.read_text(), capsys, nodes=9))


CONFIGURED = """
nodes: {'node[1-3]$': {roles: [all], configs: {nova: {debug: true}}}}
roles: {all: [database, rpc, notifications, keystone, memcached, glance-api, neutron-server, neutron-openvswitch-agent,
              nova-api, nova-conductor, nova-scheduler, nova-compute]}
services: {database: {service_def: galera}, rpc: {service_def: rabbitmq}, notifications: {service_def: rabbitmq}}
configs:
  ingress: {enabled: true}
  nova: {virt_type: qemu}
  neutron:
    ml2: {tenant_network_types: [vlan]}
    physnets: [{name: a, bridge_name: br-a, vlan_range: "1:9"}]
    bootstrap: {internal: {net_name: lan}}
"""


def test_configuration_becomes_settings_of_the_stack_file(capsys: pytest.CaptureFixture[str]) -> None:
    file = stack_of(CONFIGURED, capsys)
    config = yaml.safe_load(file.read_text())["config"]
    assert config["quorate:networks"] == {"physical": {"a": {"bridge": "br-a", "vlans": "1:9"}}}
    assert config["quorate:projects"]["nova"]["options"]["nova.conf"]["libvirt"] == {"virt_type": "qemu"}
    assert config["quorate:nodes"]["node3"]["services"]["nova-compute"]
    check_plan(file)


def check_plan(file: Path) -> None:
    """Compares a stack file's plan with that of the same servers and topology, without the settings in the file."""
    written = plan(load_file(file))
    document = yaml.safe_load(file.read_text())
    kept = ("quorate:profile", "quorate:machines", "quorate:topology", "quorate:servers")
    file.write_text(yaml.safe_dump({"config": {key: document["config"][key] for key in kept}}))
    plain = plan(load_file(file))
    assert plain == replace(written, settings=plain.settings)
    assert plain.settings.model_dump() == written.settings.model_dump()


def test_a_refused_topology_has_no_stack(capsys: pytest.CaptureFixture[str]) -> None:
    Path("topology.yaml").write_text(
        CONFIGURED.replace("virt_type: qemu", "dvrr: 1").replace("ml2:", "dvr: 1\n    ml2:")
    )
    assert main(["topology", "topology.yaml", "--nodes", "node1,node2,node3", "--to-stack"]) == 1
    output = capsys.readouterr()
    assert output.out == ""
    assert "configs.nova.dvrr: " in output.err
    assert "configs.neutron.dvr: is 1; write true or false" in output.err


def test_a_topology_outside_of_the_project_is_not_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    Path("topology.yaml").write_text(CONFIGURED)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(inner)
        assert main(["topology", "../topology.yaml", "--nodes", "node1,node2,node3", "--to-stack"]) == 1
    assert "is outside of this project" in capsys.readouterr().err


def test_a_stack_is_of_one_topology(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.yaml").write_text(CONFIGURED)
    assert main(["topology", "a.yaml", "a.yaml", "--nodes", "node1", "--to-stack"]) == 1
    assert "a stack is one environment; write one FILE" in capsys.readouterr().err
