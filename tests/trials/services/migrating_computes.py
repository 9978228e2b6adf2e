"""Two computes with real libvirt and QEMU, on which `apply` places certificates, and a virtual machine that counts.

libvirtd has the rendered configuration of nova-libvirt and, as in a pod, a mount namespace of its own, which is another
one after each start. Processors are emulated.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from blueprint.plan.planner import plan
from blueprint.stackfile.certificate_generations import CertificateGenerations, Generations
from blueprint.stackfile.loader import load_file
from components import compute_certificate, templates
from components.k8s_master.pki import Pki
from components.machine import directory
from tests.components.k8s_master.test_certificates import KEYRING, of_nodes, written
from tests.stacks import STACKS
from trials.services.containers import TriedContainer
from trials.services.testbed import ServiceMachine, ServiceTestbed, until

PLAN = plan(load_file(STACKS["dev"]))
CONTAINER = f"{compute_certificate.PROCESS}/{compute_certificate.PROCESS}"
READY = 120
"""Seconds until libvirtd answers on a busy host."""
_PREPARE = """\
mount -t sysfs sys /sys
groupadd kolla
groupadd --gid {user} nova
useradd --uid {user} --gid nova --no-create-home nova
mkdir -p /etc/pki/CA /etc/pki/libvirt /etc/pki/qemu
"""
_START = """\
virtlogd &
while :; do
  unshare --mount sh -ec '
    for name in CA libvirt qemu; do mount --bind /etc/quorate/compute/pki/$name /etc/pki/$name; done
    exec libvirtd --listen'
done
"""
_QEMU = """\
security_driver = "none"
cgroup_controllers = []
"""
"""What the test bed lacks: AppArmor, and cgroups of its own."""
_DISK, _COUNTED = "/var/lib/guest.img", "/var/log/guest.log"
_BOOT = bytes.fromhex("31c0 baf803 fb f4 ee 40 ebfb").ljust(510, b"\0") + b"\x55\xaa"
"""The boot sector of the virtual machine: at each tick of its clock (18 a second), it writes a byte to the serial port,
one more than before (xor ax, ax; mov dx, 3f8h; sti; hlt; out dx, al; inc ax; jmp to hlt)."""
_DOMAIN = f"""\
<domain type='qemu'>
  <name>guest</name>
  <memory unit='MiB'>32</memory>
  <os><type arch='x86_64' machine='pc'>hvm</type></os>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='raw'/>
      <source file='{_DISK}'/>
      <target dev='vda' bus='virtio'/>
      <readonly/>
    </disk>
    <serial type='file'><source path='{_COUNTED}' append='on'/></serial>
    <memballoon model='none'/>
  </devices>
</domain>
"""
PAUSED = "kill -KILL 0"
"""In place of nsenter: ends `apply` when the files are in place, before libvirtd reads them."""
OMITTED = "exit 0"
"""In place of nsenter: libvirtd does not read the files."""


class MigratingCompute:
    """A compute in the test bed, whose libvirtd runs."""

    def __init__(self, testbed: ServiceTestbed, name: str, container: TriedContainer) -> None:
        self.machine: ServiceMachine = testbed.add(name)
        (node, *_) = PLAN.carrying("compute")
        self.node = replace(node, machine=replace(node.machine, name=name, address=self.machine.address))
        self._deployments = 0
        parts = compute_certificate.parts(PLAN, [self.node], Pki(KEYRING))
        user = parts.steps[0].apply.rpartition(" ")[2]
        self.machine.run(["sh", "-ec", _PREPARE.format(user=user)])
        own = {"libvirtd.conf": f'host_uuid = "{uuid.uuid4()}"\n', "qemu.conf": _QEMU}
        for file, text in own.items():
            path = f"/etc/libvirt/{file}"
            self.machine.write(path, container.files[path].text + text)
        self.deploy(Generations())
        self.machine.start(["sh", "-ec", _START], "root")
        self.await_daemon()

    @property
    def uri(self) -> str:
        """The URI by which another compute's libvirtd connects."""
        return f"qemu+tls://{self.machine.address}/system"

    def deploy(self, generations: Generations, instead: str = "") -> bool:
        """Runs `apply` with the certificate of these generations. Returns whether it succeeds.

        `instead`: a script that runs in place of nsenter.
        """
        self._deployments += 1
        place = f"/deployment{self._deployments}"
        with tempfile.TemporaryDirectory() as scratch:
            self._render(generations, Path(scratch))
            self.machine.place_file(Path(scratch), place)
        if instead:
            self.machine.write(f"{place}/bin/nsenter", f"#!/bin/sh\n{instead}\n", mode="0755")
        path = f"{place}/bin:/usr/sbin:/usr/bin"
        words = ["env", f"PATH={path}", "sh", f"{place}/machines/{self.node.name}/apply"]
        try:
            print(self.machine.run(words, seconds=READY), end="", flush=True)
        except subprocess.CalledProcessError as error:
            print(error.stdout, error.stderr, sep="", flush=True)
            return False
        return True

    def _render(self, generations: Generations, tree: Path) -> None:
        parts = compute_certificate.parts(PLAN, [self.node], Pki(KEYRING, CertificateGenerations(computes=generations)))
        texts = templates.fill(directory.entries(parts, {}), {})
        own = {file for file in parts.files if file.by_node}
        secret = written(tuple(file for file in parts.files if file.secret and not file.by_node))
        secret |= {path: of_node[self.node.name] for path, of_node in of_nodes(tuple(own)).items()}
        for base, files in (("machines", texts), ("secrets/machines", secret)):
            for path, text in files.items():
                file = tree / base / self.node.name / path.lstrip("/")
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")

    def in_pod(self, *words: str, seconds: float = 60) -> str:
        """Runs a command in the mount namespace of libvirtd. Raises CalledProcessError if it fails."""
        (daemon,) = self.machine.processes("libvirtd")
        return self.machine.run(["nsenter", f"--target={daemon}", "--mount", "--root", *words], seconds=seconds)

    def connect(self, other: MigratingCompute, query: str = "") -> str:
        """Connects libvirt's client on this compute to the other one's libvirtd. Returns what it says if that fails.

        `query`: of the URI.
        """
        try:
            self.in_pod("virsh", f"--connect={other.uri}{query}", "hostname")
        except subprocess.CalledProcessError as error:
            print(f"{self.node.name} to {other.node.name}: {error.stderr.strip()}", flush=True)
            return error.stderr.strip()
        return ""

    def reaches(self, other: MigratingCompute) -> bool:
        return not self.connect(other)

    def await_daemon(self) -> None:
        """Waits until libvirtd answers on this compute."""

        def answers() -> bool:
            return "running" in self.machine.run(["sh", "-c", "virsh version --daemon && echo running"], check=False)

        until(f"libvirtd of {self.node.name} answers; {self.machine.tail()}", answers, READY)

    def replace_pod(self) -> None:
        """Ends libvirtd; another one starts in a mount namespace of its own. Virtual machines go on."""
        (daemon,) = self.machine.processes("libvirtd")
        os.kill(daemon, signal.SIGTERM)
        until("another libvirtd", lambda: daemon not in self.machine.processes("libvirtd"), READY)
        self.await_daemon()


class Guest:
    """A virtual machine that counts. `host`: the compute that runs it."""

    def __init__(self, host: MigratingCompute, computes: Sequence[MigratingCompute]) -> None:
        self.host = host
        self.counted: list[int] = []
        self._read = dict.fromkeys((each.node.name for each in computes), 0)
        disk = "".join(f"\\x{byte:02x}" for byte in _BOOT)
        for each in computes:
            each.machine.run(["bash", "-ec", f"printf '{disk}' >{_DISK}; truncate --size=1M {_DISK}"])
            each.machine.write("/guest.xml", _DOMAIN)
        host.in_pod("virsh", "create", "/guest.xml")

    def migrate(self, to: MigratingCompute) -> str:
        """Moves it while it runs. Returns what libvirt says if that fails, and the virtual machine has stayed."""
        words = ["migrate", "--live", "--p2p", "--tls", "guest", to.uri, f"--migrateuri=tcp://{to.machine.address}"]
        try:
            self.host.in_pod("virsh", *words, seconds=READY)
        except subprocess.CalledProcessError as error:
            return error.stderr.strip()
        self.count()
        self.host = to
        return ""

    def count(self) -> int:
        """Reads what it has written on its host. Returns how much that is altogether."""
        name = self.host.node.name
        found = self.host.machine.run(["od", "-An", "-v", "-tu1", _COUNTED]).split()
        self.counted += map(int, found[self._read[name] :])
        self._read[name] = len(found)
        return len(self.counted)


@contextmanager
def computes(root: Path, containers: Mapping[str, TriedContainer]) -> Generator[list[MigratingCompute]]:
    """Yields two computes. `root`: a Debian root with libvirt and QEMU."""
    with ServiceTestbed(root) as testbed:
        yield [MigratingCompute(testbed, name, containers[CONTAINER]) for name in ("cmp1", "cmp2")]


@contextmanager
def connections(found: Sequence[MigratingCompute]) -> Generator[list[bool]]:
    """Lets each compute's libvirt connect to the other one's, again and again. Yields which of them succeeded."""
    first, second = found
    results: list[bool] = []
    over = threading.Event()

    def connect() -> None:
        while not over.wait(0.2):
            results.append(first.reaches(second))
            results.append(second.reaches(first))

    client = threading.Thread(target=connect)
    client.start()
    try:
        yield results
    finally:
        over.set()
        client.join()
