"""Virtual machines of the target live: host keys, cloud-init data, the stylesheet, and the order of a restart."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from ipaddress import IPv4Network
from pathlib import Path
from xml.etree import ElementTree

import pytest

from blueprint.domain_template import memory_of
from blueprint.hypervisor_types import HYPERVISOR_TYPES, HypervisorName
from blueprint.plan.nodes import Node
from blueprint.plan.planner import plan
from blueprint.stackfile.settings import Ssh
from blueprint.stackfile.virt import Virt
from components.target import ssh_client
from components.target.libvirt_machines import stylesheet
from components.virt_host import live_changes, redefinition, restarts
from components.virt_host.cloud_init import Guest, Interface, meta_data, network_config, user_data
from components.virt_host.domain import DOMAIN, files
from components.virt_host.redefinition import Redefinition, RestartError
from contract import LIBVIRT_DISKS
from tests import host_programs
from tests.fakes import script
from tests.stacks import parsed, server

VIRT = Virt.model_validate_json(
    json.dumps(
        {
            "image": {"source": "x", "sha256": "0" * 64},
            "authorizedKeys": ["ssh-ed25519 AAAA me"],
            "gateway": "10.20.0.1",
        }
    )
)
BEFORE = "<domain type='kvm'><name>m</name><memory unit='MiB'>1024</memory><vcpu>1</vcpu></domain>"
DOMAIN_XML = "<domain type='kvm'>\n  <name>m</name>\n  <uuid>11111111-2222-3333-4444-555555555555</uuid>\n</domain>\n"


def test_cloud_init_data() -> None:
    guest = Guest("m", "10.20.0.50", Interface(mac="52:54:0a:14:00:32"), "admin")
    first, _, text = user_data(guest, VIRT, "PRIVATE", "ssh-ed25519 AAAA").partition("\n")
    assert first == "#cloud-config"
    data = json.loads(text)
    assert data["ssh_keys"] == {"ed25519_private": "PRIVATE", "ed25519_public": "ssh-ed25519 AAAA"}
    assert data["users"][0]["sudo"] == "ALL=(ALL) NOPASSWD:ALL"
    assert data["disable_root"] is True
    network = json.loads(network_config(guest, VIRT, IPv4Network("10.20.0.0/22")))["ethernets"]["management"]
    assert network["addresses"] == ["10.20.0.50/22"]
    assert network["match"] == {"macaddress": "52:54:0a:14:00:32"}
    assert network["routes"] == [{"to": "0.0.0.0/0", "via": "10.20.0.1"}]
    assert json.loads(meta_data(guest))["local-hostname"] == "m"


@pytest.mark.parametrize(
    ("hypervisor", "key", "match"),
    [
        ("kvm", "management", {"macaddress": "52:54:0a:14:00:32"}),
        # Interfaces of containers have no permanent MAC address, by which netplan looks for them.
        ("lxc", "eth0", None),
        ("container", "host0", None),
    ],
)
def test_the_interface_in_the_management_network(hypervisor: HypervisorName, key: str, match: object) -> None:
    interface = Interface.of(HYPERVISOR_TYPES[hypervisor], files(machine(hypervisor), None).get(DOMAIN, ""))
    found = json.loads(network_config(Guest("m", "10.20.0.50", interface, "root"), VIRT, IPv4Network("10.20.0.0/22")))
    assert found["ethernets"][key].get("match") == match


def test_a_template_without_a_mac_address_takes_any_interface() -> None:
    guest = Guest("m", "10.20.0.50", Interface.of(HYPERVISOR_TYPES["kvm"], "<domain/>"), "root")
    found = json.loads(network_config(guest, VIRT, IPv4Network("10.20.0.0/22")))
    assert found["ethernets"]["management"]["match"] == {"name": "en*"}


def test_root_logs_in_without_sudo() -> None:
    data = json.loads(user_data(Guest("m", "10.20.0.50", Interface(), "root"), VIRT, "p", "q").partition("\n")[2])
    assert data["users"] == [{"name": "root", "ssh_authorized_keys": ["ssh-ed25519 AAAA me"]}]
    assert data["disable_root"] is False
    assert not {"ntp", "prefer_fqdn_over_hostname"} & data.keys()


def test_time_servers_and_a_name_with_its_domain() -> None:
    """cloud-init sets the part of a hostname before the first dot, unless it is told otherwise."""
    virt = VIRT.model_copy(update={"time_servers": ("ntp1.example.org", "10.20.0.1")})
    guest = Guest("k8s-1.example.org", "10.20.0.50", Interface(), "root")
    data = json.loads(user_data(guest, virt, "p", "q").partition("\n")[2])
    assert data["ntp"] == {"servers": ["ntp1.example.org", "10.20.0.1"]}
    assert (data["hostname"], data["prefer_fqdn_over_hostname"]) == ("k8s-1.example.org", True)


@pytest.mark.parametrize(
    "template",
    [
        None,
        "<?xml version='1.0' encoding='UTF-8'?>\n<domain id='{{x}}'><name>a{b}</name><a b='{c}' d=\"}\"/></domain>",
        "<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:commandline/></domain>",
    ],
)
def test_the_provider_gets_the_definition_to_the_byte(template: str | None, tmp_path: Path) -> None:
    """But for what XML does not tell apart: the declaration, quotes and white space between elements."""
    host_programs.require(["xsltproc"], ["xsltproc"])
    text = template or files(machine(), None)[DOMAIN]
    (tmp_path / "sheet").write_text(stylesheet(text), encoding="utf-8")
    (tmp_path / "input").write_text("<domain><name>generated</name></domain>", encoding="utf-8")
    command = ["xsltproc", "--nonet", tmp_path / "sheet", tmp_path / "input"]
    result = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert canonical(result) == canonical(text)


def canonical(text: str) -> str:
    return ElementTree.canonicalize(text, strip_text=True)


def machine(hypervisor: str = "kvm") -> Node:
    """A virtual machine of a virt host."""
    guest = {"id": 0, "name": "m", "cpu": 4, "ram": 8, "address": "10.20.0.50", "roles": ["master"]}
    config = {
        "profile": "lab",
        "architecture": "100",
        "features": ["reduced-footprint"],
        "servers": [
            server("virt1", ["virt", "compute"], "10.20.0.11", vms=[guest], hypervisor=hypervisor),
            server("master[2-3]", ["master"], "10.20.0.12"),
            server("ctl[1-6]", ["controller"], "10.20.0.31"),
        ],
    }
    return next(node for node in plan(parsed(config)).nodes if node.virtual)


def test_the_default_domain_fits_what_is_made() -> None:
    domain = ElementTree.fromstring(files(machine("qemu"), None)[DOMAIN])  # noqa: S314 - our own
    assert domain.get("type") == "qemu"
    assert domain.findtext("memory") == str(memory_of(8)) == "8448"
    assert [disk.get("type") for disk in domain.findall("devices/disk")] == ["file", "file"]
    sources = [each.attrib for each in domain.findall("devices/disk/source")]
    assert sources == [{"file": f"{LIBVIRT_DISKS}/{name}"} for name in ("m.qcow2", "m-cloud-init.iso")]
    address = domain.find("devices/interface/mac")
    assert address is not None
    assert address.get("address") == "52:54:0a:14:00:32"
    assert files(machine("kvm"), None) == files(machine("kvm"), None)


Fake = Callable[..., tuple[Redefinition, Path]]


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A change whose virt host and machine are a shell script, which logs what it is asked."""
    monkeypatch.setattr(redefinition, "OFF", 0.2)
    monkeypatch.setattr(redefinition, "BACK", 0.2)
    monkeypatch.setattr(redefinition, "_PAUSE", 0.01)
    log, state = tmp_path / "log", tmp_path / "state"
    state.write_text("running\n")
    monkeypatch.setenv("FAKE", str(tmp_path))

    def make(
        stays_on: bool = False, text: str = DOMAIN_XML, before: str = BEFORE, **answers: int
    ) -> tuple[Redefinition, Path]:
        codes = {"may": 0, "back": 0, "set": 0, **answers}
        program = script(
            tmp_path,
            "fake",
            f"""\
echo "$*" >> {log}
case "$*" in
    may) echo 'no majority'; exit {codes["may"]} ;;
    back) exit {codes["back"]} ;;
    domstate*) cat {state} ;;
    domuuid*) echo 99999999-2222-3333-4444-555555555555 ;;
    define*) cat > {tmp_path}/defined ;;
    shutdown*) {"" if stays_on else f"echo 'shut off' > {state}"} ;;
    start*) echo running > {state} ;;
    set*) exit {codes["set"]} ;;
esac""",
        )
        return Redefinition("m", before, text, [str(program)], [str(program)], "may", "back", ""), log

    return make


def asked(log: Path) -> list[str]:
    return [line for line in log.read_text().splitlines() if not line.startswith("domstate")]


def test_a_change_asks_then_restarts_then_waits(fake: Fake) -> None:
    change, log = fake()
    change.apply()
    assert asked(log) == ["may", "define /dev/stdin", "shutdown m", "start m", "back"]


def test_nothing_changes_if_the_quorum_cannot_spare_the_member(fake: Fake) -> None:
    change, log = fake(may=3)
    with pytest.raises(RestartError, match="m was not changed and not restarted: no majority"):
        change.apply()
    assert asked(log) == ["may"]


def test_nothing_changes_if_the_quorum_cannot_be_asked(fake: Fake) -> None:
    change, log = fake(may=255)
    with pytest.raises(RestartError, match=r"its quorum could not be asked .*virsh destroy m"):
        change.apply()
    assert asked(log) == ["may"]


def test_a_machine_that_is_off_is_not_asked_for(fake: Fake, tmp_path: Path) -> None:
    change, log = fake()
    (tmp_path / "state").write_text("shut off\n")
    change.apply()
    assert asked(log) == ["define /dev/stdin", "start m", "back"]


def test_a_machine_that_does_not_shut_down_is_not_switched_off(fake: Fake) -> None:
    change, log = fake(stays_on=True)
    with pytest.raises(RestartError, match="still running after"):
        change.apply()
    assert asked(log)[-1] == "shutdown m"


def test_a_member_that_does_not_come_back_stops_the_update(fake: Fake) -> None:
    change, _ = fake(back=1)
    with pytest.raises(RestartError, match="was restarted, and is not back"):
        change.apply()


def test_a_template_without_a_uuid_keeps_the_domains(fake: Fake, tmp_path: Path) -> None:
    change, _ = fake(text="<domain type='kvm'>\n  <name>m</name>\n</domain>")
    change.apply()
    assert "<uuid>99999999-2222-3333-4444-555555555555</uuid>" in (tmp_path / "defined").read_text()


LIVE = (
    "<domain type='kvm'>\n <name>m</name>{more}\n <memory unit='GiB'>4</memory>{memory}<!-- x -->\n"
    " <vcpu{cpus}>4</vcpu>\n</domain>"
)


def live(more: str = "", memory: str = "", cpus: str = " current='2'") -> str:
    return LIVE.format(more=more, memory=memory, cpus=cpus)


DISK = "<devices><disk type='{}' device='disk'><source {}/><target dev='vda'/></disk></devices>"
BY_VOLUME = DISK.format("volume", "pool='quorate' volume='m.qcow2'")
"""The disk of a domain from before 0.7.0."""
BY_PATH = DISK.format("file", "file='/var/lib/libvirt/quorate/m.qcow2'")
HALF = "<currentMemory unit='GiB'>2</currentMemory>"


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (live(), live("<title>t</title><description>d</description><metadata><a/></metadata>"), []),
        (live(memory=HALF), live(memory="<currentMemory>3145728</currentMemory>"), ["setmem m 3145728KiB --live"]),
        (live(memory=HALF), live(), ["setmem m 4GiB --live"]),
        (live(), live(cpus=" current='3'"), ["setvcpus m 3 --live"]),
        (live(), live(cpus=""), ["setvcpus m 4 --live"]),
        (live(), live(cpus=" current='1'"), None),
        (live(), live().replace(">4</memory>", ">8</memory>"), None),
        (live(), live().replace(">4</vcpu>", ">8</vcpu>"), None),
        (live(), live("<os/>"), None),
        (live(), live("<memoryBacking><hugepages/></memoryBacking>"), None),
        (live(), live("<cputune><vcpupin vcpu='0' cpuset='0-3'/></cputune>"), None),
        (live(), live("<numatune><memory mode='strict' nodeset='0'/></numatune>"), None),
        (live(), live("<devices><interface type='bridge'/></devices>"), None),
        (live(), live("<description/>").replace("kvm", "qemu"), None),
        (live(BY_VOLUME), live(BY_PATH), []),
        (live(BY_VOLUME), live(BY_PATH.replace("m.qcow2", "n.qcow2")), None),
        (live(BY_VOLUME), live(BY_PATH.replace("/quorate/", "/images/")), None),
    ],
)
def test_what_can_change_while_a_machine_runs(before: str, after: str, expected: list[str] | None) -> None:
    found = live_changes.commands("m", before, after)
    assert (None if found is None else [" ".join(words) for words in found]) == expected


def test_a_change_that_needs_no_restart_asks_nobody(fake: Fake) -> None:
    change, log = fake(before=live(memory=HALF), text=live("<description>d</description>"), may=3)
    change.apply()
    assert asked(log) == ["domuuid m", "define /dev/stdin", "setmem m 4GiB --live"]


def test_a_change_that_libvirt_refuses_is_an_error(fake: Fake) -> None:
    change, _ = fake(before=live(), text=live(cpus=" current='3'"), set=1)
    with pytest.raises(RestartError, match="virsh setvcpus failed for m"):
        change.apply()


def test_a_machine_that_is_off_starts_with_any_change(fake: Fake, tmp_path: Path) -> None:
    change, log = fake(before=live(), text=live(cpus=" current='3'"))
    (tmp_path / "state").write_text("shut off\n")
    change.apply()
    assert asked(log) == ["domuuid m", "define /dev/stdin", "start m", "back"]


def test_members_ask_their_quorum_and_other_nodes_are_drained() -> None:
    node = machine()
    member = restarts.of(node, ["etcd"], [node])
    assert member.asks is node
    assert "sh quorate/machines/m/quorums/etcd may-stop" in member.may_stop
    worker = restarts.of(node, [], [node])
    assert "drain m --ignore-daemonsets" in worker.may_stop
    assert "uncordon m" in worker.is_back
    for text in (member.may_stop, member.is_back, worker.may_stop, worker.is_back):
        subprocess.run(["sh", "-n"], input=text, text=True, check=True)


def test_known_hosts_and_the_jump_host() -> None:
    jump = {"host": "jump.example.org", "hostKey": "ssh-ed25519 JUMP", "port": 2222}
    ssh = Ssh.model_validate({"user": "admin", "port": 2200, "jumpHost": jump})
    assert ssh_client.known_hosts({"10.20.0.11": "ssh-ed25519 HOST\n"}, ssh) == (
        "[10.20.0.11]:2200 ssh-ed25519 HOST\n[jump.example.org]:2222 ssh-ed25519 JUMP\n"
    )
    words = ssh_client.words("10.20.0.11", ssh, "known")
    assert words[-5:] == ["-p", "2200", "-l", "admin", "10.20.0.11"]
    assert any(word.startswith("ProxyCommand=ssh ") and "-l root -W" in word for word in words)
