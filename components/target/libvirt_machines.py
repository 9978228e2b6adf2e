"""Makes virtual machines on virt hosts with libvirt: the image, a disk, cloud-init data and the domain of each.

One provider of pulumi-libvirt for each virt host connects to it over SSH, as soon as a command there has found libvirt
and made its storage pool. A pool of the provider is not used: it fails if the pool exists, and is deleted with its
disks.

Disks outlive everything here. No change of the stack file replaces a disk, and removing a machine leaves its disk.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import pulumi
import pulumi_libvirt as libvirt
from pulumi import dynamic
from pulumi_command import remote

from blueprint.plan.nodes import Node
from blueprint.stackfile.inventory import Machine
from blueprint.stackfile.settings import Settings
from components.target import VirtualMachine, directory, ssh_client
from components.target.ssh_connection import as_root, connection
from components.tree import write_whole
from components.virt_host.cloud_init import Guest, meta_data, network_config, user_data
from components.virt_host.host_keys import HostKeys
from components.virt_host.redefinition import KNOWN_HOSTS, DefinitionProvider

SYSTEM = "qemu:///system"
POOL = "quorate"
"""The storage pool. The default template of a domain has this name too."""
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


class Hypervisors:
    """Makes virtual machines on the virt hosts of a stack. `keys`: the SSH host keys of the virtual machines.

    Raises ValueError if the settings have no `virt` or no management network.
    """

    def __init__(self, stack: str, settings: Settings, hosts: Sequence[Machine], keys: HostKeys) -> None:
        if settings.virt is None or settings.networks.management is None:
            raise ValueError("the settings of virtual machines are incomplete")
        self._ssh = settings.ssh
        self._virt = settings.virt
        self._management = settings.networks.management
        self._hosts = {host.name: host for host in hosts}
        self._keys = keys
        self._known_hosts = directory(stack) / "known_hosts"
        self._reached: dict[str, tuple[libvirt.Provider, libvirt.Volume]] = {}
        keys_by_address = {host.address: host.host_key or "" for host in hosts}
        write_whole(Path(self._known_hosts), ssh_client.known_hosts(keys_by_address, self._ssh), 0o644)

    def machine(
        self, name: str, vm: VirtualMachine, after: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
    ) -> Sequence[pulumi.Resource]:
        """Makes a virtual machine. Returns the resource that stands for it and for later changes of its definition."""
        node, host = vm.node, self._hosts[vm.node.server]
        provider, image = self._host(host, opts)
        own = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(provider=provider))
        disk = libvirt.Volume(
            f"{name}-disk",
            _merged(own, retain_on_delete=True, ignore_changes=["size", "baseVolumeId", "source"]),
            name=f"{node.name}.qcow2",
            pool=POOL,
            format="qcow2",
            base_volume_id=image.id,
            size=vm.disk * GIB,
        )
        seed = self._cloud_init(name, vm, own)
        domain = libvirt.Domain(
            f"{name}-domain",
            _merged(own, depends_on=[disk, seed], ignore_changes=list(_SEEN_BY_PROVIDER)),
            name=node.name,
            type=host.hypervisor,
            vcpu=node.machine.cpu,
            autostart=True,
            running=True,
            xml=libvirt.DomainXmlArgs(xslt=stylesheet(vm.definition)),
        )
        definition = DomainDefinition(
            f"{name}-definition",
            {
                "name": node.name,
                "definition": vm.definition,
                "virsh": [*self._login(host.address), *as_root(self._ssh, "virsh", "-c", SYSTEM)],
                "asked": self._login(vm.restart.asks.address),
                "may_stop": self._shell(vm.restart.may_stop),
                "is_back": self._shell(vm.restart.is_back),
                "known_hosts": self._keys_of(host, vm),
            },
            _merged(opts, depends_on=[domain, *after], protect=False),
        )
        return [definition]

    def host_key(self, node: Node) -> pulumi.Input[str]:
        """Returns the public SSH host key of a machine: that of the stack file, or the one that is derived."""
        return node.machine.host_key or self._keys.public(node.name)

    def _host(self, host: Machine, opts: pulumi.ResourceOptions) -> tuple[libvirt.Provider, libvirt.Volume]:
        """Returns the provider of a virt host, and the base image there."""
        if host.name not in self._reached:
            self._reached[host.name] = self._reach(host, opts)
        return self._reached[host.name]

    def _reach(self, host: Machine, opts: pulumi.ResourceOptions) -> tuple[libvirt.Provider, libvirt.Volume]:
        storage = remote.Command(
            f"{host.name}-storage",
            _merged(opts, protect=False),
            connection=connection(host.address, host.host_key, self._ssh),
            create=" ".join(as_root(self._ssh, "sh", "-s", host.name, host.hypervisor or "kvm", POOL)),
            stdin=_SCRIPT.read_text(encoding="utf-8"),
            logging=remote.Logging.STDERR,
        )
        place = f"{self._ssh.user}@{host.address}:{self._ssh.port}"
        uri = f"qemu+ssh://{place}/system?knownhosts={quote(str(self._known_hosts))}&sshauth=agent"
        # Unknown until the command has run, so that a first preview does not connect to a host that is not ready.
        provider = libvirt.Provider(
            f"{host.name}-libvirt", _merged(opts, protect=False), uri=storage.id.apply(lambda _: uri)
        )
        digest = self._virt.image.sha256
        image = libvirt.Volume(
            f"{host.name}-image-{digest[:12]}",
            # Disks start from the image, so it stays as they do. Its path differs between clones; its name does not.
            _merged(opts, provider=provider, protect=False, retain_on_delete=True, ignore_changes=["source"]),
            name=f"image-{digest[:12]}.qcow2",
            pool=POOL,
            format="qcow2",
            source=str(Path(self._virt.image.source).absolute()),
        )
        return provider, image

    def _cloud_init(self, name: str, vm: VirtualMachine, opts: pulumi.ResourceOptions) -> libvirt.CloudInitDisk:
        node = vm.node
        mac = next(iter(re.findall(r"<mac address=['\"]([0-9a-fA-F:]{17})['\"]", vm.definition)), None)
        guest = Guest(node.name, node.address, mac, self._ssh.user)
        keys = pulumi.Output.all(self._keys.private(node.name), self._keys.public(node.name))
        return libvirt.CloudInitDisk(
            f"{name}-cloud-init",
            # Not protected: it is replaced when its content changes, which no running machine notices.
            _merged(opts, protect=False, delete_before_replace=True),
            name=f"{node.name}-cloud-init.iso",
            pool=POOL,
            user_data=pulumi.Output.secret(keys.apply(lambda both: user_data(guest, self._virt, both[0], both[1]))),
            meta_data=meta_data(guest),
            network_config=network_config(guest, self._virt, self._management),
        )

    def _login(self, address: str) -> list[str]:
        return ssh_client.words(address, self._ssh, KNOWN_HOSTS)

    def _shell(self, text: str) -> str:
        return text if self._ssh.user == "root" or not text else shlex.join(as_root(self._ssh, "sh", "-c", text))

    def _keys_of(self, host: Machine, vm: VirtualMachine) -> pulumi.Output[str]:
        """Returns the file of known hosts of a restart: the virt host, and the machine that is asked."""
        asked = vm.restart.asks
        return pulumi.Output.from_input(self.host_key(asked)).apply(
            lambda found: ssh_client.known_hosts({host.address: host.host_key or "", asked.address: found}, self._ssh)
        )


class DomainDefinition(dynamic.Resource, module="quorate", name="DomainDefinition"):
    """Resource that applies changes of a domain's definition (components/virt_host/redefinition.py)."""

    def __init__(self, name: str, props: Mapping[str, pulumi.Input[object]], opts: pulumi.ResourceOptions) -> None:
        super().__init__(DefinitionProvider(), name, dict(props), opts)


def stylesheet(definition: str) -> str:
    """Returns an XSLT stylesheet whose result is the definition, whatever it is applied to.

    libvirt's provider has no other way to define a domain by its XML. Braces in tags are doubled, because XSLT reads
    expressions there.
    """
    text = _PROLOG.sub("", definition)
    return _STYLESHEET.format(_TAG.sub(lambda tag: tag[0].replace("{", "{{").replace("}", "}}"), text))


def _merged(opts: pulumi.ResourceOptions, **more: object) -> pulumi.ResourceOptions:
    return pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(**more))  # type: ignore[arg-type]
