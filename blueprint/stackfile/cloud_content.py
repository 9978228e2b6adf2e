"""Defines and checks `quorate:bootstrap`: networks, image, flavors (004, 1.5) and availability zones of a new cloud.

The defaults are those of Fuel-CCP: an internal network with a router and six flavors, no external network and no image.
Fuel-CCP created them in every cloud. Quorate creates them only if the stack file contains `quorate:bootstrap`, which
may be empty, because an update must not add public flavors to an existing cloud.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from blueprint import patterns
from blueprint.problems import Problem
from blueprint.stackfile.values import Address, Network, Racks, Strict

KEY = "quorate:bootstrap"
ZONES_KEY = f"{KEY}.availabilityZones"
SERVICES = ("keystone", "glance-api", "neutron-server", "nova-api")
"""Services whose APIs are needed to create the networks, image and flavors."""

OWN_ZONES = ("nova", "internal")
"""Zones of Nova's own: of computes in no aggregate, and of its other services (default_availability_zone,
internal_service_availability_zone). Nova's documentation advises against their use in aggregates."""

NAME = r"^[A-Za-z0-9]([-A-Za-z0-9._ ]{0,253}[-A-Za-z0-9._])?$"
FLAVOR_NAME = r"^[!-~]([ -~]{0,253}[!-~])?$"
"""Matches names of flavors: Nova accepts all printable characters, such as the colons of SCS-4V:16:100."""
EXTRA_SPEC = r"^[A-Za-z0-9 :_.-]{1,255}$"
"""Matches keys of extra specs (Nova's API, flavors_extra_specs)."""
URL = r"^https?://[^\s@]{1,2000}$"
SHA256 = r"^[0-9a-f]{64}$"

HypervisorOfImage = Literal["baremetal", "lxc", "qemu"]
"""Values of the image property `hypervisor_type` (Nova's HVType) for what Quorate's computes run."""

Name = Annotated[str, StringConstraints(pattern=NAME)]
"""Letters, digits, '-', '.', '_' and inner spaces: what Nova accepts in the id of a flavor, up to 255 characters."""
ExtraSpec = Annotated[str, StringConstraints(pattern=EXTRA_SPEC)]
FlavorId = Annotated[Name, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class Internal(Strict):
    """The internal network (004, table 1.1)."""

    name: Name = "int-net"
    subnet: Annotated[Name, Field(description="name of its subnet")] = "int-subnet"
    network: Network = IPv4Network("10.0.1.0/24")
    gateway: Address = IPv4Address("10.0.1.1")


class AddressPool(Strict):
    """The range of addresses in the external network that virtual machines and routers may get."""

    start: Address
    end: Address


class External(Strict):
    """The external network, which has no addresses by default (004, table 1.2)."""

    name: Name = "ext-net"
    subnet: Annotated[Name, Field(description="name of its subnet")] = "ext-subnet"
    physical_network: Annotated[Name, Field(description="one of quorate:networks.physical")] = "physnet1"
    vlan: Annotated[
        int | None, Field(ge=1, le=4094, description="VLAN ID of the network; left out: packets without a tag")
    ] = None
    network: Network
    gateway: Address
    nameserver: Address | None = None
    pool: AddressPool


class CloudNetworks(Strict):
    """An internal and an external network, and the router between them."""

    internal: Annotated[Internal | None, Field(description="null for none")] = Internal()
    external: Annotated[External | None, Field(description="left out: none")] = None
    router: Annotated[Name, Field(description="name of the router; without any network there is none")] = "ext-router"


class Flavor(Strict):
    """A flavor (004, table 1.4)."""

    name: Annotated[str, StringConstraints(pattern=FLAVOR_NAME)]
    id: FlavorId
    ram: Annotated[int, Field(gt=0, le=67_108_864, description="MiB")]
    disk: Annotated[int, Field(ge=0, le=1_000_000, description="GB; 0 for the size of the image")]
    vcpus: Annotated[int, Field(gt=0, le=4096)]
    ephemeral: Annotated[int, Field(ge=0, le=1_000_000, description="GB of a second disk without content")] = 0
    public: Annotated[bool, Field(description="whether every project may use it")] = True
    extra_specs: Annotated[
        dict[ExtraSpec, Annotated[str, StringConstraints(max_length=255)]],
        Field(description="properties that Nova's scheduler and driver read, such as hw:cpu_policy: dedicated"),
    ] = {}


class CloudImage(Strict):
    """An image (004, table 1.3), by default CirrOS 0.6.3 instead of the document's 0.3.4.

    CirrOS publishes only MD5 sums. The default SHA-256 is the one in the tests of OpenStack Ironic.
    """

    name: Name = "cirros"
    url: Annotated[
        str,
        StringConstraints(pattern=URL),
        Field(description="URL from which a job downloads the image; needs sha256"),
    ] = "https://download.cirros-cloud.net/0.6.3/cirros-0.6.3-x86_64-disk.img"
    sha256: Annotated[str, StringConstraints(pattern=SHA256), Field(description="checksum of the file at url")] = (
        "7d6355852aeb6dbcd191bcda7cd74f1536cfe5cbf8a10495a7283a8396e4b75b"
    )
    disk_format: Literal["qcow2", "raw", "vmdk", "vdi", "vhd", "vhdx", "iso"] = "qcow2"
    hypervisor_type: Annotated[
        HypervisorOfImage | None,
        Field(
            description="hypervisor that alone may run it: Nova schedules its servers to no other. qemu is also KVM; "
            "left out: qemu in a stack with Ironic, otherwise any"
        ),
    ] = None


FLAVORS = tuple(
    Flavor(name=f"m1.{name}", id=str(number), ram=ram, disk=disk, vcpus=vcpus)
    for number, (name, ram, disk, vcpus) in enumerate(
        (
            ("test", 128, 1, 1),
            ("tiny", 512, 1, 1),
            ("small", 2048, 20, 1),
            ("medium", 4096, 40, 2),
            ("large", 8192, 80, 4),
            ("xlarge", 16384, 160, 8),
        )
    )
)
"""The six default flavors, from source document 004, 1.5.3: RAM in MiB, disk in GB, virtual CPUs."""


class Bootstrap(Strict):
    """The networks, flavors and image that a new cloud gets (source 004, 1.5), and its availability zones."""

    networks: CloudNetworks = CloudNetworks()
    flavors: Annotated[tuple[Flavor, ...], Field(description="a list replaces the six default flavors")] = FLAVORS
    image: Annotated[CloudImage | None, Field(description="{} for CirrOS; left out: none")] = None
    availability_zones: Annotated[
        dict[Name, Annotated[tuple[Racks, ...], Field(min_length=1)]],
        Field(description="racks of each availability zone of Nova, such as {az1: ['r[1-3]']}; left out: none"),
    ] = {}


def problems(bootstrap: Bootstrap | None) -> Iterator[Problem]:
    """Yields a problem for each setting in `quorate:bootstrap` that OpenStack would reject."""
    if bootstrap is None:
        return
    internal, external = bootstrap.networks.internal, bootstrap.networks.external
    if internal:
        yield from _gateway("internal", internal.network, internal.gateway)
    if external:
        yield from _gateway("external", external.network, external.gateway)
        yield from _pool(external)
    if internal and external:
        if internal.network.overlaps(external.network):
            reason = f"{external.network} overlaps internal {internal.network}; a router needs two networks apart"
            yield Problem(f"{KEY}.networks.external.network", reason)
        if internal.name == external.name:
            yield Problem(
                f"{KEY}.networks.external.name", f"'{external.name}' is the internal network's; write another"
            )
    for field in ("name", "id"):
        for value in _repeated(getattr(flavor, field) for flavor in bootstrap.flavors):
            yield Problem(f"{KEY}.flavors", f"several flavors have the {field} '{value}'; write each once")
    yield from _zones(bootstrap)
    image = bootstrap.image
    if image and ("url" in image.model_fields_set) != ("sha256" in image.model_fields_set):
        given, other = ("url", "sha256") if "url" in image.model_fields_set else ("sha256", "url")
        yield Problem(f"{KEY}.image.{other}", f"is missing; write it with {given}, since each belongs to the other")


def missing(bootstrap: Bootstrap | None, running: Collection[str]) -> Iterator[Problem]:
    """Yields a problem if `quorate:bootstrap` is set and the stack lacks a service whose API it needs.

    `running`: names of the stack's services.
    """
    if bootstrap and (lacking := [name for name in SERVICES if name not in running]):
        yield Problem(KEY, f"the stack does not run {', '.join(lacking)}; place them, or remove {KEY}")


def zone_of_racks(bootstrap: Bootstrap | None) -> Mapping[str, str]:
    """Returns the availability zone of each rack; {} if the stack file sets none."""
    return {rack: zone for zone, racks in _racks_of_zones(bootstrap) for rack in racks}


def _racks_of_zones(bootstrap: Bootstrap | None) -> list[tuple[str, list[str]]]:
    zones = bootstrap.availability_zones if bootstrap else {}
    return [(zone, [rack for each in racks for rack in patterns.expand(each)]) for zone, racks in zones.items()]


def _zones(bootstrap: Bootstrap) -> Iterator[Problem]:
    for zone in (zone for zone in bootstrap.availability_zones if zone in OWN_ZONES):
        yield Problem(f"{ZONES_KEY}.{zone}", "is a zone of Nova's own; write another name")
    for rack in _repeated(rack for _, racks in _racks_of_zones(bootstrap) for rack in racks):
        yield Problem(ZONES_KEY, f"has the rack '{rack}' several times; write each in one zone, since a host has one")


def _gateway(kind: str, network: IPv4Network, gateway: IPv4Address) -> Iterator[Problem]:
    if not _is_host(gateway, network):
        reason = f"{gateway} is not an address for a host in {network}; write one such as {network[1]}"
        yield Problem(f"{KEY}.networks.{kind}.gateway", reason)


def _pool(external: External) -> Iterator[Problem]:
    key, start, end = f"{KEY}.networks.external.pool", external.pool.start, external.pool.end
    if not _is_host(start, external.network) or not _is_host(end, external.network) or start > end:
        yield Problem(key, f"{start} to {end} is not a range in {external.network}; write start and end inside of it")
    elif start <= external.gateway <= end:
        yield Problem(key, f"contains the gateway {external.gateway}; write a range without it")


def _is_host(address: IPv4Address, network: IPv4Network) -> bool:
    return address in network and address not in (network.network_address, network.broadcast_address)


def _repeated(values: Iterable[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]
