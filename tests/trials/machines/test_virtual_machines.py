"""Virtual machines on a real libvirtd with QEMU, reached over SSH: from the first boot to what `destroy` leaves.

QEMU emulates the processor, so that a boot takes minutes.
"""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands.live import virt_host_check
from console.errors import UserError
from console.progress import Reporter
from tests import sshd
from tests.engine.conftest import (
    engine,  # noqa: F401  # pyright: ignore[reportUnusedImport] - a fixture
)
from tests.stacks import ROOT
from tests.trials.machines import base_image, libvirt_host
from tests.trials.machines.guests import Guests, open_stack
from tests.trials.machines.libvirt_host import VirtHost
from toolchain import debian_root, libvirt_provider
from toolchain.engine import installed
from trials.services.testbed import until

pytestmark = pytest.mark.heavy

BOOT = 900
"""Seconds until an emulated machine must answer by SSH."""
GUESTS = {"vm1": "10.77.0.11", "vm2": "10.77.0.12"}
TEMPLATE = "own.xml"


@dataclass(frozen=True)
class Cloud:
    """A stack with two virtual machines on a virt host."""

    guests: Guests
    host: VirtHost
    image: tuple[Path, str]

    def write(self, **changes: Any) -> None:
        """Writes the stack file. `changes`: keys of vm1, and `template`."""
        template = changes.pop("template", None)
        own = {"cpu": 1, "ram": 1, "disk": 2, "roles": ["master"]}
        document = yaml.safe_load(self.guests.project.stack_file.read_text(encoding="utf-8"))
        guests = [
            {"id": number, "name": name, "address": address, **own, **(changes if name == "vm1" else {})}
            for number, (name, address) in enumerate(GUESTS.items())
        ]
        document["config"] |= {
            "quorate:networks": {"management": libvirt_host.NETWORK},
            "quorate:virt": {
                "image": {"source": str(self.image[0]), "sha256": self.image[1]},
                "authorizedKeys": [(self.host.directory / "login.pub").read_text(encoding="utf-8").strip()],
            },
            "quorate:servers": [
                {
                    "name": "virt1",
                    "address": libvirt_host.PLACE.address,
                    "roles": ["virt", "compute"],
                    "hypervisor": "qemu",
                    "hostKey": self.host.host_key,
                    "cpu": 8,
                    "memory": 32,
                    "vms": guests,
                }
            ],
        }
        if template:
            document["config"]["quorate:template"] = template
        self.guests.project.stack_file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")

    def boot_id(self, name: str) -> str:
        return self.guests.told(name, "cat /proc/sys/kernel/random/boot_id")


@pytest.fixture(scope="module")
def cloud(
    tmp_path_factory: pytest.TempPathFactory,
    engine: dict[str, str],  # noqa: F811 - the fixture
    agent: sshd.Agent,
) -> Generator[Cloud]:
    """The stack, with nothing made yet."""
    libvirt_host.require_programs()
    try:
        root = debian_root.ensure(Reporter(), debian_root.GUEST)
        libvirt_provider.ensure(installed(ROOT), Reporter())
    except UserError as reason:
        pytest.skip(str(reason))
    directory = tmp_path_factory.mktemp("virt")
    image = directory / "base.qcow2"
    digest = base_image.make(root, image)
    project = open_stack(directory, "guests_program.py", engine, agent)
    with libvirt_host.running(directory, agent.public_key) as host:
        guests = Guests(project, GUESTS, directory, BOOT)
        found = Cloud(guests, host, (image, digest))
        found.write()
        yield found


def test_machines_are_made_once_and_started_again(cloud: Cloud) -> None:
    """This and the next tests need the machines of the tests before them."""
    done = cloud.guests.up()
    assert done.code == 0, done.output
    assert cloud.host.names("list", "--name") == set(GUESTS)
    assert cloud.host.names("list", "--autostart", "--name") == set(GUESTS)
    assert cloud.guests.up().changes() == {}, "a second up changes nothing"

    cloud.host.virsh("destroy", "vm2")
    done = cloud.guests.up("--refresh")
    assert done.code == 0, done.output
    assert cloud.host.names("list", "--name") == set(GUESTS)
    done = cloud.guests.up("--refresh")
    assert done.changes().keys() <= {"refresh"}, "a refresh replaces nothing"


def test_a_virt_host_that_is_down_blocks_nothing(cloud: Cloud) -> None:
    deployment = json.loads(cloud.guests.project.run("stack", "export").output)
    assert virt_host_check.left_out(deployment) == {}
    with libvirt_host.without_network():
        ((address, urns),) = virt_host_check.left_out(deployment).items()
        assert address == libvirt_host.PLACE.address
        image = f"virt1-image-{cloud.image[1][:12]}"
        made = {f"{name}-{part}" for name in GUESTS for part in ("disk", "cloud-init", "domain")}
        assert {urn.rpartition("::")[2] for urn in urns} == {"virt1-libvirt", image, *made}
        excluded = [word for urn in urns for word in ("--exclude", urn)]
        for command in (["preview"], ["up", "--yes", "--skip-preview"], ["refresh", "--yes"]):
            done = cloud.guests.project.run(*command, *excluded)
            assert done.code == 0, done.output
            assert done.changes().keys() <= {"refresh"}
    assert cloud.guests.up().changes() == {}


def test_machines_boot_and_change_one_at_a_time(cloud: Cloud) -> None:
    started = time.monotonic()
    for name, address in GUESTS.items():
        assert cloud.guests.told(name, "hostname") == name
        assert address in cloud.guests.told(name, "hostname --all-ip-addresses")
    print(f"both machines answer after {time.monotonic() - started:.0f} s")
    assert int(cloud.guests.told("vm1", "awk '/MemTotal/ {print $2}' /proc/meminfo")) >= 1024**2
    cloud.guests.told("vm1", "touch /root/kept /root/needed && sync")
    boots = {name: cloud.boot_id(name) for name in GUESTS}
    before = cloud.host.virsh("dumpxml", "--inactive", "vm1")
    cloud.write(ram=2)
    assert cloud.guests.project.run("preview").changes() == {"update": {"vm1-definition"}}
    done = cloud.guests.up()
    assert done.code != 0
    assert "vm1 was not changed and not restarted: the quorum cannot spare it" in done.output
    assert cloud.boot_id("vm1") == boots["vm1"]
    assert cloud.host.virsh("dumpxml", "--inactive", "vm1") == before

    cloud.guests.told("vm1", "rm /root/needed")
    done = cloud.guests.up()
    assert done.code == 0, done.output
    assert int(cloud.guests.told("vm1", "awk '/MemTotal/ {print $2}' /proc/meminfo")) >= 2 * 1024**2
    cloud.guests.told("vm1", "test -e /root/kept")
    assert cloud.boot_id("vm2") == boots["vm2"]

    assert cloud.guests.up().changes() == {}


def test_memory_and_description_change_without_a_restart(cloud: Cloud) -> None:
    boots = {name: cloud.boot_id(name) for name in GUESTS}
    cloud.guests.told("vm1", "touch /root/needed")
    memory = "  <memory unit='MiB'>{memory}</memory>"
    more = f"{memory}\n  <currentMemory unit='MiB'>1024</currentMemory>\n  <description>{{note}}</description>"
    text = (ROOT / "components/virt_host/domain.xml").read_text(encoding="utf-8")
    (cloud.guests.project.directory / TEMPLATE).write_text(text.replace(memory, more), encoding="utf-8")
    cloud.write(ram=2, values={"note": "changed"}, template=TEMPLATE)
    done = cloud.guests.up()
    assert done.code == 0, done.output
    assert "<description>changed</description>" in cloud.host.virsh("dumpxml", "--inactive", "vm1")
    size = "awk '/MemTotal/ {print $2}' /proc/meminfo"
    until("vm1 gives memory back", lambda: int(cloud.guests.told("vm1", size)) <= 1024**2, 60)
    assert {name: cloud.boot_id(name) for name in GUESTS} == boots
    assert cloud.guests.up().changes() == {}


def test_an_own_template_is_a_new_definition(cloud: Cloud) -> None:
    # A template without a UUID, and without anything that the default one adds for the guest's network.
    own = cloud.host.virsh("dumpxml", "--inactive", "vm1").splitlines()
    lines = [line for line in own if "<uuid>" not in line]
    lines.insert(2, "  <description>{note}</description>")
    text = "\n".join(lines).replace("vm1", "{name}").replace("52:54:0a:4d:00:0b", "{mac}")
    (cloud.guests.project.directory / TEMPLATE).write_text(text, encoding="utf-8")
    cloud.write(ram=2, values={"note": "{braces} &amp"}, template=TEMPLATE)
    assert cloud.guests.project.run("preview").changes() == {"update": {"vm1-definition", "vm2-definition"}}


def test_destroy_leaves_disks(cloud: Cloud) -> None:
    done = cloud.guests.project.run("destroy", "--yes")
    assert done.code == 0, done.output
    assert cloud.host.names("list", "--all", "--name") == set()
    image = f"image-{cloud.image[1][:12]}.qcow2"
    volumes = {line.split()[0] for line in cloud.host.virsh("vol-list", libvirt_host.POOL).splitlines()[2:] if line}
    assert volumes == {"vm1.qcow2", "vm2.qcow2", image}
    assert "PRIVATE KEY" not in cloud.guests.project.state_file.read_text(encoding="utf-8")


def test_a_host_without_libvirt_says_so(cloud: Cloud) -> None:
    socket = Path("/run/libvirt/libvirt-sock")
    hidden = socket.with_name("hidden")
    socket.rename(hidden)
    try:
        done = cloud.guests.up()
    finally:
        hidden.rename(socket)
    assert done.code != 0
    assert "virt1: libvirtd does not answer" in done.output
