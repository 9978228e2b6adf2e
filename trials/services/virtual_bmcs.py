"""Virtual machines whose power and boot medium a BMC controls by Redfish: libvirt, QEMU without KVM, and sushy-tools.

They are on the test bed's network, with a DNS server that knows names outside of the cloud.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trials.services.testbed import ServiceMachine, ServiceTestbed, until

PORT = 8000
"""The port of all BMCs."""
READY = 60
"""Seconds until libvirt and the BMCs must answer."""
MEMORY_MIB = 2048
DISK_GIB = 5
"""Size of a machine's disk: Ironic's agent takes no disk below 4 GiB."""
_POOL = "/var/lib/libvirt/images"
_CONSOLES = "/var/log/consoles"
QEMU_CONFIGURATION = """\
user = "root"
group = "root"
security_driver = "none"
stdio_handler = "file"
cgroup_controllers = []
namespaces = []
"""
_EMULATOR = f"""\
import uuid
SUSHY_EMULATOR_LIBVIRT_URI = "qemu:///system"
SUSHY_EMULATOR_LISTEN_IP = "0.0.0.0"
SUSHY_EMULATOR_LISTEN_PORT = {PORT}
SUSHY_EMULATOR_STATE_DIR = "/var/lib/emulator"
SUSHY_EMULATOR_STORAGE = {{str(uuid.UUID(int=number)): [] for number in range(1, 10)}}
"""
_START = """\
libvirtd &
until virsh list; do sleep 0.5; done
virsh pool-create-as default dir --target /var/lib/libvirt/images
dnsmasq --keep-in-foreground --user=root --conf-file=/dnsmasq.conf &
python3 -m sushy_tools.emulator.main --config /emulator.conf &
wait -n
"""
_PREPARE = f"""\
mount -t sysfs sys /sys
mkdir -p {_POOL} {_CONSOLES} /var/lib/emulator
ip link add br0 type bridge
ip link set br0 address $(cat /sys/class/net/eth0/address)
ip link set br0 up
ip address flush dev eth0
ip link set eth0 master br0
ip address add $0/24 dev br0
"""
_DOMAIN = f"""\
<domain type='qemu'>
  <!-- Without PXE in its firmware, a machine that boots over the network asks by HTTP at once. The emulated BMC cannot
       choose between them. -->
  <sysinfo type='fwcfg'>
    <entry name='opt/org.tianocore/IPv4PXESupport'>n</entry>
    <entry name='opt/org.tianocore/IPv6PXESupport'>n</entry>
  </sysinfo>
  <name>{{name}}</name>
  <uuid>{{uuid}}</uuid>
  <memory unit='MiB'>{MEMORY_MIB}</memory>
  <vcpu>1</vcpu>
  <os firmware='efi'>
    <type arch='x86_64' machine='q35'>hvm</type>
    <firmware><feature enabled='no' name='secure-boot'/></firmware>
  </os>
  <features><acpi/></features>
  <cpu mode='maximum'/>
  <clock offset='utc'/>
  <on_reboot>restart</on_reboot>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2' cache='unsafe'/>
      <source file='{_POOL}/{{name}}.qcow2'/>
      <target dev='vda' bus='virtio'/>
      <boot order='1'/>
    </disk>
    <controller type='sata' index='0'/>
    <interface type='bridge'>
      <mac address='{{mac}}'/>
      <source bridge='br0'/>
      <model type='virtio'/>
      <rom enabled='no'/>
    </interface>
    <serial type='file'><source path='{_CONSOLES}/{{name}}' append='on'/></serial>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
  </devices>
</domain>
"""


@dataclass(frozen=True)
class BmcMachine:
    """A machine with a BMC, and the machine of the test bed that runs it."""

    host: ServiceMachine
    name: str
    identity: str
    """The machine's name in Redfish."""
    mac: str

    @property
    def bmc(self) -> str:
        """URL of the BMC."""
        return f"http://{self.host.address}:{PORT}"

    def has_power(self) -> bool:
        """Whether a QEMU process runs for the machine."""
        return bool(self.host.run(["pgrep", "--full", f"qemu-system-x86_64.* guest={self.name},"], check=False))

    def told(self) -> str:
        """Returns what the machine has written to its serial console."""
        return self.host.run(["cat", f"{_CONSOLES}/{self.name}"], check=False)


def start(testbed: ServiceTestbed, root: Path, emulator: Path, names: Mapping[str, str]) -> ServiceMachine:
    """Starts libvirt, BMCs, and a DNS server in a machine of the test bed.

    `root`: a Debian root with libvirt. `emulator`: package sushy_tools. `names`: addresses that the DNS server knows,
    by name.
    """
    host = testbed.add("virtual-bmcs", root=root)
    host.place_file(emulator, f"/usr/lib/python3/dist-packages/{emulator.name}")
    host.run(["sh", "-ec", _PREPARE, host.address])
    known = "".join(f"address=/{name}/{address}\n" for name, address in names.items())
    host.write("/dnsmasq.conf", f"interface=br0\nbind-interfaces\nno-resolv\nno-hosts\n{known}")
    host.write("/etc/libvirt/qemu.conf", QEMU_CONFIGURATION)
    host.write("/emulator.conf", _EMULATOR)
    host.write("/start.sh", _START)
    host.start(["bash", "/start.sh"], "root")
    until("the BMCs answer", lambda: host.get(PORT, "/redfish/v1/")[0] == 200, READY)
    return host


def add(host: ServiceMachine, name: str, number: int) -> BmcMachine:
    """Defines a virtual machine with an empty disk, which has no power."""
    machine = BmcMachine(host, name, str(uuid.UUID(int=number)), f"52:54:00:00:01:{number:02x}")
    host.run(["virsh", "vol-create-as", "default", f"{name}.qcow2", f"{DISK_GIB}G", "--format", "qcow2"])
    host.write(f"/{name}.xml", _DOMAIN.format(name=name, uuid=machine.identity, mac=machine.mac))
    host.run(["virsh", "define", f"/{name}.xml"])
    return machine
