"""The settings that a topology's configuration adds to a stack, and how those of the stack file stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.settings import Settings
from tests.stacks import parsed, server

PLACED = """
nodes: {'node[1-3]$': {roles: [all], configs: NODE}}
roles: {all: [database, rpc, notifications, keystone, memcached, glance-api, neutron-server, neutron-openvswitch-agent,
              nova-api, nova-conductor, nova-scheduler, nova-compute]}
services: {database: {service_def: galera}, rpc: {service_def: rabbitmq}, notifications: {service_def: rabbitmq}}
configs: CONFIGS
"""


@pytest.fixture(autouse=True)
def _in_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def planned(configs: str = "{}", node: str = "{}", **more: Any) -> Settings:
    """Returns the settings of the plan of a stack with this configuration in its topology."""
    Path("topology.yaml").write_text(PLACED.replace("CONFIGS", configs).replace("NODE", node))
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), server("node[1-3]", [], "10.20.1.1")]
    config = {"profile": "lab", "architecture": "100", "topology": "topology.yaml", "servers": servers, **more}
    return plan(parsed(config)).settings


def refused(configs: str) -> list[str]:
    with pytest.raises(InvalidStackError) as caught:
        planned(configs)
    return [str(problem) for problem in caught.value.problems]


def debug(settings: Settings) -> object:
    return settings.projects.overrides["nova"].options["nova.conf"]["DEFAULT"]["debug"]


def test_options_are_those_of_the_stack() -> None:
    assert debug(planned("{nova: {debug: true}}")) is True


def test_the_stack_file_has_precedence_over_the_configuration() -> None:
    own = {"nova": {"options": {"nova.conf": {"DEFAULT": {"debug": False}, "libvirt": {"virt_type": "qemu"}}}}}
    settings = planned("{nova: {debug: true, allocation_ratio: {cpu: 2.0}}}", projects=own)
    assert debug(settings) is False
    given = settings.projects.overrides["nova"].options["nova.conf"]
    assert given["DEFAULT"]["cpu_allocation_ratio"] == 2.0
    assert given["libvirt"] == {"virt_type": "qemu"}


def test_a_pattern_of_the_stack_file_has_precedence_on_nodes() -> None:
    options = {"nova.conf": {"DEFAULT": {"debug": False}}}
    own = {
        "node[2-3]": {"services": {"nova-compute": {"options": options}}},
        "node1": {"interfaces": {"physnet1": "a"}},
    }
    settings = planned(node="{nova: {debug: true}, neutron_external_interface: eth9}", nodes=own)
    assert sorted(settings.nodes) == ["node1", "node2", "node3", "node[2-3]"]
    assert settings.nodes["node1"].services["nova-compute"].options["nova.conf"]["DEFAULT"]["debug"] is True
    assert settings.nodes["node1"].interfaces == {"physnet1": "a"}
    assert settings.nodes["node3"].interfaces == {"physnet1": "eth9"}


def test_parts_of_the_stack_file_replace_those_of_the_topology() -> None:
    configs = "{ingress: {enabled: true, domain: a.example}, neutron: {physnets: [{name: a, bridge_name: br-a}]}}"
    made = planned(configs)
    assert made.ingress is not None
    assert (made.ingress.domain, made.ingress.port, made.ingress.class_name) == ("a.example", 8443, "traefik")
    assert list(made.networks.physical) == ["a"]
    own: dict[str, Any] = {
        "ingress": {"domain": "b.example", "className": "nginx"},
        "networks": {"physical": {"b": {}}},
    }
    kept = planned(configs, **own)
    assert kept.ingress is not None
    assert (kept.ingress.domain, kept.ingress.port) == ("b.example", 443)
    assert list(kept.networks.physical) == ["b"]


def test_a_new_cloud_gets_its_networks() -> None:
    settings = planned("{neutron: {bootstrap: {internal: {net_name: lan}}}}")
    assert settings.bootstrap is not None
    assert settings.bootstrap.networks.internal is not None
    assert settings.bootstrap.networks.internal.name == "lan"
    assert planned().bootstrap is None


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        (
            "{neutron: {bootstrap: {external: {enable: true}}}}",
            "quorate:topology (configs.neutron.bootstrap.external.enable): "
            "quorate:bootstrap.networks.external.network is missing; write it",
        ),
        (
            "{neutron: {physnets: [{name: a, interface: a-very-long-interface}]}}",
            "quorate:topology (configs.neutron.physnets[0]): cannot be quorate:networks.physical.a.interface; write",
        ),
        (
            "{ingress: {enabled: true, port: https}}",
            "quorate:topology (configs.ingress.port): cannot be quorate:ingress.port; write a whole number",
        ),
        (
            "{neutron: {bootstrap: {internal: {gateway: nowhere}}}}",
            "quorate:topology (configs.neutron.bootstrap.internal.gateway): cannot be quorate:bootstrap.networks",
        ),
    ],
)
def test_a_value_that_the_setting_cannot_have_is_told_by_the_topology_s_key(configs: str, said: str) -> None:
    assert any(text.startswith(said) for text in refused(configs)), refused(configs)
