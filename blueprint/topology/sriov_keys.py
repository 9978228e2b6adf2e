"""Converts Fuel-CCP's configuration keys of SR-IOV (source 004, 2.5.2) to quorate:nodes.<node>.sriov.

Fuel-CCP had the devices twice, in Neutron's list and in Nova's. A stack has them once, by node.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from blueprint.problems import shown
from blueprint.topology.config_fates import Path
from blueprint.topology.document import Section, as_section
from blueprint.topology.shapes import StackSetting, TopologyLine
from blueprint.topology.structures import Parts, refused, wrong
from text.quoting import first_of

AGENT = "neutron-sriov-nic-agent"
DEVICES = ("neutron", "sriov", "devices")
_ENABLED = ("neutron", "sriov", "enabled")
_NOVA = ("nova", "sriov")
_ALIAS, _WHITELIST = (*_NOVA, "pci_alias"), (*_NOVA, "pci_passthrough_whitelist")
_OPTIONS = ("projects", "nova", "options", "nova.conf", "pci")
_DEVICE_KEYS = ("name", "physnets", "exclude_vfs")
_NAMED = 6
"""Nodes that a line names."""


def sriov_lines(parts: Parts, hosts: Sequence[str]) -> Iterator[TopologyLine]:
    """Yields what became of the keys about SR-IOV in a section of the file. `hosts`: the nodes of Neutron's agent."""
    is_on = parts.get(_ENABLED, ("", False))[1] is True
    devices = parts.get(DEVICES, ("", []))[1]
    for path, (key, value) in parts.items():
        if path[-1] == "enabled":
            yield _enabled(key, path, value, parts, hosts)
        elif not is_on:
            yield TopologyLine(key, "same", "has no effect while neutron.sriov.enabled is not true, as in Fuel-CCP")
        elif path == DEVICES:
            yield from _devices(key, value, hosts)
        elif path == _ALIAS:
            yield _aliases(key, value)
        elif path == _WHITELIST:
            yield _whitelist(key, value, _items(devices))


def _enabled(key: str, path: Path, value: object, parts: Parts, hosts: Sequence[str]) -> TopologyLine:
    if not isinstance(value, bool):
        return wrong(key, f"is {shown(value)}; write true or false")
    other = (*(_NOVA if path == _ENABLED else _ENABLED[:-1]), "enabled")
    if value is not (parts.get(other, ("", False))[1] is True):
        return refused(key, f"is for Neutron and Nova together; write the same in {'.'.join(other)}")
    if not value:
        return TopologyLine(key, "same", "asks for what every stack has")
    if not hosts:
        return refused(key, f"no node has {AGENT}; name it in a role of the computes with such devices")
    if path == _ENABLED and not _items(parts.get(DEVICES, ("", []))[1]):
        return refused(key, f"no device is named; write {'.'.join(DEVICES)}, each with name and physnets")
    return TopologyLine(key, "same", f"the nodes of {AGENT} have the devices")


def _devices(key: str, value: object, hosts: Sequence[str]) -> Iterator[TopologyLine]:
    if not _is_list(value):
        yield wrong(key, f"is {shown(value)}; write a list of devices, each with {', '.join(_DEVICE_KEYS)}")
    names: set[object] = set()
    for index, item in enumerate(_items(value)):
        device, place = as_section(item), f"{key}[{index}]"
        name = device and device.get("name")
        if device is None or not isinstance(name, str):
            yield wrong(place, f"is {shown(item)}; write a mapping with {', '.join(_DEVICE_KEYS)}")
        elif name in names:
            yield wrong(place, f"is a second device {shown(name)}; write each name once")
        else:
            names.add(name)
            yield _device(place, name, device, hosts)


def _device(key: str, name: str, device: Section, hosts: Sequence[str]) -> TopologyLine:
    if others := [str(each) for each in device if each not in _DEVICE_KEYS]:
        return wrong(key, f"has {', '.join(others)}; write only {', '.join(_DEVICE_KEYS)}")
    networks, excluded = device.get("physnets"), device.get("exclude_vfs", [])
    if len(_items(networks)) != 1 or not isinstance(_items(networks)[0], str):
        return wrong(f"{key}.physnets", f"is {shown(networks)}; write a list with one physical network")
    if not _is_list(excluded):
        return wrong(f"{key}.exclude_vfs", f"is {shown(excluded)}; write a list of PCI addresses")
    for index, address in enumerate(_items(excluded)):
        if not isinstance(address, str):
            text = "YAML reads 0000:02:00.2 as a number; write a PCI address with quotation marks, '0000:02:00.2'"
            return wrong(f"{key}.exclude_vfs[{index}]", f"is {shown(address)}; {text}")
    made = {"network": _items(networks)[0], **({"exclude": _items(excluded)} if excluded else {})}
    settings = tuple(StackSetting(("nodes", host, "sriov", name), made) for host in hosts)
    where = f"quorate:nodes.<node>.sriov.{name}"
    return TopologyLine(key, "becomes", f"{where}, on {first_of(hosts, _NAMED)}", settings)


def _aliases(key: str, value: object) -> TopologyLine:
    aliases = [as_section(each) for each in _items(value)]
    if not _is_list(value) or None in aliases:
        return wrong(key, f"is {shown(value)}; write a list of mappings with name, vendor_id and product_id")
    for index, alias in enumerate(aliases):
        for name, given in (alias or {}).items():
            if not isinstance(given, str):  # Nova refuses a number, and YAML reads 1572 as one
                return wrong(f"{key}[{index}].{name}", f"is {shown(given)}; write a text with quotation marks")
    if not aliases:
        return TopologyLine(key, "same", "names no alias")
    setting = StackSetting((*_OPTIONS, "alias"), [json.dumps(each) for each in aliases])
    return TopologyLine(key, "becomes", f"{setting.place}: {len(aliases)} of them", (setting,))


def _whitelist(key: str, value: object, devices: Sequence[object]) -> TopologyLine:
    """Returns what became of Nova's list, which a stack has by Neutron's devices."""
    known = [(each.get("name"), _items(each.get("physnets"))) for each in map(as_section, devices) if each]
    listed = [each for each in map(as_section, _items(value)) if each and len(each) == 2]
    given = [(each.get("devname"), [each.get("physical_network")]) for each in listed]
    same = all(each in known for each in given) and all(each in given for each in known)
    if _is_list(value) and len(given) == len(_items(value)) and same:
        return TopologyLine(key, "same", "Nova gives the functions of Neutron's devices")
    text = "is not the list of neutron.sriov.devices, from which Nova's is written"
    place = f"quorate:nodes.<node>.services.nova-compute.options.{'.'.join(_OPTIONS[3:])}.device_spec"
    return refused(key, f"{text}; write devname and physical_network of each of these, or {place}")


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []  # pyright: ignore[reportUnknownArgumentType]
