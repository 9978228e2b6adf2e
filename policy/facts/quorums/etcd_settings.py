"""Reads the explicit settings of etcd members.

On machines, it reads files whose path contains `etcd`: environment and configuration files, units with their drop-ins
and manifests. In other files it reads variables of etcd, and lines that start etcd. For pods, it reads commands,
environment variables and mounted ConfigMaps.

The flag `--election-timeout`, the variable ETCD_ELECTION_TIMEOUT and the key `election-timeout` of the configuration
file are the same setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from policy.facts.kubernetes.configuration import COMMAND, written
from policy.facts.kubernetes.workload import Workload
from policy.facts.machines.machine import MachineFacts
from policy.facts.product_defaults import Default
from policy.facts.quorums.quorums import MemberGroup
from policy.facts.stack import Facts
from policy.properties import Malformed, NotKnown, Properties

_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_VARIABLE = re.compile(r"""\bETCD_([A-Z0-9_]+)=["']?([^"'\n]*?)(?=\s+["']?ETCD_|["'\n]|$)""")
"""A variable; in a unit, several follow each other in one line."""
_KEY = re.compile(r"""^([a-z][a-z0-9-]+):[ \t]*["']?([^\s"'#]*)""", re.MULTILINE)
_FLAG = re.compile(r"""--([a-z][a-z0-9-]+)(?:(?:=|[ \t]+(?=["']?[\d/]))["']?([^\s"'\\]*))?""")
"""A flag with its value after `=`, or after a space if it is a number or a path."""
_STARTS = re.compile(r"^.*(?:^|[\s=/])etcd(?:[ \t].*)?$", re.MULTILINE)
"""A line with the program etcd as a word."""
_CONTINUED = re.compile(r"\\\n")
_DIRECTORIES = ("data-dir", "wal-dir")
_FALSE, _TRUE = ("0", "f", "false"), ("", "1", "t", "true")


@dataclass(frozen=True)
class EtcdSettings:
    """The explicit etcd settings of one machine, or of the pods of one workload."""

    member: str
    """The machine's name, or the workload's title."""
    written: Mapping[str, str]
    """Value of each explicit setting, by the name of etcd's flag; "" for a flag without a value."""
    places: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    """The settings in each file of a machine, by the file's path as it is named in messages."""
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    """For pods, the text that contains each setting: a file of a ConfigMap, a variable, or the command."""

    def differs(self, default: Default, wanted: bool) -> str | None:
        """Returns where a boolean setting is not as wanted, for messages; None if it is everywhere.

        A machine's files are each compared: which of them etcd reads last is decided by its unit. `default` names the
        setting, and is its value if it is not set.
        """
        mistaken = _FALSE if wanted else _TRUE
        for place, found in self.places.items():
            if found.get(default.setting, default.value).strip().lower() in mistaken:
                return f" in {place}"
        written = self.written.get(default.setting, default.value).strip().lower()
        if self.places or written not in mistaken:
            return None
        return f" in {self.texts[default.setting]}" if default.setting in self.texts else ""

    def directories(self) -> Iterator[tuple[str, str, str]]:
        """Yields settings that name directories of data on a machine, each with its value and its place.

        The directories of pods are those of their volumes, which other rules read.
        """
        for place, found in self.places.items():
            yield from ((each, found[each], place) for each in _DIRECTORIES if each in found)

    def number(self, default: Default) -> int:
        """Returns a setting that is a whole number. `default` names the setting, and is its value if it is not set.

        Raises Malformed if the value is not a whole number.
        """
        written = self.written.get(default.setting, default.value).strip()
        if not written.isdecimal():
            raise Malformed(f"{default.setting} of {self.member} is '{written}', not a whole number")
        return int(written)


def etcd_settings(facts: Facts, group: MemberGroup) -> tuple[EtcdSettings, ...]:
    """Returns the settings of the members of one etcd cluster (`group`) whose files or pods are in the stack.

    Raises NotKnown if a configuration text is not known in a preview.
    """
    if group.etcd is None:
        return tuple(_of_workload(facts, each) for each in group.workloads)
    names = {member.node for member in group.etcd.members}
    machines = (each for each in facts.machines if each.single and each.node in names)
    return tuple(_of_machine(each) for each in machines if each.files)


def kubeadm_settings(machine: MachineFacts) -> tuple[EtcdSettings, ...]:
    """Returns the settings of the member that kubeadm creates on a machine; () if it creates none."""
    found: dict[str, Mapping[str, str]] = {}
    for document in machine.of_kind("ClusterConfiguration"):
        local = Properties(document, machine.resource.name).at("etcd", "local")
        if not local.given():
            continue
        given = local.at("extraArgs")
        pairs = (
            {each.at("name").text(): each.at("value").text() for each in given.items()}
            if given.is_list()
            else dict(given.texts())
        )
        own = {"data-dir": local.at("dataDir").text()} if local.at("dataDir").given() else dict[str, str]()
        found["kubeadm's etcd.local"] = own | pairs
    own = next(iter(found.values()), None)
    return () if own is None else (EtcdSettings(machine.node or machine.title, own, found),)


def _of_machine(machine: MachineFacts) -> EtcdSettings:
    found: dict[str, str] = {}
    places: dict[str, Mapping[str, str]] = {}
    for path in machine.files:
        try:
            own = _of_file(path, machine.files[path])
        except NotKnown:
            if "etcd" in path.lower():
                raise
            continue
        found |= own
        places[machine.place(path)] = own
    return EtcdSettings(machine.node, found, places)


def _of_file(path: str, text: str) -> dict[str, str]:
    """Returns the settings of etcd in a file of a machine."""
    if "etcd" in path.lower():
        return _of_text(text)
    if "etcd" not in text and "ETCD_" not in text:
        return {}
    plain = _COMMENT.sub("", _CONTINUED.sub(" ", text))
    found = {name.lower().replace("_", "-"): value for name, value in _VARIABLE.findall(plain)}
    return found | dict(_FLAG.findall("\n".join(_STARTS.findall(plain))))


def _of_workload(facts: Facts, workload: Workload) -> EtcdSettings:
    found: dict[str, str] = {}
    texts: dict[str, str] = {}
    for each in written(workload, facts.config_maps):
        text = each.read()
        own = _of_text(f"{each.name}={text}" if each.name.startswith("ETCD_") else text)
        found |= own
        texts |= dict.fromkeys(own, f"its {each.name}" if each.name == COMMAND else each.name)
    return EtcdSettings(workload.title, found, texts=texts)


def _of_text(text: str) -> dict[str, str]:
    plain = _COMMENT.sub("", text)
    found = dict(_KEY.findall(plain))
    found |= {name.lower().replace("_", "-"): value for name, value in _VARIABLE.findall(plain)}
    return found | dict(_FLAG.findall(plain))
