"""Converts Fuel-CCP's configuration keys of an external Ceph (source 004, 2.3) to quorate:ceph.

Fuel-CCP's keys of Ceph's accounts were in its files in clear text. A stack gets the keys from the environment instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blueprint.problems import shown
from blueprint.topology.config_fates import Path
from blueprint.topology.shapes import StackSetting, TopologyLine
from blueprint.topology.structures import Parts, becomes, left_out, refused, wrong

_FSID, _MONITORS = ("ceph", "fsid"), ("ceph", "mon_host")
_EXTERNAL = ("ceph", "external")
_PLACES: Mapping[Path, Path] = {
    _FSID: ("fsid",),
    ("glance", "ceph", "pool_name"): ("pools", "images"),
    ("cinder", "ceph", "pool_name"): ("pools", "volumes"),
    ("cinder", "ceph", "backup_pool_name"): ("pools", "backups"),
    ("nova", "ceph", "pool_name"): ("pools", "vms"),
    ("glance", "ceph", "username"): ("accounts", "glance", "name"),
    ("cinder", "ceph", "username"): ("accounts", "cinder", "name"),
}
"""Keys, and what they are below quorate:ceph.external."""
_VARIABLES = {"glance": "CEPH_GLANCE_KEY", "cinder": "CEPH_CINDER_KEY"}
"""Variables of the environment with the accounts' keys."""
_STORES = {"glance": "glance-api.conf", "cinder": "cinder.conf"}
"""Projects that may store elsewhere than in Ceph, with the file that says where."""


def ceph_lines(parts: Parts) -> Iterator[TopologyLine]:
    """Yields what became of the keys about Ceph in a section of the file."""
    is_external = _FSID in parts or _MONITORS in parts
    for path, (key, value) in parts.items():
        if path == _MONITORS:
            yield _monitors(key, value)
        elif path[-1] == "enable":
            yield _enabled(key, path[0], value, is_external=is_external)
        elif not is_external:
            yield left_out(key, "belongs to an external Ceph, which ceph.fsid and ceph.mon_host name; remove it")
        else:
            yield becomes(key, (*_EXTERNAL, *_PLACES[path]), value)


def _monitors(key: str, value: object) -> TopologyLine:
    if not isinstance(value, str):
        return wrong(key, f"is {shown(value)}; write names or addresses with commas between them")
    monitors = [each.strip() for each in value.split(",")]
    keys = (
        StackSetting((*_EXTERNAL, "accounts", program, "key"), {"environment": variable})
        for program, variable in _VARIABLES.items()
    )
    setting = StackSetting((*_EXTERNAL, "monitors"), monitors)
    variables = " and ".join(_VARIABLES.values())
    text = (
        f"{setting.place}: [{', '.join(monitors)}], where Glance, Cinder and Nova store; set {variables} to the keys "
        "of their accounts where 'quorate up' runs, or write quorate:ceph in the stack file"
    )
    return TopologyLine(key, "becomes", text, (setting, *keys), "config-in-part")


def _enabled(key: str, project: str, value: object, *, is_external: bool) -> TopologyLine:
    if not isinstance(value, bool):
        return wrong(key, f"is {shown(value)}; write true or false")
    if project == "glance" and not is_external:
        return _images_without_ceph(key, asked=value)
    if project in _STORES and not value:
        advice = f"write enabled_backends in quorate:projects.{project}.options.{_STORES[project]}.DEFAULT"
        return left_out(key, f"it stores in Ceph unless an option names another store; {advice}")
    if project not in _STORES and value is not is_external:
        if is_external:
            advice = "write images_type: default in section libvirt of quorate:projects.nova.options.nova.conf"
            return left_out(
                key, f"disks of virtual machines are in Ceph unless an option names another place; {advice}"
            )
        text = "no Ceph is named, so disks of virtual machines are on their computes"
        return refused(key, f"{text}; write ceph.fsid and ceph.mon_host, or false here")
    return TopologyLine(key, "same", "asks for what every stack has")


def _images_without_ceph(key: str, *, asked: bool) -> TopologyLine:
    if asked:
        return left_out(key, "no Ceph is named; write ceph.fsid and ceph.mon_host, or quorate:ceph in the stack file")
    return TopologyLine(key, "same", "images are in the file system of glance-api's pod, if no Ceph is named")
