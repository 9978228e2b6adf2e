"""Reads Ansible's YAML inventories: groups with `hosts`, `children` and `vars`, as Kubespray's hosts.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from blueprint.imports.ansible_inventory import AnsibleInventory
from blueprint.problems import InvalidStackError, Problem, quoted, shown
from files import yaml_reader

_KEYS = ("hosts", "children", "vars")


def read_yaml(path: Path, text: str) -> AnsibleInventory:
    """Returns the inventory in a text. Its problems are those of single keys. Raises InvalidStackError for no YAML."""
    inventory = AnsibleInventory()
    document = load(path, text)
    for name, content in document.items():
        _group(inventory, name, content, f"{path} {name}")
    return inventory


def load(path: Path, text: str) -> Mapping[str, object]:
    """Returns the mapping in a YAML text. Raises InvalidStackError for another text, and for keys that repeat."""
    try:
        document = yaml_reader.read(text)
        value: object = document.value
        twins = document.twins
    except yaml_reader.YamlError as error:
        raise InvalidStackError([Problem(str(path), f"is not valid YAML: {error}")]) from None
    if twins:
        twice = (f"line {twin.line}: the key {quoted(twin.path)} is there twice; keep one" for twin in twins)
        raise InvalidStackError([Problem(str(path), message) for message in twice])
    if not isinstance(value, dict):
        raise InvalidStackError([Problem(str(path), f"is {shown(value)}; write a mapping")])
    return _named(cast("dict[object, object]", value))


def _named(mapping: Mapping[object, object]) -> dict[str, object]:
    return {str(key): value for key, value in mapping.items()}


def _group(inventory: AnsibleInventory, name: str, content: object, place: str) -> None:
    group = inventory.group(name)
    parts = _section(inventory, content, place)
    for key in parts.keys() - set(_KEYS):
        text = f"is not a key of a group; write one of {', '.join(_KEYS)}, and groups under children"
        inventory.problems.append(Problem(f"{place}.{key}", text))
    for pattern, variables in _section(inventory, parts.get("hosts"), f"{place}.hosts").items():
        at = f"{place}.hosts.{pattern}"
        inventory.add_hosts(name, pattern, _section(inventory, variables, at), at)
    for child, below in _section(inventory, parts.get("children"), f"{place}.children").items():
        at = f"{place}.children.{child}"
        group.children.setdefault(child, at)
        _group(inventory, child, below, at)
    group.variables |= _section(inventory, parts.get("vars"), f"{place}.vars")


def _section(inventory: AnsibleInventory, value: object, place: str) -> dict[str, object]:
    if isinstance(value, dict):
        return _named(cast("dict[object, object]", value))
    if value is not None:
        inventory.problems.append(Problem(place, f"is {shown(value)}; write a mapping, each name followed by a colon"))
    return {}
