"""Templates of virtual machines: Fuel's rules (source 000, Data model impact), and source 002's hypervisors."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.domain_template import DERIVED, memory_of
from blueprint.plan.nodes import Node
from blueprint.plan.planner import plan
from components.virt_host import validation
from components.virt_host.domain import files, fill, values, xml
from tests.fakes import script
from tests.stacks import ROOT, parsed, server


def machine(hypervisor: str = "kvm", options: dict[str, Any] | None = None, **values: Any) -> Node:
    """A virtual machine of a virt host, with further keys, and values for its template."""
    known = {"id": 0, "name": "m", "cpu": 4, "ram": 8, "address": "10.20.0.50", "roles": ["master"]}
    guests = [{**known, "values": values, **(options or {})}]
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


def test_a_free_key_is_a_value_as_in_fuel(tmp_path: Path) -> None:
    template = written(tmp_path, "<something new='{new_value}'>{other}</something>")
    node = machine(options={"new_value": "example & more"}, other=2)
    assert files(node, template)["domain.xml"] == "<something new='example &amp; more'>2</something>"
    assert files(node, None) == files(machine(), None), "the default template does not use it"


def test_no_value_of_the_stack_file_replaces_a_derived_one() -> None:
    hidden = values(machine(**dict.fromkeys(DERIVED, "own")))
    assert [name for name in DERIVED if hidden[name] == "own"] == []


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
    assert found.keys() == {"container.nspawn", "service.conf"}
    assert "Boot=yes" in found["container.nspawn"]
    assert "MemoryMax=8G\nCPUQuota=400%" in found["service.conf"]


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


OPTIONS: dict[str, Any] = {
    "hugePages": True,
    "numa": {"node": 1, "cpus": "0-7,32-39"},
    "bridges": ["br-storage", "br-ex"],
}


def test_without_options_the_domain_stays_as_it_is() -> None:
    """To the byte: another definition restarts a machine."""
    golden = (ROOT / "tests" / "data" / "domain.xml").read_text(encoding="utf-8")
    assert files(machine(), None)["domain.xml"] == golden
    unset: dict[str, Any] = {"hugePages": False, "bridges": []}
    assert files(machine(options=unset), None)["domain.xml"] == golden


def test_options_are_elements_of_the_domain() -> None:
    domain = ElementTree.fromstring(files(machine(options=OPTIONS), None)["domain.xml"])  # noqa: S314 - our own
    page = domain.find("memoryBacking/hugepages/page")
    assert page is not None
    assert page.attrib == {"size": "2048", "unit": "KiB"}
    pins = {each.get("vcpu"): each.get("cpuset") for each in domain.findall("cputune/vcpupin")}
    assert pins == dict.fromkeys("0123", "0-7,32-39")
    assert [each.get("cpuset") for each in domain.findall("cputune/emulatorpin")] == ["0-7,32-39"]
    assert [each.attrib for each in domain.findall("numatune/memory")] == [{"mode": "strict", "nodeset": "1"}]
    bridges = [each.get("bridge") for each in domain.findall("devices/interface/source")]
    assert bridges == ["br-mgmt", "br-storage", "br-ex"]
    addresses = [each.get("address") for each in domain.findall("devices/interface/mac")]
    assert addresses == ["52:54:0a:14:00:32", "52:55:0a:14:00:32", "52:56:0a:14:00:32"]


def test_an_own_template_has_the_elements_where_it_names_them(tmp_path: Path) -> None:
    template = written(tmp_path, "<domain>{hugePages}<devices>{bridges}</devices></domain>")
    text = files(machine(options=OPTIONS), template)["domain.xml"]
    domain = ElementTree.fromstring(text)  # noqa: S314 - our own
    assert [each.tag for each in domain] == ["memoryBacking", "devices"]
    assert len(domain.findall("devices/interface")) == 2
    assert files(machine(), template)["domain.xml"] == "<domain><devices></devices></domain>"


def test_values_of_an_earlier_template_with_such_names_stay(tmp_path: Path) -> None:
    """A template that had them before Quorate did is filled as before."""
    template = written(tmp_path, "<a nodeset='{numa}'>{hugePages} {bridges} {template}</a>")
    node = machine(numa=0, hugePages="<2M>", bridges=True, template="x")
    assert files(node, template)["domain.xml"] == "<a nodeset='0'>&lt;2M&gt; true x</a>"


def test_a_machine_may_have_a_template_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.xml").write_text("<domain><name>{name}</name></domain>")
    node = machine(options={"template": "own.xml"})
    others = written(tmp_path, "<domain/>")
    assert files(node, None)["domain.xml"] == "<domain><name>m</name></domain>"
    assert files(node, others)["domain.xml"] == "<domain><name>m</name></domain>"
    assert files(machine(), others)["domain.xml"] == "<domain/>"


@pytest.mark.skipif(
    not (shutil.which(validation.PROGRAM) and shutil.which("xmllint")),
    reason="this host has no virt-xml-validate or no xmllint",
)
@pytest.mark.parametrize("options", [{}, *({key: value} for key, value in OPTIONS.items()), OPTIONS])
@pytest.mark.parametrize("hypervisor", ["kvm", "qemu"])
def test_the_default_domain_fits_the_schema_of_libvirt(
    hypervisor: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.xml").write_text((ROOT / "components/virt_host/domain.xml").read_text())
    assert [*validation.warnings([machine(hypervisor, options)], "own.xml")] == []
    (tmp_path / "own.xml").write_text("<domain type='kvm'><nam>{name}</nam></domain>")
    *_, warning = validation.warnings([machine(hypervisor, options)], "own.xml")
    assert warning.startswith("m: its libvirt domain, of own.xml, does not fit libvirt's schema: 1: element ")


def test_an_option_that_an_own_template_leaves_out_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    template = written(tmp_path, "<domain>{hugePages}{numa}</domain>")
    nodes = [machine(options=OPTIONS)]
    said = f"m: bridges has no effect, because {template} has no placeholder {{bridges}}"
    assert [*validation.warnings(nodes, template)] == [said]
    assert [*validation.warnings(nodes, None)] == []


def test_only_domains_of_own_templates_are_validated_where_the_program_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    template = written(tmp_path, "<domain/>")
    nodes = [machine()]
    assert [*validation.warnings(nodes, template)] == [], "without the program"
    says = "-:1: element domain: validity error : of no use"
    script(tmp_path, validation.PROGRAM, f"while read -r line; do :; done; echo '{says}' >&2; exit 3")
    assert [*validation.warnings(nodes, None)] == [], "of the default template"
    said = f"m: its libvirt domain, of {template}, does not fit libvirt's schema: 1: element domain: validity error :"
    assert [*validation.warnings(nodes, template)] == [f"{said} of no use"]
    script(tmp_path, validation.PROGRAM, f"echo '{says}' >&2; exit 0")
    assert [*validation.warnings(nodes, template)] == [], "a domain that fits"
    said = f"m: its libvirt domain, of {template}, was not validated:"
    script(tmp_path, validation.PROGRAM, "echo 'xmllint: not found' >&2; exit 127")
    assert [*validation.warnings(nodes, template)] == [f"{said} xmllint: not found"]
    script(tmp_path, validation.PROGRAM, "exit 4")
    assert [*validation.warnings(nodes, template)] == [f"{said} exit code 4"]


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
