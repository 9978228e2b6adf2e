"""Converts configuration keys of Fuel-CCP that make one part of a stack file together.

The parts are quorate:networks.physical (source 004, 1.1), quorate:bootstrap (1.5) and quorate:ingress (1.6). Their
values are checked where they become settings (blueprint/topology_settings.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from blueprint.problems import shown
from blueprint.topology.config_fates import Path
from blueprint.topology.document import Section, as_section
from blueprint.topology.shapes import StackSetting, TopologyLine

Parts = Mapping[Path, tuple[str, object]]
"""Configuration keys by their path: the key as written, and its value."""

_PHYSNETS, _INTERFACE = ("neutron", "physnets"), ("neutron_external_interface",)
_DISTRIBUTED = ("neutron", "dvr")
_PHYSNET_KEYS = ("name", "bridge_name", "interface", "flat", "vlan_range", "dpdk")
_ONLY_NETWORK = "physnet1"
"""Name of the physical network in Fuel-CCP's defaults, and in a stack's."""

_CIRROS = "http://download.cirros-cloud.net/0.3.4/cirros-0.3.4-x86_64-disk.img"
"""URL of Fuel-CCP's default image, for which Quorate has a newer one."""

_SWITCHES: Mapping[Path, tuple[bool, Path, object]] = {
    ("neutron", "bootstrap", "internal"): (True, ("networks", "internal"), None),
    ("neutron", "bootstrap", "external"): (False, ("networks", "external"), None),
    ("nova", "bootstrap"): (True, ("flavors",), []),
    ("glance", "bootstrap"): (False, ("image",), None),
}
"""Parts of quorate:bootstrap with a key `enable`: its default, the part, and what the part is without it."""

_BOOTSTRAP: Mapping[Path, Path] = {
    ("neutron", "bootstrap", "internal", "net_name"): ("networks", "internal", "name"),
    ("neutron", "bootstrap", "internal", "subnet_name"): ("networks", "internal", "subnet"),
    ("neutron", "bootstrap", "internal", "network"): ("networks", "internal", "network"),
    ("neutron", "bootstrap", "internal", "gateway"): ("networks", "internal", "gateway"),
    ("neutron", "bootstrap", "external", "net_name"): ("networks", "external", "name"),
    ("neutron", "bootstrap", "external", "subnet_name"): ("networks", "external", "subnet"),
    ("neutron", "bootstrap", "external", "physnet"): ("networks", "external", "physicalNetwork"),
    ("neutron", "bootstrap", "external", "network"): ("networks", "external", "network"),
    ("neutron", "bootstrap", "external", "gateway"): ("networks", "external", "gateway"),
    ("neutron", "bootstrap", "external", "nameserver"): ("networks", "external", "nameserver"),
    ("neutron", "bootstrap", "external", "pool", "start"): ("networks", "external", "pool", "start"),
    ("neutron", "bootstrap", "external", "pool", "end"): ("networks", "external", "pool", "end"),
    ("neutron", "bootstrap", "router", "name"): ("networks", "router"),
    ("nova", "bootstrap", "flavors"): ("flavors",),
    ("glance", "bootstrap", "image", "name"): ("image", "name"),
    ("glance", "bootstrap", "image", "disk_format"): ("image", "diskFormat"),
}


def structures(parts: Parts) -> Iterator[TopologyLine]:
    """Yields what became of keys of the whole file that make a part of the stack file together."""
    for path, (key, value) in parts.items():
        if path == _PHYSNETS:
            yield from _physnets(key, value)
        elif path == _INTERFACE and _PHYSNETS in parts:
            yield left_out(key, "neutron.physnets names the interfaces; remove it")
        elif path == _INTERFACE:
            yield becomes(key, ("networks", "physical", _ONLY_NETWORK, "interface"), value)
        elif path == _DISTRIBUTED:
            yield _distributed(key, value)
        elif path[0] == "ingress":
            yield _ingress(path, parts)
        else:
            yield _bootstrap(path, parts)


def on_nodes(
    key: str, path: Path, value: object, hosts: Sequence[str], configs: Mapping[object, object]
) -> TopologyLine:
    """Returns what became of such a key for single nodes, on which only the interfaces of networks may differ.

    `configs`: those of the whole file.
    """
    if path == _INTERFACE:
        interfaces = {_ONLY_NETWORK: value}
    elif path == _PHYSNETS:
        neutron = as_section(configs.get("neutron")) or {}
        shared, own = _by_name(neutron.get("physnets")), _by_name(value)
        interfaces = {name: network.get("interface") for name, network in own.items()}
        without = [{name: _without_interface(network) for name, network in each.items()} for each in (shared, own)]
        if not own or any(without[1][name] != without[0].get(name) for name in own):
            text = "differs from the file's own configs in more than the interface, which is all that nodes may"
            return refused(key, f"{text}; write the networks under configs.neutron.physnets, and here the interface")
    else:
        return refused(key, f"is for the whole cloud; write {'.'.join(path)} under the file's own configs")
    settings = tuple(
        StackSetting(("nodes", host, "interfaces", name), interface)
        for host in hosts
        for name, interface in interfaces.items()
    )
    where = settings[0].place if settings else "quorate:nodes"
    more = f" and {len(settings) - 1} more" if len(settings) > 1 else ""
    return TopologyLine(key, "becomes", f"{where}{more}", settings)


def _physnets(key: str, value: object) -> Iterator[TopologyLine]:
    if not isinstance(value, list):
        yield wrong(key, f"is {shown(value)}; write a list of networks, each with {', '.join(_PHYSNET_KEYS)}")
        return
    items: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]
    if not items:
        setting = StackSetting(("networks", "physical"), {})
        yield TopologyLine(key, "becomes", f"{setting.place}: {{}}", (setting,))
    names: set[object] = set()
    for index, item in enumerate(items):
        place, network = f"{key}[{index}]", as_section(item)
        if network is None or not isinstance(network.get("name"), str):
            yield wrong(place, f"is {shown(item)}; write a mapping with {', '.join(_PHYSNET_KEYS)}")
            continue
        if network["name"] in names:
            yield wrong(place, f"is a second network {shown(network['name'])}; write each name once")
        names.add(network["name"])
        for extra in [str(name) for name in network if name not in _PHYSNET_KEYS]:
            text = f"is not a key of a physical network; write one of: {', '.join(_PHYSNET_KEYS)}"
            yield TopologyLine(f"{place}.{extra}", "refused", text, rule="unknown-config")
        if network.get("dpdk") not in (None, False):
            text = "Open vSwitch with DPDK is not built: packets pass the kernel; write false"
            yield TopologyLine(f"{place}.dpdk", "refused", text, rule="config-refused")
        yield _physnet(place, network)


def _physnet(key: str, network: Section) -> TopologyLine:
    vlans = network.get("vlan_range")
    written = {
        "bridge": network.get("bridge_name"),
        "interface": network.get("interface"),
        "vlans": None if vlans is False else vlans,
    }
    made = {name: value for name, value in written.items() if value is not None}
    setting = StackSetting(("networks", "physical", str(network["name"])), made)
    text = f"{setting.place}: {{{', '.join(f'{name}: {shown(value)}' for name, value in made.items())}}}"
    if network.get("flat") is False:
        text = f"{text}; an administrator may make a flat network on it all the same: remove flat"
        return TopologyLine(key, "becomes", text, (setting,), "config-in-part")
    return TopologyLine(key, "becomes", text, (setting,))


def _distributed(key: str, value: object) -> TopologyLine:
    if not isinstance(value, bool):
        return wrong(key, f"is {shown(value)}; write true or false")
    if not value:
        return TopologyLine(key, "same", "asks for what every stack has")
    return becomes(key, ("networks", "distributedRouters"), value)


def _ingress(path: Path, parts: Parts) -> TopologyLine:
    key, value = parts[path]
    _, enabled = parts.get(("ingress", "enabled"), ("", False))
    if path[1] == "enabled" and not isinstance(value, bool):
        return wrong(key, f"is {shown(value)}; write true or false")
    if enabled is not True:
        return TopologyLine(key, "same", "has no effect while ingress.enabled is not true, as in Fuel-CCP")
    if path[1] != "enabled":
        return becomes(key, ("ingress", path[1]), value)
    made = {"domain": "external", "port": 8443, "className": "traefik"}
    text = (
        "quorate:ingress with className traefik, the controller of Fuel-CCP's script, and with the certificate "
        "in the Secret openstack-tls, which you make; write quorate:ingress in the stack file for others"
    )
    return TopologyLine(key, "becomes", text, (StackSetting(("ingress",), made),), "config-in-part")


def _bootstrap(path: Path, parts: Parts) -> TopologyLine:
    key, value = parts[path]
    switch = next((each for each in _SWITCHES if path[: len(each)] == each), None)
    if switch and path == (*switch, "enable"):
        return _switch(key, value, *_SWITCHES[switch])
    if switch and parts.get((*switch, "enable"), ("", _SWITCHES[switch][0]))[1] is not True:
        return TopologyLine(key, "same", f"has no effect while {'.'.join(switch)}.enable is not true, as in Fuel-CCP")
    if path[-1] != "url":
        return becomes(key, ("bootstrap", *_BOOTSTRAP[path]), value)
    if value == _CIRROS:
        return TopologyLine(key, "same", "CirrOS is the default of quorate:bootstrap.image, in a newer version")
    text = "needs a checksum, without which the image is CirrOS; write url and sha256 in quorate:bootstrap.image"
    return left_out(key, text)


def _switch(key: str, value: object, default: bool, part: Path, nothing: object) -> TopologyLine:
    """Returns what became of a key `enable`, one of _SWITCHES."""
    if not isinstance(value, bool):
        return wrong(key, f"is {shown(value)}; write true or false")
    if not value and not default:
        return TopologyLine(key, "same", "asks for what every stack has")
    # What is on by default needs only quorate:bootstrap itself.
    path = ("bootstrap",) if value and default else ("bootstrap", *part)
    setting = StackSetting(path, {} if value else nothing)
    return TopologyLine(key, "becomes", f"{setting.place}: {'{}' if value else shown(nothing)}", (setting,))


def becomes(key: str, path: Path, value: object) -> TopologyLine:
    """Returns the line of a key that became the setting at `path`."""
    setting = StackSetting(path, value)
    return TopologyLine(key, "becomes", f"{setting.place}: {shown(value)}", (setting,))


def _by_name(physnets: object) -> dict[str, Section]:
    items: list[object] = list(physnets) if isinstance(physnets, list) else []  # pyright: ignore[reportUnknownArgumentType]
    sections = [section for item in items if (section := as_section(item)) is not None]
    return {str(section["name"]): section for section in sections if "name" in section}


def _without_interface(network: Section) -> Section:
    return {name: value for name, value in network.items() if name != "interface"}


def wrong(key: str, text: str) -> TopologyLine:
    """Returns the line of a key whose value its setting cannot have."""
    return TopologyLine(key, "refused", text, rule="bad-config-value")


def refused(key: str, text: str) -> TopologyLine:
    """Returns the line of a key without which the cloud would not be what the topology asks for."""
    return TopologyLine(key, "refused", text, rule="config-refused")


def left_out(key: str, text: str) -> TopologyLine:
    """Returns the line of a key that has no effect on the stack."""
    return TopologyLine(key, "left out", text, rule="config-left-out")
