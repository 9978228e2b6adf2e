"""Makes virtual machines on virt hosts with libvirt: the image, a disk, cloud-init data and the domain of each.

One provider of pulumi-libvirt for each virt host connects to it over SSH, as soon as a command there has found libvirt
and made its storage pool. A pool of the provider is not used: it fails if the pool exists, and is deleted with its
disks.

Disks outlive everything here. No change of the stack file replaces a disk, and removing a machine leaves its disk.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import pulumi
import pulumi_libvirt as libvirt
from pulumi_command import remote

from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.virt import MachineImage
from components.target import GuestMachine
from components.target.ssh_connection import as_root, connection
from components.target.virt_access import VirtAccess, merged
from components.virt_host import DOMAIN
from contract import LIBVIRT_POOL

GIB = 1024**3
_SCRIPT = Path(__file__).with_name("storage_pool.sh")
_SEEN_BY_PROVIDER = (
    "arch",
    "bootDevices",
    "cmdlines",
    "consoles",
    "cpu",
    "description",
    "disks",
    "emulator",
    "filesystems",
    "firmware",
    "graphics",
    "initrd",
    "kernel",
    "machine",
    "memory",
    "networkInterfaces",
    "nvram",
    "tpm",
    "type",
    "vcpu",
    "video",
    "xml",
)
"""Properties that the provider reads from the domain, and would replace the domain for."""
_STYLESHEET = """\
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">
<xsl:output method="xml" omit-xml-declaration="yes"/>
<xsl:template match="/">{}</xsl:template>
</xsl:stylesheet>
"""
_TAG = re.compile(r"<[^<>]*>")
_PROLOG = re.compile(r"\A\s*<\?xml[^>]*\?>")


class LibvirtMachines:
    """Makes virtual machines with libvirt's provider.

    `image`: the one that their disks start from. `known_hosts`: path of the file with the virt hosts' keys.
    """

    def __init__(self, access: VirtAccess, image: MachineImage, known_hosts: str) -> None:
        self._access = access
        self._ssh = access.ssh
        self._image = image
        self._known_hosts = known_hosts
        self._reached: dict[str, tuple[libvirt.Provider, libvirt.Volume]] = {}

    def machine(
        self,
        name: str,
        host: Machine,
        vm: GuestMachine,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> Sequence[pulumi.Resource]:
        """Makes a virtual machine. Returns the resource that stands for it and for later changes of its definition."""
        node = vm.node
        provider, image = self._host(host, opts)
        own = merged(opts, provider=provider)
        disk = libvirt.Volume(
            f"{name}-disk",
            merged(own, retain_on_delete=True, ignore_changes=["size", "baseVolumeId", "source"]),
            name=f"{node.name}.qcow2",
            pool=LIBVIRT_POOL,
            format="qcow2",
            base_volume_id=image.id,
            size=vm.disk * GIB,
        )
        files = self._access.cloud_init(vm)
        seed = libvirt.CloudInitDisk(
            f"{name}-cloud-init",
            # Not protected: it is replaced when its content changes, which no running machine notices.
            merged(own, protect=False, delete_before_replace=True),
            name=f"{node.name}-cloud-init.iso",
            pool=LIBVIRT_POOL,
            user_data=files["user-data"],
            meta_data=files["meta-data"],
            network_config=files["network-config"],
        )
        domain = libvirt.Domain(
            f"{name}-domain",
            merged(own, depends_on=[disk, seed], ignore_changes=list(_SEEN_BY_PROVIDER)),
            name=node.name,
            type=host.hypervisor,
            vcpu=node.machine.cpu,
            autostart=True,
            running=True,
            xml=libvirt.DomainXmlArgs(xslt=stylesheet(vm.definition[DOMAIN])),
        )
        late = merged(opts, depends_on=[domain, *after], protect=False)
        return [self._access.definition(name, host, vm, late)]

    def _host(self, host: Machine, opts: pulumi.ResourceOptions) -> tuple[libvirt.Provider, libvirt.Volume]:
        """Returns the provider of a virt host, and the base image there."""
        if host.name not in self._reached:
            self._reached[host.name] = self._reach(host, opts)
        return self._reached[host.name]

    def _reach(self, host: Machine, opts: pulumi.ResourceOptions) -> tuple[libvirt.Provider, libvirt.Volume]:
        storage = remote.Command(
            f"{host.name}-storage",
            merged(opts, protect=False),
            connection=connection(host.address, host.host_key, self._ssh),
            create=" ".join(as_root(self._ssh, "sh", "-s", host.name, str(host.hypervisor), LIBVIRT_POOL)),
            stdin=_SCRIPT.read_text(encoding="utf-8"),
            logging=remote.Logging.STDERR,
            add_previous_output_in_env=False,
        )
        place = f"{self._ssh.user}@{host.address}:{self._ssh.port}"
        uri = f"qemu+ssh://{place}/system?knownhosts={quote(self._known_hosts)}&sshauth=agent"
        # Unknown until the command has run, so that a first preview does not connect to a host that is not ready.
        provider = libvirt.Provider(
            f"{host.name}-libvirt", merged(opts, protect=False), uri=storage.id.apply(lambda _: uri)
        )
        digest = self._image.sha256
        image = libvirt.Volume(
            f"{host.name}-image-{digest[:12]}",
            # Disks start from the image, so it stays as they do. Its path differs between clones; its name does not.
            merged(opts, provider=provider, protect=False, retain_on_delete=True, ignore_changes=["source"]),
            name=f"image-{digest[:12]}.qcow2",
            pool=LIBVIRT_POOL,
            format="qcow2",
            source=str(Path(self._image.source).absolute()),
        )
        return provider, image


def stylesheet(definition: str) -> str:
    """Returns an XSLT stylesheet whose result is the definition, whatever it is applied to.

    libvirt's provider has no other way to define a domain by its XML. Braces in tags are doubled, because XSLT reads
    expressions there.
    """
    text = _PROLOG.sub("", definition)
    return _STYLESHEET.format(_TAG.sub(lambda tag: tag[0].replace("{", "{{").replace("}", "}}"), text))
