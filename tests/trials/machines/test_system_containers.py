"""System containers on two virt hosts, reached over SSH: systemd-nspawn under systemd, and a real libvirtd with LXC."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from console.errors import UserError
from console.progress import Reporter
from tests import sshd
from tests.engine.conftest import (
    engine,  # noqa: F401  # pyright: ignore[reportUnusedImport] - a fixture
)
from tests.trials.machines import by_hand, container_host, libvirt_host
from tests.trials.machines.container_host import ContainerHost
from tests.trials.machines.guests import Guests, open_stack
from tests.trials.machines.libvirt_host import VirtHost
from toolchain import debian_root
from trials.services.testbed import until

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

NSPAWN, LXC = {"c1": "10.77.1.11", "c2": "10.77.1.12"}, {"l1": "10.77.0.21"}
GUESTS = NSPAWN | LXC
BOOT = 60
"""Seconds until a container must answer by SSH."""
ROOT_FILES = {name: Path("/var/lib/machines") / name for name in NSPAWN}


@dataclass(frozen=True)
class Cloud:
    """A stack with system containers on two virt hosts."""

    guests: Guests
    nspawn: ContainerHost
    lxc: VirtHost
    image: tuple[Path, str]

    def write(self, ram: int = 1, without: str = "") -> None:
        """Writes the stack file. `ram`: of every machine, in GiB. `without`: a machine that it does not have."""
        document = yaml.safe_load(self.guests.project.stack_file.read_text(encoding="utf-8"))
        own = {"cpu": 1, "ram": ram, "roles": ["master"]}
        key = (self.lxc.directory / "login.pub").read_text(encoding="utf-8").strip()
        document["config"] |= {
            "quorate:networks": {"management": "10.77.0.0/16"},
            "quorate:virt": {
                "rootFilesystem": {"source": str(self.image[0]), "sha256": self.image[1]},
                "authorizedKeys": [key],
            },
            "quorate:servers": [
                {
                    "name": name,
                    "address": address,
                    "roles": ["virt", "compute"],
                    "hypervisor": hypervisor,
                    "hostKey": host_key,
                    "cpu": 8,
                    "memory": 32,
                    "vms": [
                        {"id": number, "name": guest, "address": GUESTS[guest], **own}
                        for number, guest in enumerate(guests)
                        if guest != without
                    ],
                }
                for name, address, hypervisor, host_key, guests in (
                    ("virt1", container_host.ADDRESS, "container", self.nspawn.host_key, NSPAWN),
                    ("virt2", libvirt_host.PLACE.address, "lxc", self.lxc.host_key, LXC),
                )
            ],
        }
        self.guests.project.stack_file.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")


@pytest.fixture(scope="module")
def cloud(
    tmp_path_factory: pytest.TempPathFactory,
    engine: dict[str, str],  # noqa: F811 - the fixture
    agent: sshd.Agent,
) -> Generator[Cloud]:
    """The stack, with nothing made yet."""
    libvirt_host.require_programs(libvirt_host.LXC_PROGRAMS, libvirt_host.LXC_PACKAGES)
    by_hand.skip_beside_another_lab()
    try:
        guest = debian_root.ensure(Reporter(), debian_root.GUEST)
        machine = debian_root.ensure(Reporter(), debian_root.MACHINE)
    except UserError as reason:
        pytest.skip(str(reason))
    directory = tmp_path_factory.mktemp("containers")
    archive = directory / "root.tar.gz"
    digest = container_host.root_filesystem(guest, archive)
    project = open_stack(directory, "containers_program.py", engine, agent)
    with ExitStack() as stack:
        nspawn = stack.enter_context(container_host.running(machine, agent.public_key))
        lxc = stack.enter_context(libvirt_host.running(directory, agent.public_key, libvirt_host.LXC))
        guests = Guests(project, GUESTS, directory, BOOT)
        found = Cloud(guests, nspawn, lxc, (archive, digest))
        found.write()
        yield found
    by_hand.require_nothing_left()


def test_machines_are_made_and_answer(cloud: Cloud) -> None:
    """This and the next tests need the machines of the tests before them."""
    # As an interrupted run leaves it.
    cloud.nspawn.told("mkdir", "-p", "/var/lib/machines/.c1.quorate/root/unfinished")
    done = cloud.guests.up()
    assert done.code == 0, done.output
    assert cloud.nspawn.containers() == set(NSPAWN)
    assert cloud.lxc.names("list", "--name") == cloud.lxc.names("list", "--autostart", "--name") == set(LXC)
    for name, address in GUESTS.items():
        assert cloud.guests.told(name, "hostname") == name
        assert address in cloud.guests.told(name, "hostname --all-ip-addresses")
        cloud.guests.told(name, "test -e /root/joined")
    assert len({cloud.guests.told(name, "cat /etc/machine-id") for name in GUESTS}) == len(GUESTS)
    assert cloud.nspawn.told("systemctl", "is-enabled", "systemd-nspawn@c1") == "enabled"
    cloud.nspawn.told("test", "!", "-e", "/var/lib/machines/.c1.quorate")
    cloud.guests.told("c1", "test ! -e /root/unfinished")
    assert cloud.guests.up().changes() == {}, "a second up changes nothing"
    assert "PRIVATE KEY" not in cloud.guests.project.state_file.read_text(encoding="utf-8")


def test_limits_change_while_a_container_runs(cloud: Cloud) -> None:
    leaders = {name: cloud.nspawn.leader(name) for name in NSPAWN}
    cloud.guests.told("l1", "touch /root/needed && sync")
    cloud.write(ram=2)
    changed = {"c1-container", "c2-container", "l1-definition"}
    assert cloud.guests.project.run("preview").changes() == {"update": changed | {f"machine-{name}" for name in GUESTS}}
    done = cloud.guests.up()
    assert done.code != 0
    assert "l1 was not changed and not restarted: the quorum cannot spare it" in done.output
    shown = cloud.nspawn.told("systemctl", "show", "systemd-nspawn@c1", "--property=MemoryMax", "--value")
    assert int(shown) == 2 * 1024**3
    cloud.guests.told("l1", "rm /root/needed")
    done = cloud.guests.up()
    assert done.code == 0, done.output
    assert int(cloud.guests.told("l1", "awk '/MemTotal/ {print $2}' /proc/meminfo")) == 2 * 1024**2
    assert {name: cloud.nspawn.leader(name) for name in NSPAWN} == leaders
    assert cloud.guests.up().changes() == {}


def test_memory_in_use_is_not_taken_away(cloud: Cloud) -> None:
    cloud.guests.told(
        "c1", "systemd-run --unit=hog python3 -c 'import time; kept = b\"x\" * (1300 << 20); time.sleep(900)'"
    )
    size = "awk '/VmRSS/ {print $2}' /proc/$(systemctl show hog --property=MainPID --value)/status"
    until("the memory is taken", lambda: int(cloud.guests.told("c1", size)) > 1300 << 10, 60)
    cloud.write(ram=1)
    done = cloud.guests.up()
    assert done.code != 0
    assert "c1: its processes have 13" in done.output
    assert "write more than ram: 1" in done.output
    assert cloud.guests.told("c1", "systemctl is-active hog") == "active"
    cloud.guests.told("c1", "systemctl stop hog")
    done = cloud.guests.up()
    assert done.code == 0, done.output


def test_a_killed_container_starts_again(cloud: Cloud) -> None:
    leader = cloud.nspawn.leader("c2")
    cloud.nspawn.told("systemctl", "kill", "--signal=KILL", "systemd-nspawn@c2")
    until("c2 is back", lambda: "c2" in cloud.nspawn.containers() and cloud.nspawn.leader("c2") != leader, 60)
    assert cloud.guests.told("c2", "hostname") == "c2"


def test_containers_start_with_their_host(cloud: Cloud) -> None:
    started = time.monotonic()
    cloud.nspawn.restart()
    for name in NSPAWN:
        assert cloud.guests.told(name, "hostname") == name
    print(f"both containers answer after {time.monotonic() - started:.0f} s")
    assert cloud.guests.up().changes() == {}


def test_a_machine_leaves_before_its_container_is_removed(cloud: Cloud) -> None:
    cloud.write(ram=1, without="c1")
    done = cloud.guests.up()
    assert done.code == 0, done.output
    assert cloud.nspawn.containers() == {"c2"}
    cloud.nspawn.told("test", "-e", str(ROOT_FILES["c1"] / "root/left"))
    for path in ("/etc/systemd/nspawn/c1.nspawn", "/etc/systemd/system/systemd-nspawn@c1.service.d/quorate.conf"):
        cloud.nspawn.told("test", "!", "-e", path)


def test_destroy_leaves_the_root_file_systems(cloud: Cloud) -> None:
    done = cloud.guests.project.run("destroy", "--yes")
    assert done.code == 0, done.output
    assert cloud.nspawn.containers() == set()
    assert cloud.lxc.names("list", "--all", "--name") == set()
    cloud.nspawn.told("test", "-e", str(ROOT_FILES["c2"] / "root/left"))
    assert Path("/var/lib/libvirt/lxc/l1/root/left").exists()


def test_a_host_without_its_hypervisor_says_so(cloud: Cloud) -> None:
    program, socket = "/usr/bin/systemd-nspawn", Path("/run/libvirt/libvirt-sock")
    hidden = socket.with_name("hidden")
    socket.rename(hidden)
    cloud.nspawn.told("mv", program, f"{program}.hidden")
    try:
        done = cloud.guests.up()
    finally:
        hidden.rename(socket)
        cloud.nspawn.told("mv", f"{program}.hidden", program)
    assert done.code != 0
    assert "virt1: systemd-nspawn is missing; install systemd-container" in done.output
    assert "virt2: libvirtd does not answer at lxc:///system" in done.output
