"""The hypervisors of virt hosts, and everything in which they differ: a table with an entry for each.

Source 002 names them: libvirt with kvm or lxc, and containers with a full init. What a program needs of a hypervisor
is a field here, so that no other Python module compares a hypervisor's name. How system containers are made on a host
is in components/target/system_container.sh.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

HypervisorName = Literal["kvm", "qemu", "lxc", "container"]
"""The values of `hypervisor` in a stack file."""


@dataclass(frozen=True, kw_only=True)
class HypervisorType:
    """A hypervisor, and the machines that it runs."""

    has_own_kernel: bool
    """Whether its machines are virtual machines, with a kernel of their own and a disk that starts from a disk image.

    Otherwise they are system containers, which share their host's kernel and start from a root file system.
    """
    is_emulated: bool = False
    """Whether it emulates every instruction, so that members of a quorum answer too late: for labs only."""
    connection: str | None
    """The URI at which libvirt answers on the virt host; None if systemd-nspawn runs the machines."""
    device: str | None = None
    """A device that the virt host must have."""
    definition: tuple[str, ...]
    """Templates of the files that define a machine, in components/virt_host. A libvirt domain has one."""
    cpu_mode: str = ""
    """The CPU model of a domain: the host's own, or for emulation all that QEMU emulates; "" without a processor."""
    interface: str | None = None
    """The name of the first network interface; None if it depends on the device, and is found by its MAC address.

    A system container's interface is a virtual one without a permanent MAC address, by which netplan would look for it.
    """

    @property
    def has_domain(self) -> bool:
        """Whether its machines are libvirt domains, whose template the operator may replace."""
        return self.connection is not None


HYPERVISOR_TYPES: Mapping[HypervisorName, HypervisorType] = {
    "kvm": HypervisorType(
        has_own_kernel=True,
        connection="qemu:///system",
        device="/dev/kvm",
        definition=("domain.xml",),
        cpu_mode="host-passthrough",
    ),
    "qemu": HypervisorType(
        has_own_kernel=True,
        is_emulated=True,
        connection="qemu:///system",
        definition=("domain.xml",),
        cpu_mode="maximum",
    ),
    "lxc": HypervisorType(
        has_own_kernel=False,
        connection="lxc:///system",
        definition=("domain-lxc.xml",),
        interface="eth0",
    ),
    "container": HypervisorType(
        has_own_kernel=False,
        connection=None,
        definition=("container.nspawn", "service.conf"),
        interface="host0",
    ),
}


def _names(fits: Callable[[HypervisorType], bool]) -> tuple[HypervisorName, ...]:
    return tuple(name for name, each in HYPERVISOR_TYPES.items() if fits(each))


VIRTUAL_MACHINES = _names(lambda each: each.has_own_kernel)
"""Names of the hypervisors of virtual machines."""
SYSTEM_CONTAINERS = _names(lambda each: not each.has_own_kernel)
"""Names of the hypervisors of system containers."""
EMULATED = _names(lambda each: each.is_emulated)
"""Names of the hypervisors that only a lab may use."""
