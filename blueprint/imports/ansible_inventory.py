"""An Ansible inventory: groups of hosts, with variables. ansible_ini.py and ansible_yaml.py read one from a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from blueprint.patterns import LARGEST
from blueprint.problems import Problem, quoted

ALL, UNGROUPED = "all", "ungrouped"
"""Ansible's groups of all hosts, and of the hosts that are in no other group."""
MOST_GROUPS = 500
"""Maximum number of groups: more than twice those of Kolla-Ansible's sample."""
MOST_CHILDREN = 10_000
"""Maximum number of groups in groups, each counted wherever it is written: 20 in each."""
MOST_ENTRIES = 200_000
"""Maximum number of hosts and variables of hosts, each counted wherever the file writes it: 10 for each of the 20,000
machines that a stack may have."""
_RANGE = re.compile(r"\[([0-9]{1,9}|[a-z]|[A-Z]):([0-9]{1,9}|[a-z]|[A-Z])(?::([1-9][0-9]{0,5}))?\]")


@dataclass
class InventoryGroup:
    """A group as the file writes it."""

    hosts: dict[str, None] = field(default_factory=dict[str, None])
    children: dict[str, str] = field(default_factory=dict[str, str])
    """The groups in it, with the place in the file."""
    variables: dict[str, object] = field(default_factory=dict[str, object])


@dataclass
class AnsibleInventory:
    """The groups and the variables of hosts in a file, and its problems."""

    groups: dict[str, InventoryGroup] = field(default_factory=dict[str, InventoryGroup])
    variables: dict[str, dict[str, object]] = field(default_factory=dict[str, dict[str, object]])
    """The hosts in the order of the file, each with its variables."""
    repeated: dict[str, str] = field(default_factory=dict[str, str])
    """Variables of which a later value replaced this one, such as `node1.ip`, by the place of the later value."""
    problems: list[Problem] = field(default_factory=list[Problem])
    _entries: int = 0
    _found: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    """The groups in a group, by its name, once they were looked for."""

    def group(self, name: str) -> InventoryGroup:
        """Returns the group of this name, which it adds if the file has not named it before."""
        return self.groups.setdefault(name, InventoryGroup())

    def add_hosts(self, group: str, pattern: str, variables: Mapping[str, object], place: str) -> None:
        """Adds the hosts of a pattern such as node[01:03] to a group, each with the variables."""
        try:
            names = expand_hosts(pattern)
        except ValueError as error:
            self.problems.append(Problem(place, str(error)))
            return
        if not self._has_room(len(names) * (1 + len(variables)), place):
            return
        for name in names:
            self.group(group).hosts[name] = None
            known = self.variables.setdefault(name, {})
            for key, value in variables.items():
                if known.get(key, value) != value:
                    self.repeated[f"{name}.{key}"] = place
                known[key] = value

    def _has_room(self, entries: int, place: str) -> bool:
        fitted = self._entries <= MOST_ENTRIES
        self._entries += entries
        fits = self._entries <= MOST_ENTRIES
        if fitted and not fits:
            text = f"has more than {MOST_ENTRIES} hosts and variables up to here; write fewer, or divide the file"
            self.problems.append(Problem(place, text))
        return fits

    def finish(self, path: str) -> None:
        """Adds the problems of groups that contain each other, or are too many. `path`: of the file."""
        if len(self.groups) > MOST_GROUPS:
            self.problems.append(Problem(path, f"has more than {MOST_GROUPS} groups; write fewer"))
            return
        if sum(len(group.children) for group in self.groups.values()) > MOST_CHILDREN:
            self.problems.append(Problem(path, f"has more than {MOST_CHILDREN} groups in groups; write fewer"))
            return
        for name, group in self.groups.items():
            for child, place in group.children.items():
                if child not in self.groups:
                    text = (
                        f"the group {quoted(child)} is nowhere in the file; write it, or remove it from {quoted(name)}"
                    )
                    self.problems.append(Problem(place, text))
                elif name in self._below(child):
                    text = f"{quoted(child)} is in {quoted(name)} and contains it; remove one from the other"
                    self.problems.append(Problem(place, text))

        if not self.problems:
            self._check_size(path)

    def _check_size(self, path: str) -> None:
        entries = sum(
            len(group.variables) * len(self.members(name)) for name, group in self.groups.items() if group.variables
        )
        if entries > MOST_ENTRIES:
            text = f"gives its hosts {entries} variables by groups, more than {MOST_ENTRIES}; write fewer"
            self.problems.append(Problem(path, text))

    def _below(self, name: str) -> dict[str, None]:
        """Returns the group and all groups in it, in the order in which they are found."""
        if name in self._found:
            return self._found[name]
        found: dict[str, None] = {}
        waiting = [name]
        while waiting:
            current = waiting.pop()
            if current not in found:
                found[current] = None
                waiting += reversed(self.groups[current].children if current in self.groups else ())
        self._found[name] = found
        return found

    def depth(self, name: str) -> int:
        """Returns how many groups are in a group, itself included: more than in each of these."""
        return len(self._below(name))

    def members(self, name: str) -> list[str]:
        """Returns the hosts of a group and of the groups in it."""
        if name == ALL:
            return list(self.variables)
        groups = (self.groups[each] for each in self._below(name) if each in self.groups)
        return list(dict.fromkeys(host for group in groups for host in group.hosts))


def expand_hosts(pattern: str) -> list[str]:
    """Returns the hosts of Ansible's pattern: node[01:03] is three, rack[a:c] too, and [1:9:2] every second.

    Raises ValueError if the pattern is invalid, or has more than 10,000 hosts.
    """
    parts = _RANGE.split(pattern)
    if any(sign in text for text in parts[::4] for sign in "[]"):
        raise ValueError(f"{quoted(pattern)} is not a name or a range of names; write for example node[01:03]")
    names = [parts[0]]
    for index in range(1, len(parts), 4):
        first, last, step = parts[index : index + 3]
        choices = list(_choices(first, last, int(step or 1), pattern))
        if len(names) * len(choices) > LARGEST:
            raise ValueError(f"{quoted(pattern)} stands for more than {LARGEST} hosts; write a smaller range")
        names = [f"{before}{choice}{parts[index + 3]}" for before in names for choice in choices]
    return names


def _choices(first: str, last: str, step: int, pattern: str) -> Iterator[str]:
    if first.isdigit() != last.isdigit() or (first.isdigit() and first[0] == "0" and len(first) != len(last)):
        raise ValueError(f"the ends of the range in {quoted(pattern)} differ in form; write for example node[01:03]")
    start, end = (int(first), int(last)) if first.isdigit() else (ord(first), ord(last))
    if end < start or (not first.isdigit() and first.islower() != last.islower()):
        raise ValueError(f"the range in {quoted(pattern)} runs backwards; write the smaller end first")
    if (end - start) // step >= LARGEST:
        raise ValueError(f"{quoted(pattern)} stands for more than {LARGEST} hosts; write a smaller range")
    width = len(first) if first.isdigit() and first[0] == "0" else 0
    for value in range(start, end + 1, step):
        yield str(value).zfill(width) if first.isdigit() else chr(value)
