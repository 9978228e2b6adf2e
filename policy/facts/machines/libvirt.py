"""Virtual machines of hand-written libvirt resources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from policy.resource import Resource

LOCAL = "localhost"
"""The host of a URI without one, such as qemu:///system."""
TYPE = "libvirt:index/domain:Domain"
CLOUD_INIT = "libvirt:index/cloudInitDisk:CloudInitDisk"


@dataclass(frozen=True)
class LibvirtDomain:
    """A libvirt domain."""

    resource: Resource

    @property
    def title(self) -> str:
        """The domain's name in messages."""
        return f"libvirt domain {self.resource.name}"

    @property
    def name(self) -> str:
        """Name of the virtual machine and of its node."""
        return self.resource.props.at("name").text(self.resource.name)

    @property
    def host(self) -> str:
        """Identifies the physical host: by the URI of the domain's Pulumi provider, else by the provider itself.

        URIs of one host may differ in driver, transport, user, port and parameters.
        """
        given = self.resource.provider
        return (urlsplit(given).hostname or LOCAL) if "://" in given else given

    @property
    def hypervisor(self) -> str:
        """The domain's type; the provider's default is kvm."""
        return self.resource.props.at("type").text("kvm")

    @property
    def autostart(self) -> bool:
        """Whether libvirt starts the domain with its host; the provider's default is no."""
        return self.resource.props.at("autostart").flag()

    @property
    def transformation(self) -> str:
        """The XSLT that changes the domain's definition before libvirt reads it; "" without one."""
        return self.resource.props.at("xml", "xslt").text()


def domains(resources: Iterable[Resource]) -> tuple[LibvirtDomain, ...]:
    """Every libvirt domain among these resources."""
    return tuple(LibvirtDomain(resource) for resource in resources if resource.type == TYPE)
