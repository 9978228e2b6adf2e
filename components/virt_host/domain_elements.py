"""XML elements of a libvirt domain for options of a virtual machine: huge pages, NUMA pinning and further bridges.

A template has each at a placeholder with the name of the option's key. The elements begin with a line break and their
indentation, so that a placeholder behind another element leaves nothing where the option is not used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address

from blueprint.plan.nodes import Node
from blueprint.stackfile.servers import VirtualMachine
from blueprint.stackfile.virt import Numa


class Xml(str):
    """XML that is a value of a template, and is not escaped in it."""

    __slots__ = ()


_HUGE_PAGES = """
  <memoryBacking>
    <hugepages>
      <page size='2048' unit='KiB'/>
    </hugepages>
  </memoryBacking>"""
_NUMA = """
  <cputune>{pins}
    <emulatorpin cpuset='{cpus}'/>
  </cputune>
  <numatune>
    <memory mode='strict' nodeset='{node}'/>
  </numatune>"""
_PIN = """
    <vcpupin vcpu='{number}' cpuset='{cpus}'/>"""
_INTERFACE = """
    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='{bridge}'/>
      <model type='virtio'/>
    </interface>"""


def elements(node: Node) -> Mapping[str, Xml]:
    """Returns the elements of the options that a virtual machine has, by placeholder."""
    return dict(_elements(node, node.machine.vm)) if node.machine.vm else {}


def mac(node: Node, interface: int = 0) -> str:
    """Returns the MAC address of a virtual machine's interface, counted from 0. It is the same in every run."""
    # 52 marks a locally administered address. The IP address makes it unique in the management network.
    octets = (0x52, 0x54 + interface, *IPv4Address(node.address).packed)
    return ":".join(f"{octet:02x}" for octet in octets)


def _elements(node: Node, vm: VirtualMachine) -> Iterator[tuple[str, Xml]]:
    if vm.huge_pages:
        yield "hugePages", Xml(_HUGE_PAGES)
    if vm.numa:
        yield "numa", _numa(vm.numa, vm.cpu)
    if vm.bridges:
        interfaces = (
            _INTERFACE.format(mac=mac(node, number), bridge=bridge) for number, bridge in enumerate(vm.bridges, start=1)
        )
        yield "bridges", Xml("".join(interfaces))


def _numa(numa: Numa, cpu: int) -> Xml:
    pins = "".join(_PIN.format(number=number, cpus=numa.cpus) for number in range(cpu))
    return Xml(_NUMA.format(pins=pins, cpus=numa.cpus, node=numa.node))
