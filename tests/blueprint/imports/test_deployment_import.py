"""Keys of an OpenStackDeployment become settings, and its size the servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.imports import ImportLine, ReadFile, import_file
from blueprint.problems import InvalidStackError

NETWORKS = """
    neutron:
      floating_network:
        enabled: {enabled}
        name: public
        subnet: {{range: 203.0.113.0/24}}
      external_networks:
      - {{physnet: physnet1, interface: bond0, mtu: 9000, vlan_ranges: null, colour: red}}
      - {{interface: bond1}}
"""


def imported(folder: Path, features: str = " {}", size: str = "tiny", kind: str = "OpenStackDeployment") -> ReadFile:
    text = f"kind: {kind}\nspec:\n  size: {size}\n  features:{features}\n"
    (folder / "osdpl.yaml").write_text(text, encoding="utf-8")
    return import_file("rockoon", folder / "osdpl.yaml")


def networks(folder: Path, enabled: str) -> dict[str, ImportLine]:
    """Returns what keys below `features.neutron` became."""
    lines = imported(folder, NETWORKS.format(enabled=enabled)).lines
    start = "spec.features.neutron."
    return {line.key.removeprefix(start): line for line in lines if line.key.startswith(start)}


def test_the_size_gives_servers_with_consecutive_addresses(tmp_path: Path) -> None:
    servers = [(each["name"], each["roles"], each["address"]) for each in imported(tmp_path).servers]
    assert servers == [
        ("master[1-3]", ["master"], "198.18.0.1"),
        ("ctl[1-3]", ["controller"], "198.18.0.4"),
        ("cmp[01-10]", ["compute"], "198.18.0.7"),
    ]


def test_each_problem_of_another_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidStackError) as caught:
        imported(tmp_path, size="huge", kind="Secret")
    file = tmp_path / "osdpl.yaml"
    assert [str(each) for each in caught.value.problems] == [
        f"{file} kind: is 'Secret'; write OpenStackDeployment",
        f"{file} spec.size: is 'huge'; write one of single, tiny, small, medium",
    ]


@pytest.mark.parametrize("enabled", ["false", "null", "'true'"])
def test_a_floating_network_that_is_not_enabled_gives_nothing(enabled: str, tmp_path: Path) -> None:
    found = networks(tmp_path, enabled)
    floating = {key: line for key, line in found.items() if key.startswith("floating_network")}
    assert list(floating) == ["floating_network"]
    assert (floating["floating_network"].fate, floating["floating_network"].settings) == ("same", ())


def test_an_enabled_floating_network_becomes_the_external_network(tmp_path: Path) -> None:
    settings = [each for line in networks(tmp_path, "true").values() for each in line.settings]
    written = {each.path: each.value for each in settings if each.path[0] == "bootstrap"}
    assert written == {
        ("bootstrap",): {},
        ("bootstrap", "networks", "external", "name"): "public",
        ("bootstrap", "networks", "external", "network"): "203.0.113.0/24",
    }


def test_an_external_network_becomes_a_physical_one(tmp_path: Path) -> None:
    found = {
        key.removeprefix("external_networks"): line
        for key, line in networks(tmp_path, "false").items()
        if key.startswith("external_networks")
    }
    assert {key: line.fate for key, line in found.items()} == {
        "[0].physnet": "becomes",
        "[0].interface": "becomes",
        "[0].mtu": "left out",
        "[0].vlan_ranges": "same",
        "[0].colour": "unknown",
        "[1]": "left out",
    }
    (setting,) = found["[0].interface"].settings
    assert (setting.path, setting.value) == (("networks", "physical", "physnet1", "interface"), "bond0")
