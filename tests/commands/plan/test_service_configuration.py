"""`quorate config`: every option of a service, with its layer and source, and no secret."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from commands import stack
from commands.plan import service_configuration
from console.errors import UserError
from openstack.config.formats import public_text
from openstack.config.layers import ConfigFile
from tests.fakes import ROOT


def shown(service: str, capsys: pytest.CaptureFixture[str], node: str = "") -> str:
    assert service_configuration.show(ROOT, "dev", service, node) == 0
    return capsys.readouterr().out


def test_every_option_has_its_layer_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown("nova-conductor", capsys).splitlines()
    assert lines[0] == "# nova.conf of nova-conductor"
    workers = next(line for line in lines if line.startswith("workers"))
    assert (
        workers.split("#")[1].strip()
        == "architecture: cores requested by nova-conductor (blueprint/openstack/projects/nova.yaml)"
    )
    assert all("#" in line for line in lines if line and not line.startswith("["))


def test_secrets_are_shown_by_their_names(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("keystone", capsys)
    assert "connection = mysql+pymysql://keystone:<keystone/database>@proxysql.openstack.svc:3306/keystone" in text
    assert "(text, not made of options, with the secrets keystone/fernet-key-0)" in text


def test_what_is_shown_is_what_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown("nova-compute", capsys)
    made = stack.load(ROOT, "dev").plan
    for file in service_configuration.configuration.of_service(made, "nova-compute"):
        if isinstance(file, ConfigFile):
            for line in (public_text(file) or "").splitlines():
                assert line in text


def test_an_unknown_service_is_an_error_with_a_suggestion() -> None:
    with pytest.raises(UserError, match=r"nova-conducter is not a service of dev \(did you mean 'nova-conductor'\?\)"):
        service_configuration.show(ROOT, "dev", "nova-conducter", node="")


def test_a_node_shows_its_own_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    options = {"nova.conf": {"DEFAULT": {"reserved_host_cpus": 4}}}
    document["config"]["quorate:nodes"] = {"virt2": {"services": {"nova-compute": {"options": options}}}}
    (tmp_path / "Pulumi.own.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    line = "reserved_host_cpus = 4 # node: quorate:nodes.virt2.services.nova-compute.options"
    for node, expected in (("virt2", 1), ("virt1", 0), ("", 0)):
        service_configuration.show(tmp_path, "own", "nova-compute", node)
        assert [" ".join(each.split()) for each in capsys.readouterr().out.splitlines()].count(line) == expected


def test_the_proxy_of_api_servers_shows_its_times(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    document["config"]["quorate:apiServers"] = {"proxy": {"timeoutSeconds": 1200}}
    (tmp_path / "Pulumi.own.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    assert service_configuration.show(tmp_path, "own", "api-proxy", node="") == 0
    assert [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()] == [
        "# nginx.conf of api-proxy",
        "proxy_timeout 20m; # stack: quorate:apiServers.proxy.timeoutSeconds",
        "proxy_connect_timeout 1s; # project: project figure",
        "fail_timeout 3s; # project: project figure",
    ]
    with pytest.raises(UserError, match="same configuration on every machine except the masters; leave out --node"):
        service_configuration.show(tmp_path, "own", "api-proxy", node="virt2")


def test_a_node_on_which_the_service_does_not_run_is_an_error() -> None:
    with pytest.raises(UserError, match=r"nova-compute of dev does not run on virt9 \(did you mean 'virt"):
        service_configuration.show(ROOT, "dev", "nova-compute", node="virt9")


def test_a_node_shows_its_network_cards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The agent runs on single nodes of its pools."""
    document = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text(encoding="utf-8"))
    document["config"] |= {
        "quorate:nodes": {"virt2": {"sriov": {"ens2f1": {"network": "physnet1"}}}},
        "quorate:networks": {"management": "10.20.0.0/24", "physical": {"physnet1": {"vlans": "1001:1030"}}},
        "quorate:projects": {"neutron": {"options": {"ml2_conf.ini": {"ml2": {"project_network_types": "vlan"}}}}},
    }
    (tmp_path / "Pulumi.own.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    service_configuration.show(tmp_path, "own", "neutron-sriov-nic-agent", "virt2")
    assert "physical_device_mappings = physnet1:ens2f1" in capsys.readouterr().out
    with pytest.raises(
        UserError, match=r"does not run on virt1 \(did you mean 'virt2'\?\)\. It may run on nodes virt2$"
    ):
        service_configuration.show(tmp_path, "own", "neutron-sriov-nic-agent", "virt1")
