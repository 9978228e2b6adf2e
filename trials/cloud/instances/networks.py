# pyright: reportMissingModuleSource=false, reportMissingImports=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportAttributeAccessIssue=false
"""Networks beside a project's own: those of the site, flat and with a VLAN, further addresses of a port, and trunks."""

from __future__ import annotations

import socket
import struct
from threading import Event, Thread
from types import TracebackType
from typing import Any

from trials.cloud.instances.steps import step, until
from trials.cloud.instances.tenant import LIMIT, OUTSIDE, TRIAL, Home, Tenant

SITE = "198.51.100.0/24"
"""A network of the site on a VLAN (RFC 5737)."""
VLAN, TRUNKED = 4094, 100
"""The site's VLAN, which no network of a project has, and the one by which a guest has the same network in a trunk."""
FURTHER = "192.0.2.250"
"""An address in the network of the instances that Neutron has given to no port."""
_NEW = "until [ -e /sys/class/net/eth1 ]; do sleep 1; done; ip link set eth1 up"
_LEASE = "udhcpc -q -n -t 10 -T 3 -s /bin/lease -i"
_INSTANCES = "br1"
"""The switch's bridge of the instances' network (trials/cloud/network.py)."""
_ETHERNET, _ALL, _AUXILIARY, _PACKETS = socket.AF_PACKET, 3, 8, 263
"""Numbers of Linux for packets with any protocol, and for their auxiliary data (packet(7))."""
_DATA = struct.Struct("IIIHHHH")
"""tpacket_auxdata: status, two lengths, two offsets, VLAN tag and its protocol."""


def further_address(tenant: Tenant, servers: tuple[Any, Any], addresses: tuple[str, str]) -> None:
    """Gives the second instance an address, which answers only while its port admits it."""
    network, port = tenant.cloud.network, tenant.port(servers[1])
    tenant.answers(addresses[1], f"ip address add {FURTHER}/24 dev eth0")
    ping = f"ping -c 2 -W 2 {FURTHER}"
    step("an address that its port does not admit has no answer", tenant.fails, addresses[0], ping)
    network.update_port(port, allowed_address_pairs=[{"ip_address": FURTHER}])
    step("the address answers when the port admits it", tenant.answers, addresses[0], ping)
    network.update_port(port, allowed_address_pairs=[])
    tenant.answers(addresses[1], f"ip address del {FURTHER}/24 dev eth0")


def of_the_site(tenant: Tenant, home: Home, servers: tuple[Any, Any], addresses: tuple[str, str], host: str) -> None:
    """Attaches instances to the site's networks while they run: to the flat one, and to a VLAN, also in a trunk."""
    first, _ = servers
    flat = step("the first instance gets a card in the flat network", _attach, tenant, home, first, home.external)
    own = flat.fixed_ips[0]["ip_address"]
    # The guest's answers to the outside would take the new card too: it has the address only while it pings.
    ping = f"ping -c 3 -W 2 {OUTSIDE}; code=$?"
    there = f"{_NEW}; ip address add {own}/24 dev eth1; {ping}; ip address del {own}/24 dev eth1; exit $code"
    step("a host outside answers it there", tenant.answers, addresses[0], there)
    step("the card is taken away", _detach, tenant, first, flat)
    site = _site(tenant, home)
    cards = [step("an instance gets a card in a VLAN of the site", _attach, tenant, home, one, site) for one in servers]
    for address in addresses:
        step("its guest has an address there", tenant.answers, address, f"{_NEW}; {_LEASE} eth1")
    peer = cards[1].fixed_ips[0]["ip_address"]
    with TaggedFrames() as frames:
        step("the other instance answers there", tenant.answers, addresses[0], f"ping -c 3 {peer}")
    if not frames.seen:
        raise RuntimeError(f"no frame with VLAN {VLAN} was on the wire between the computes")
    _trunk(tenant, home, site, host, peer)
    for server, card in zip(servers, cards, strict=True):
        step("the card is taken away", _detach, tenant, server, card)


def _site(tenant: Tenant, home: Home) -> Any:
    """Creates the site's network on a VLAN of the physical network."""
    physical = home.external.provider_physical_network
    # A trunk carries no larger packets than the network of its port, which may have tunnels.
    network = tenant.cloud.network.create_network(
        name=f"{TRIAL}-site", provider_network_type="vlan", provider_physical_network=physical,
        provider_segmentation_id=VLAN, mtu=home.private.mtu,
    )  # fmt: skip
    tenant.cloud.network.create_subnet(network_id=network.id, ip_version=4, cidr=SITE, gateway_ip=None)
    return network


def _trunk(tenant: Tenant, home: Home, site: Any, host: str, peer: str) -> None:
    """Boots an instance whose only card carries the site's network as a VLAN beside its own network."""
    network = tenant.cloud.network
    parent = _port(tenant, home, home.private)
    inner = _port(tenant, home, site, mac_address=parent.mac_address)
    carried = {"port_id": inner.id, "segmentation_type": "vlan", "segmentation_id": TRUNKED}
    trunk = network.create_trunk(name=TRIAL, port_id=parent.id, sub_ports=[carried])
    server = step("an instance with a trunk is ACTIVE", lambda: tenant.boot(home, 5, host, port=parent))
    address = tenant.floating_ip(server, home.external)
    device = f"eth0.{TRUNKED}"
    make = f"ip link add link eth0 name {device} type vlan id {TRUNKED}; ip link set {device} up; {_LEASE} {device}"
    step("its guest has an address in the VLAN", tenant.answers, address, make, "", LIMIT)
    step("an instance of the site's network answers it", tenant.answers, address, f"ping -c 3 {peer}")
    step("the instance with the trunk is deleted", tenant.delete, server)
    network.delete_trunk(trunk)
    for port in (inner, parent):
        network.delete_port(port)


def _port(tenant: Tenant, home: Home, network: Any, **more: Any) -> Any:
    return tenant.cloud.network.create_port(
        name=TRIAL, network_id=network.id, security_group_ids=[home.group.id], **more
    )


def _attach(tenant: Tenant, home: Home, server: Any, network: Any) -> Any:
    """Gives a running instance a card in a network; returns its port."""
    port = _port(tenant, home, network)
    tenant.cloud.compute.create_server_interface(server, port_id=port.id)
    until("the port is ACTIVE", lambda: tenant.cloud.network.get_port(port).status == "ACTIVE", LIMIT)
    return port


def _detach(tenant: Tenant, server: Any, port: Any) -> None:
    tenant.cloud.compute.delete_server_interface(port.id, server=server)
    until("the port is free", lambda: not tenant.cloud.network.get_port(port).device_id, LIMIT)
    tenant.cloud.network.delete_port(port)


class TaggedFrames:
    """Counts the frames with the site's VLAN that pass the switch, while its `with` block runs."""

    def __init__(self) -> None:
        self.seen = 0
        self._socket = socket.socket(_ETHERNET, socket.SOCK_RAW, socket.htons(_ALL))
        self._socket.setsockopt(_PACKETS, _AUXILIARY, 1)
        self._socket.settimeout(0.5)
        self._socket.bind((_INSTANCES, 0))
        self._ended = Event()
        self._thread = Thread(target=self._count, daemon=True)

    def __enter__(self) -> TaggedFrames:
        self._thread.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._socket.close()

    def _count(self) -> None:
        while not self._ended.is_set():
            try:
                _, auxiliary, _, _ = self._socket.recvmsg(64, socket.CMSG_SPACE(_DATA.size))
            except TimeoutError:
                continue
            tags = (_DATA.unpack(data)[5] for level, kind, data in auxiliary if (level, kind) == (_PACKETS, _AUXILIARY))
            self.seen += any(tag & 0xFFF == VLAN for tag in tags)
