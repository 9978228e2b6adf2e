"""Templates of virtual machines: Fuel's rules (source 000, Data model impact), and source 002's hypervisors."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.domain_template import memory_of
from blueprint.plan.nodes import Node
from blueprint.plan.planner import plan
from components.virt_host.domain import files, fill, xml
from tests.stacks import parsed, server


def machine(hypervisor: str = "kvm", **values: Any) -> Node:
    """A virtual machine of a virt host, with further values for its template."""
    guests = [
        {"id": 0, "name": "m", "cpu": 4, "ram": 8, "address": "10.20.0.50", "roles": ["master"], "values": values},
    ]
    config = {
        "profile": "lab",
        "architecture": "100",
        "features": ["reduced-footprint"],
        "servers": [
            server("virt1", ["virt", "compute"], "10.20.0.11", vms=guests, hypervisor=hypervisor),
            server("master[2-3]", ["master"], "10.20.0.12"),
            server("ctl[1-6]", ["controller"], "10.20.0.31"),
        ],
    }
    return next(node for node in plan(parsed(config)).nodes if node.virtual)


def written(directory: Path, text: str) -> str:
    path = directory / "domain.xml"
    path.write_text(text)
    return str(path)


def test_the_seeds_own_template(tmp_path: Path) -> None:
    """Word for word, source 000."""
    template = "<domain type='kvm'>\n<memory unit='GiB'>{ram}</memory>\n<vcpu placement='static'>{cpu}</vcpu>"
    assert files(machine(), written(tmp_path, template)) == {
        "domain.xml": "<domain type='kvm'>\n<memory unit='GiB'>8</memory>\n<vcpu placement='static'>4</vcpu>"
    }


def test_a_value_that_the_template_does_not_use_changes_nothing() -> None:
    assert files(machine(new_value="example"), None) == files(machine(), None)


def test_a_missing_value_is_left_empty(tmp_path: Path) -> None:
    template = written(tmp_path, "<something new='{new_value}'>{new_value}</something>")
    assert files(machine(), template)["domain.xml"] == "<something new=''></something>"
    assert files(machine(new_value="ex"), template)["domain.xml"] == "<something new='ex'>ex</something>"


def test_values_are_escaped_for_xml(tmp_path: Path) -> None:
    template = written(tmp_path, "<a b='{v}' c=\"{v}\">{v}</a>")
    value = "<&>'\"]]>"
    element = ElementTree.fromstring(files(machine(v=value), template)["domain.xml"])  # noqa: S314 - our own
    assert (element.get("b"), element.get("c"), element.text) == (value, value, value)


def test_own_values_do_not_hide_what_the_machine_is(tmp_path: Path) -> None:
    template = written(tmp_path, "{name} {cpu} {address} {server}")
    node = machine(name="other", cpu=64, address="1.2.3.4", server="x")
    assert files(node, template)["domain.xml"] == "m 4 10.20.0.50 virt1"


@pytest.mark.parametrize(("value", "text"), [(True, "true"), (1.5, "1.5"), (0, "0")])
def test_values_of_any_kind_are_written_as_libvirt_reads_them(tmp_path: Path, value: object, text: str) -> None:
    assert files(machine(v=value), written(tmp_path, "{v}"))["domain.xml"] == text


def test_braces_that_are_no_place_stay(tmp_path: Path) -> None:
    text = "{} { ram } {0} ${cpu} {{}"
    assert files(machine(), written(tmp_path, text))["domain.xml"] == "{} { ram } {0} $4 {{}"


@pytest.mark.parametrize("hypervisor", ["kvm", "lxc"])
def test_our_own_domains_are_xml_of_the_right_type_and_size(hypervisor: str) -> None:
    domain = ElementTree.fromstring(files(machine(hypervisor), None)["domain.xml"])  # noqa: S314 - our own
    assert domain.get("type") == hypervisor
    assert domain.findtext("name") == "m"
    assert domain.findtext("memory") == ("8" if hypervisor == "lxc" else str(memory_of(8)))
    assert domain.findtext("vcpu") == "4"
    assert domain.find(f"memory[@unit='{'GiB' if hypervisor == 'lxc' else 'MiB'}']") is not None


def test_a_container_has_a_full_init_limits_and_no_domain() -> None:
    """Seed 002: 'we will aim to run a full init stack in each alt-hypervisor instance'."""
    found = files(machine("container"), None)
    assert found.keys() == {"container.nspawn", "limits.conf"}
    assert "Boot=yes" in found["container.nspawn"]
    assert "MemoryMax=8G\nCPUQuota=400%" in found["limits.conf"]


def test_a_physical_server_has_no_such_file() -> None:
    config = {
        "profile": "lab",
        "architecture": "100",
        "servers": [
            server("master[1-3]", ["master"], "10.20.0.11"),
            server("ctl[1-6]", ["controller"], "10.20.0.31"),
        ],
    }
    assert [files(node, None) for node in plan(parsed(config)).nodes] == [{}] * 9


TEXT = st.text(st.characters(min_codepoint=32, exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"))


@settings(deadline=None)
@given(TEXT)
def test_any_text_comes_back_from_the_xml_as_it_went_in(value: str) -> None:
    text = fill("<a b='{v}'>{v}</a>", {"v": value}, xml)
    element = ElementTree.fromstring(text)  # noqa: S314 - our own
    assert element.get("b") == value
    assert (element.text or "") == value


@settings(deadline=None)
@given(TEXT, st.dictionaries(st.sampled_from(["x", "y", "z"]), TEXT))
def test_filling_asks_for_nothing_and_leaves_no_place(template: str, values: dict[str, str]) -> None:
    assert "{x}" not in fill(template.replace("{", "").replace("}", "") + "{x}", values, lambda _: "")
