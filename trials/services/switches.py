"""Trial of Open vSwitch: two guests talk through it, and through a restart, with the rendered containers of a compute.

The physical network's interface is that of the test bed's machine, and the datapath is the one in user space, which
needs no kernel module. Guests are attached to the physical network's bridge: Neutron and Nova, which give a guest its
own network, do not run. QEMU emulates the processor. One more machine is the guests' DHCP and metadata server.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from trials.card_checksums import COMPLETE
from trials.guest.guest_image import GuestImage
from trials.services import open_vswitch
from trials.services.containers import TriedContainer
from trials.services.open_vswitch import BACK
from trials.services.testbed import NETWORK, ServiceMachine, ServiceTestbed, require, until
from trials.trial_report import Proof, without_writes

BRIDGE = "br-ex"
BOOT = 300
"""Seconds until both guests must have told what they found. Project figure, for a busy machine without KVM."""
_LIST = "/etc/openvswitch/physical-networks"
_METADATA = "169.254.169.254"
_PREPARE = "ip tuntap add tap0 mode tap && ip link set tap0 up"
_QEMU = (
    "qemu-system-x86_64 -m 160 -accel tcg -nographic -no-reboot -kernel /guest/kernel -initrd /guest/ramdisk"
    " -drive file=/guest/disk,if=virtio,format=raw -netdev tap,id=card,ifname=tap0,script=no,downscript=no"
    " -device virtio-net-pci,netdev=card,mac={mac} -append console=ttyS0 -serial file:/guest/console -monitor none"
)


@dataclass(frozen=True)
class SwitchedGuest:
    """A guest, its compute, and the address that its DHCP server gives it."""

    compute: ServiceMachine
    mac: str
    address: str

    def told(self) -> str:
        return self.compute.run(["cat", "/guest/console"], check=False)


def prove(root: Path, containers: Mapping[str, TriedContainer], image: GuestImage) -> Iterator[Proof]:
    """Yields the results. `root`: a Debian root with Open vSwitch, QEMU and dnsmasq.

    Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        outside = testbed.add("outside")
        guests = [_compute(testbed, number, image) for number in (1, 2)]
        _serve(outside, guests)
        started = time.monotonic()
        for guest in guests:
            _switch(guest.compute, containers)
            guest.compute.run(["ovs-vsctl", "add-port", BRIDGE, "tap0"])
            guest.compute.background(_QEMU.format(mac=guest.mac).split(), "root")
        said = "guest: user data both answer"
        until("both guests reach each other", lambda: all(said in each.told() for each in guests), BOOT, 1)
        seconds = time.monotonic() - started
        for guest in guests:
            require(f"guest: lease {guest.address} on eth0" in guest.told(), f"{guest.address} was not given")
            require("guest: name guest" in guest.told(), "a guest has read no metadata")
        name = "Open vSwitch: two guests have an address and metadata, and reach each other"
        yield without_writes(name, seconds)
        yield _restarted(outside, guests, containers)


def _compute(testbed: ServiceTestbed, number: int, image: GuestImage) -> SwitchedGuest:
    machine = testbed.add(f"compute-{number}")
    machine.run(["mkdir", "/guest"])
    for name, path in (("kernel", image.kernel), ("ramdisk", image.ramdisk), ("disk", image.disk)):
        machine.place_file(path, f"/guest/{name}")
    open_vswitch.prepare(machine)
    machine.run(["sh", "-ec", _PREPARE])
    return SwitchedGuest(machine, f"52:54:00:00:00:0{number}", f"{NETWORK}.10{number}")


def _serve(outside: ServiceMachine, guests: list[SwitchedGuest]) -> None:
    """Starts the guests' DHCP and metadata server."""
    # A virtual cable leaves checksums to the receiver, and the datapath in user space does not complete them.
    outside.run(["python3", "-c", COMPLETE, "eth0"])
    outside.run(["ip", "address", "add", f"{_METADATA}/32", "dev", "lo"])
    pings = " && ".join(f"ping -q -c 1 -W 2 {each.address}" for each in guests)
    script = f"#!/bin/sh\nuntil {pings}; do sleep 1; done >/dev/null\necho both answer\n"
    outside.write("/metadata/latest/meta-data/hostname", "guest")
    outside.write("/metadata/latest/user-data", script)
    outside.background(["python3", "-m", "http.server", "--directory", "/metadata", "80"], "root")
    hosts = [f"--dhcp-host={each.mac},{each.address}" for each in guests]
    network = f"--dhcp-range={NETWORK}.101,{NETWORK}.150,255.255.255.0,1h"
    flags = ["--no-daemon", "--port=0", "--user=root", network, f"--dhcp-option=3,{outside.address}", *hosts]
    outside.background(["dnsmasq", *flags], "root")


def _switch(machine: ServiceMachine, containers: Mapping[str, TriedContainer]) -> None:
    """Starts Open vSwitch's database and switch, each as its container does."""
    open_vswitch.start_database(machine, containers)
    _begin(machine, containers)


def _begin(machine: ServiceMachine, containers: Mapping[str, TriedContainer]) -> None:
    rendered = containers["openvswitch-vswitchd/openvswitch-vswitchd"]
    found = replace(rendered.files[_LIST], text=f"{BRIDGE} netdev eth0\n")
    container = replace(rendered, files={**rendered.files, _LIST: found})
    machine.start(open_vswitch.command(machine, container), "root")
    open_vswitch.await_switch(machine)


def _restarted(outside: ServiceMachine, guests: list[SwitchedGuest], containers: Mapping[str, TriedContainer]) -> Proof:
    """Replaces the switch of the second compute while its guest is pinged, and waits until it answers again."""
    started = time.monotonic()
    compute, address = guests[1].compute, guests[1].address
    compute.stop()
    require(not _answers(outside, address), "the guest answers without its switch")
    _begin(compute, containers)
    silent = until("the guest answers again", lambda: _answers(outside, address), BACK)
    name = "Open vSwitch: its switch is replaced, and the guest answers again"
    notes = (f"the guest answered {silent:.1f} s after the switch did",)
    return without_writes(name, time.monotonic() - started, notes)


def _answers(outside: ServiceMachine, address: str) -> bool:
    said = outside.run(["ping", "-q", "-c", "1", "-W", "1", address], check=False)
    return re.search(r"\b1 received", said) is not None
