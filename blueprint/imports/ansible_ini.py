"""Reads Ansible's INI inventories: [group], [group:children], [group:vars], ranges of hosts, variables of hosts.

Python's configparser does not fit: it takes `node1 ip=10.0.0.1` for the key "node1 ip", and merges no sections.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from blueprint.imports.ansible_inventory import UNGROUPED, AnsibleInventory
from blueprint.problems import Problem, quoted

_SECTION = re.compile(r"\[([^\[\]:\s]+)(?::([^\[\]\s]*))?\]\s*(?:#.*)?")
_GROUP = re.compile(r"([^\[\]:\s#]+)\s*(?:#.*)?")
_PORT = re.compile(r"(?P<host>(?:[^\[\]:]|\[[^\[\]]*\])+):(?P<port>[0-9]{1,5})")
"""A host or a range of hosts, and the port of SSH."""


def read_ini(path: Path, text: str) -> AnsibleInventory:
    """Returns the inventory in a text. Its problems are those of single lines, by the line's number."""
    inventory = AnsibleInventory()
    section, kind = UNGROUPED, "hosts"
    for number, written in enumerate(text.splitlines(), start=1):
        line, place = written.strip(), f"{path} line {number}"
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and (match := _SECTION.fullmatch(line)):
            section, kind = match[1], match[2] if match[2] is not None else "hosts"
            inventory.group(section)
            if kind not in ("hosts", "children", "vars"):
                advice = f"write [{section}], [{section}:children] or [{section}:vars]"
                inventory.problems.append(Problem(place, f"{quoted(kind)} is not a kind of a section; {advice}"))
        elif kind == "children":
            _child(inventory, section, line, place)
        elif kind == "vars":
            name, sign, value = (part.strip() for part in line.partition("="))
            if not sign or not name:
                inventory.problems.append(Problem(place, "is not a variable of the group; write name=value"))
            inventory.group(section).variables[name] = value
        elif kind == "hosts":
            _hosts(inventory, section, line, place)
    return inventory


def _child(inventory: AnsibleInventory, section: str, line: str, place: str) -> None:
    match = _GROUP.fullmatch(line)
    if match:
        inventory.group(section).children.setdefault(match[1], place)
    else:
        inventory.problems.append(Problem(place, f"{quoted(line)} is not a name of a group; write one name on a line"))


def _hosts(inventory: AnsibleInventory, section: str, line: str, place: str) -> None:
    try:
        pattern, *written = shlex.split(line, comments=True)
    except ValueError:  # shlex's message names no line
        inventory.problems.append(Problem(place, "has a quotation mark without its partner; write both or none"))
        return
    variables: dict[str, object] = {}
    for each in written:
        name, sign, value = each.partition("=")
        if not sign or not name:
            # The word is not repeated: it may be a part of a password with a blank.
            text = "has a word that is not a variable after the host; write name=value, with blanks in quotes"
            inventory.problems.append(Problem(place, text))
        variables[name] = value
    if match := _PORT.fullmatch(pattern):
        pattern = match["host"]
        variables.setdefault("ansible_port", match["port"])
    inventory.add_hosts(section, pattern, variables, place)
