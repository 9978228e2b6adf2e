"""Makes servers and settings of Rockoon's OpenStackDeployment. Its servers are placeholders, by its size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from blueprint.imports import placeholders
from blueprint.imports.ansible_yaml import load
from blueprint.imports.import_lines import ImportLine, ReadFile
from blueprint.imports.import_rules import DeploymentRules, KeyPath, becomes, rule_of
from blueprint.patterns import expand
from blueprint.problems import InvalidStackError, Problem, shown
from blueprint.topology import StackSetting

_KIND = "OpenStackDeployment"
_NOT_THE_SPEC = ("apiVersion", "kind", "metadata", "status")
_SIZE: KeyPath = ("spec", "size")
_NEUTRON: KeyPath = ("spec", "features", "neutron")
_EXTERNAL: KeyPath = (*_NEUTRON, "external_networks")
_FLOATING: KeyPath = (*_NEUTRON, "floating_network")
_NETWORK_KEYS = {"interface": "interface", "bridge": "bridge", "vlan_ranges": "vlans"}
_LEFT_OF_NETWORKS = {
    "network_types": "a physical network may have flat networks and VLANs of quorate:networks.physical.vlans",
    "mtu": "write physical_network_mtus of section ml2 under quorate:projects.neutron.options.ml2_conf.ini",
}


def import_deployment(path: Path, text: str, rules: DeploymentRules) -> ReadFile:
    """Returns what a deployment gives to a stack. Raises InvalidStackError, with every problem, for another file."""
    document = load(path, text)
    problems: list[Problem] = []
    if document.get("kind") != _KIND:
        problems.append(Problem(f"{path} kind", f"is {shown(document.get('kind'))}; write {_KIND}"))
    spec = document.get("spec")
    written = _section(spec).get("size")
    if not isinstance(spec, dict):
        problems.append(Problem(f"{path} spec", f"is {shown(spec)}; write a mapping"))
    elif not isinstance(written, str) or written not in rules.sizes:
        problems.append(Problem(f"{path} spec.size", f"is {shown(written)}; write one of {', '.join(rules.sizes)}"))
    if problems:
        raise InvalidStackError(problems)
    size = rules.sizes[str(written)]
    lines = [
        ImportLine(
            "spec.size",
            "placeholder",
            f"servers of this size: {size.source}; settings of processes that it implies are not read",
        ),
        *(ImportLine(key, "placeholder", text) for key, text in rules.absent.items()),
        *_walk(rules, ("spec",), document["spec"]),
        *(
            ImportLine(key, "same" if key in _NOT_THE_SPEC else "unknown", "describes the resource, not the cloud")
            for key in document
            if key != "spec"
        ),
    ]
    return ReadFile(tuple(_servers(size.servers)), dict(rules.fixed), tuple(lines))


def _servers(groups: object) -> Iterator[dict[str, object]]:
    first = placeholders.FIRST_ADDRESS
    for name, roles in cast("tuple[tuple[str, tuple[str, ...]], ...]", groups):
        yield {"name": name, "address": str(first), "roles": list(roles), **placeholders.HARDWARE}
        first += len(expand(name))


def _walk(rules: DeploymentRules, path: KeyPath, value: object) -> Iterator[ImportLine]:
    """Yields what a key and the keys below it became."""
    key = ".".join(path)
    if path == _SIZE:
        return
    if path == _EXTERNAL:
        yield from _physical_networks(key, value)
        return
    if path == _FLOATING and _section(value).get("enabled") is not True:
        yield ImportLine(key, "same", "has no effect while its key enabled is not true")
        return
    rule = rule_of(rules.keys, path)
    if rule and not rule.below:
        yield rule.line(key, path, value)
    elif section := _section(value):
        for name, below in section.items():
            yield from _walk(rules, (*path, name), below)
    elif names := _names(value):
        for name in names:
            yield from _walk(rules, (*path, name), True)
    elif rule:
        yield rule.line(key, path, value)
    elif value in ({}, [], None):
        yield ImportLine(key, "same", "is empty")
    else:
        yield ImportLine(key, "unknown", f"not a key of {rules.title} that Quorate knows; nothing of it is taken over")


def _physical_networks(key: str, value: object) -> Iterator[ImportLine]:
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    for index, item in enumerate(items):
        place, network = f"{key}[{index}]", _section(item)
        name = network.get("physnet")
        if not isinstance(name, str):
            yield ImportLine(place, "left out", "has no physnet, the network's name: write quorate:networks.physical")
            continue
        path = ("networks", "physical", name)
        yield _setting(f"{place}.physnet", StackSetting(path, {}))
        for part, each in network.items():
            if part in _NETWORK_KEYS and each is not None:
                yield _setting(f"{place}.{part}", StackSetting((*path, _NETWORK_KEYS[part]), each))
            elif part in _LEFT_OF_NETWORKS and each is not None:
                yield ImportLine(f"{place}.{part}", "left out", _LEFT_OF_NETWORKS[part])
            elif part != "physnet" and each is None:
                yield ImportLine(f"{place}.{part}", "same", "is empty")
            elif part != "physnet":
                yield ImportLine(
                    f"{place}.{part}", "unknown", "not a key of an external network; nothing of it is taken over"
                )


def _setting(key: str, setting: StackSetting) -> ImportLine:
    return ImportLine(key, "becomes", becomes((setting,), ""), (setting,))


def _names(value: object) -> Sequence[str]:
    """Returns the items of a list of texts; () for another value."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [str(each) for each in items] if all(isinstance(each, str) for each in items) else ()


def _section(value: object) -> Mapping[str, object]:
    """Returns a mapping with text as keys; an empty one for a value that is not a mapping."""
    return (
        {str(key): each for key, each in cast("dict[object, object]", value).items()} if isinstance(value, dict) else {}
    )
