"""Trials of Ironic: a virtual machine is enrolled, inspected, cleaned and deployed, as a machine with a BMC is.

Keystone, Placement, Glance, Neutron's server with its agents of DHCP and of machines, Ironic and Nova run with their
rendered jobs and configuration. A second nova-compute has Nova's fake driver. The machine boots the ramdisk with
Ironic's agent from virtual media or over the network.
"""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trials.bare_metal import boot_images
from trials.bare_metal.boot_images import Roots
from trials.services import dhcp_agent, virtual_bmcs
from trials.services.borrowed_programs import borrow
from trials.services.containers import TriedContainer
from trials.services.deployed_systems import DeployedSystem, SmallSystem, StackServer
from trials.services.openstack_services import PORTS, ServiceCloud
from trials.services.openstack_trials import Programs
from trials.services.testbed import ServiceMachine, ServiceTestbed, require
from trials.services.virtual_bmcs import BmcMachine
from trials.trial_report import Proof, without_writes

PUBLIC = "cloud.example.org"
"""Domain of the stack's ingress, below which machines find Ironic's API."""
_API = f"ironic.{PUBLIC}"
_PROJECTS = {
    "keystone": ("keystone",),
    "placement": ("placement-api",),
    "glance": ("glance-api",),
    "neutron": ("neutron-server", dhcp_agent.NAME),
    # Neutron's agent of machines ends while Keystone does not know Ironic.
    "ironic": ("ironic-api", "ironic-conductor", "ironic-neutron-agent"),
    "nova": ("nova-conductor", "nova-scheduler", "nova-api", "nova-compute", "nova-compute-ironic"),
}
CLIENT = Path(__file__).with_name("bare_metal_client.py")
"""What the client's machine runs."""
_TOOLS = {
    "ipmitool": "usr/bin/ipmitool",
    "mkisofs": "usr/bin/xorriso -as mkisofs",
    "qemu-img": "usr/bin/qemu-img",
}
"""What Ironic's conductor calls, as the image of Kolla has it."""
_DRIVES = {"genisoimage": _TOOLS["mkisofs"]}
"""With what nova-compute-ironic makes config drives, as the image of Kolla has it."""
VIRTUAL_MEDIA, NETWORK = "redfish-virtual-media", "http-ipxe"
"""Boot interfaces of Ironic."""
_IPXE = "usr/lib/ipxe/snponly.efi"
_FETCHED = ("/snponly.efi", "/boot.ipxe", "/deploy_kernel", "/deploy_ramdisk")
"""Names of what a machine fetches from the conductor when it boots over the network, in its order."""
_GET = re.compile(r"GET (\S+) => generated [1-9].*\(HTTP/1\.[01] 200\)")
"""What uWSGI logs of a file that it has sent."""
_NODE = "machine-1"
_CERTIFICATE = (
    f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={_API} -addext subjectAltName=DNS:{_API}"
    " -keyout /key.pem -out /certificate.pem && cat /certificate.pem"
)


@dataclass(frozen=True)
class BareMetalCloud:
    """The cloud and a machine with a BMC."""

    cloud: ServiceCloud
    machine: BmcMachine

    def use(self, what: str) -> list[str]:
        """Runs the client, and returns what it printed. Raises Broken if it fails."""
        return self.cloud.use(what).splitlines()


def prove(programs: Programs, roots: Roots, containers: Mapping[str, TriedContainer], boot: str) -> Iterator[Proof]:
    """Starts Ironic in the test bed with a virtual machine, and yields the results.

    `roots`: see boot_images. `boot`: VIRTUAL_MEDIA or NETWORK. Raises Unavailable if this machine cannot run the test
    bed, and Broken if a service does not work.
    """
    system = SmallSystem(boot_images.made_from(roots).disk)
    # Cleaning erases the partition table only: whole disks take minutes without KVM.
    options = {"OS_DEPLOY__ERASE_DEVICES_PRIORITY": "0"}
    with _cloud(programs, roots, containers, system.image, options) as (metal, proof):
        yield proof
        yield _enrolled(metal, boot)
        yield _available(metal, boot)
        yield _separated(metal)
        yield _deployed(metal, system)


def prove_server(
    programs: Programs, roots: Roots, containers: Mapping[str, TriedContainer], system: StackServer
) -> Iterator[Proof]:
    """Deploys a server of the stack from virtual media; without what `prove` shows: the agent's inspection, cleaning.

    The rest is as for `prove`.
    """
    options = {"OS_CONDUCTOR__AUTOMATED_CLEAN": "false"}
    with _cloud(programs, roots, containers, system.image, options) as (metal, proof):
        yield proof
        yield _enrolled(metal, VIRTUAL_MEDIA)
        yield _offered(metal)
        yield _deployed(metal, system)


@contextmanager
def _cloud(
    programs: Programs,
    roots: Roots,
    containers: Mapping[str, TriedContainer],
    disk: Path,
    options: Mapping[str, str],
) -> Generator[tuple[BareMetalCloud, Proof]]:
    """Starts the cloud. `disk`: the image to deploy. `options`: variables of the conductor."""
    images = boot_images.made_from(roots)
    with ServiceTestbed(programs.root) as testbed:
        started = time.monotonic()
        cloud = ServiceCloud(testbed, containers, programs.release, _PROJECTS, CLIENT)
        conductor = cloud.processes["ironic-conductor"]
        borrow(conductor, roots.tools, _TOOLS)
        borrow(cloud.processes["nova-compute-ironic"], roots.tools, _DRIVES)
        conductor.run(["mkdir", "-p", str(Path("/", _IPXE).parent)])
        conductor.place_file(roots.tools / _IPXE, f"/{_IPXE}")
        conductor.environment |= options
        dhcp_agent.prepare(cloud.processes[dhcp_agent.NAME], roots.tools)
        ingress, certificate = _ingress(testbed, cloud)
        emulator = next((programs.release / "lib").glob("python3*/site-packages/sushy_tools"))
        host = virtual_bmcs.start(testbed, roots.tools, emulator, {_API: ingress.address})
        ramdisk = testbed.directory / "ramdisk"
        boot_images.with_files(roots, images.ramdisk, _agent_files(certificate), ramdisk)
        cloud.client.run(["mkdir", "/images"])
        for name, path in (("kernel", images.kernel), ("ramdisk", ramdisk), ("loader", images.loader), ("disk", disk)):
            cloud.client.place_file(path, f"/images/{name}")
        notes = cloud.start()
        metal = BareMetalCloud(cloud, virtual_bmcs.add(host, _NODE, 1))
        yield metal, _started(metal, notes, started)


def _ingress(testbed: ServiceTestbed, cloud: ServiceCloud) -> tuple[ServiceMachine, str]:
    """Starts what stands in for the stack's ingress: TLS with a certificate of Ironic's public name.

    Returns its machine, and the certificate.
    """
    machine = testbed.add("ingress")
    certificate = machine.run(["sh", "-c", _CERTIFICATE])
    target = f"TCP:{cloud.processes['ironic-api'].address}:{PORTS['ironic-api']}"
    listen = "OPENSSL-LISTEN:443,reuseaddr,fork,verify=0,cert=/certificate.pem,key=/key.pem"
    machine.start(["socat", listen, target], "root")
    return machine, certificate


def _agent_files(certificate: str) -> dict[str, str]:
    """Returns the files of the ramdisk that the operator adds: the agent trusts the ingress' certificate."""
    options = "[DEFAULT]\ncafile = /etc/certificate.pem\n"
    return {"etc/certificate.pem": certificate, "etc/ironic-python-agent.conf": options}


def _started(metal: BareMetalCloud, notes: Sequence[str], started: float) -> Proof:
    found = metal.use("conductors")
    require("conductors: ironic-conductor" in found, f"the conductor has not registered: {found}")
    found += metal.use(f"prepare {metal.machine.host.address}")
    found += metal.use("dhcp")
    name = "Ironic: API and conductor start, and the conductor registers"
    return without_writes(name, time.monotonic() - started, (*notes, *found))


def _enrolled(metal: BareMetalCloud, boot: str) -> Proof:
    started = time.monotonic()
    machine = metal.machine
    notes = metal.use(f"enrol {_NODE} {machine.bmc} {machine.identity} {boot}")
    for wanted, power in (("on", True), ("off", False)):
        notes += metal.use(f"power {_NODE} {wanted}")
        require(machine.has_power() == power, f"Ironic has turned the machine {wanted}, and its QEMU does not say so")
    name = "Ironic: a machine is enrolled, inspected by Redfish, turned on and off"
    return without_writes(name, time.monotonic() - started, notes)


def _available(metal: BareMetalCloud, boot: str) -> Proof:
    started = time.monotonic()
    notes = metal.use(f"inspect {_NODE}")
    notes += _booted(metal, boot)
    notes += _provided(metal)
    name = "Ironic: the agent inspects and cleans the machine, and Nova offers it"
    return without_writes(name, time.monotonic() - started, notes)


def _offered(metal: BareMetalCloud) -> Proof:
    started = time.monotonic()
    notes = _provided(metal)
    name = "Ironic: Nova offers a machine that was not cleaned"
    return without_writes(name, time.monotonic() - started, notes)


def _provided(metal: BareMetalCloud) -> list[str]:
    return [*metal.use(f"provide {_NODE}"), *metal.use(f"offered {_NODE}")]


def _booted(metal: BareMetalCloud, boot: str) -> list[str]:
    """Returns what a machine that boots over the network has fetched from the conductor, in the order of its requests.

    Raises Broken if it has not fetched iPXE and what iPXE boots, or if a machine with virtual media has fetched iPXE.
    """
    said = metal.cloud.processes["ironic-conductor"].log.read_text(errors="replace")
    fetched = [f"/{path.rpartition('/')[2]}" for path in _GET.findall(said)]
    if boot == VIRTUAL_MEDIA:
        require(_FETCHED[0] not in fetched, "the machine has asked for iPXE in place of its medium")
        return []
    found = [name for name in fetched if name in _FETCHED]
    require(found[: len(_FETCHED)] == list(_FETCHED), f"the machine did not boot by HTTP: {fetched}")
    return [f"by HTTP, the machine has fetched {', '.join(found)}"]


def _separated(metal: BareMetalCloud) -> Proof:
    started = time.monotonic()
    notes = metal.use("separated")
    apart = [note for note in notes if "ERROR no host" in note]
    require(len(apart) == 2 and "ACTIVE" in notes[-1], f"a server was placed by mistake: {notes}")
    name = "Nova: an image of one hypervisor gets no host of the other"
    return without_writes(name, time.monotonic() - started, notes)


def _deployed(metal: BareMetalCloud, system: DeployedSystem) -> Proof:
    started = time.monotonic()
    notes = system.deploy(metal.cloud, metal.machine)
    notes += metal.use(f"delete {_NODE}")
    name = "Ironic: Nova deploys an image on the machine, which boots it"
    return without_writes(name, time.monotonic() - started, notes)
