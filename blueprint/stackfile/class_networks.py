"""Networks of the cloud beside management, and the addresses of machines in them, by class.

The classes overlay and storage are those of source 004, 5.3.4; it has none for migrations of virtual machines.

The management network has no entry here: it is the network of `address`, which every machine has.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from blueprint.stackfile.values import Address, Network, Strict

ClassName = Literal["overlay", "storage", "migration"]
CLASSES: tuple[ClassName, ...] = get_args(ClassName)
DEFAULT_MTU = 1500
"""MTU of a network for which the stack file has none: that of Ethernet, and Neutron's default (global_physnet_mtu)."""
VXLAN = 50
"""Bytes that VXLAN adds to a packet over IPv4: headers of Ethernet 14, IP 20, UDP 8 and VXLAN 8 (RFC 7348, 5)."""

ClassAddresses = Annotated[
    dict[ClassName, Address],
    Field(
        description="addresses in further networks of the cloud (quorate:networks), by class such as overlay; in a "
        "pattern they rise with the server's number, as address does"
    ),
]


class ClassNetwork(Strict):
    """A network in which machines have an address of their own, in addition to that in the management network."""

    cidr: Annotated[Network, Field(description="network that contains these addresses of all machines")]
    mtu: Annotated[
        int | None,
        Field(ge=1280, le=9216, description="MTU of the machines' interfaces in this network; left out: 1500"),
    ] = None

    @property
    def packet(self) -> int:
        """Bytes of the largest packet that machines of this network must be able to send each other."""
        return self.mtu or DEFAULT_MTU
