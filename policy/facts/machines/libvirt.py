"""Virtual machines of hand-written libvirt resources."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from policy.resource import Resource

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
        """Identifies the physical host by the domain's Pulumi provider: domains of one provider run on one host."""
        return self.resource.provider

    @property
    def hypervisor(self) -> str:
        """The domain's type; the provider's default is kvm."""
        return self.resource.props.at("type").text("kvm")

    @property
    def transformation(self) -> str:
        """The XSLT that changes the domain's definition before libvirt reads it; "" without one."""
        return self.resource.props.at("xml", "xslt").text()


def domains(resources: Iterable[Resource]) -> tuple[LibvirtDomain, ...]:
    """Every libvirt domain among these resources."""
    return tuple(LibvirtDomain(resource) for resource in resources if resource.type == TYPE)
