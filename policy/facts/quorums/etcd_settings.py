"""Reads the explicit settings of etcd members.

On machines, it reads files whose path contains `etcd`: environment and configuration files, units and manifests. For
pods, it reads commands, environment variables and mounted ConfigMaps.

The flag `--election-timeout`, the variable ETCD_ELECTION_TIMEOUT and the key `election-timeout` of the configuration
file are the same setting.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from policy.facts.kubernetes.configuration import written
from policy.facts.kubernetes.workload import Workload
from policy.facts.product_defaults import Default
from policy.facts.quorums.quorums import MemberGroup
from policy.facts.stack import Facts
from policy.properties import Malformed

_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_VARIABLE = re.compile(r"""\bETCD_([A-Z0-9_]+)=["']?([^"'\n]*)""")
_KEY = re.compile(r"""^([a-z][a-z0-9-]+):[ \t]*["']?([^\s"'#]*)""", re.MULTILINE)
_FLAG = re.compile(r"""--([a-z][a-z0-9-]+)(?:(?:=|[ \t]+(?=["']?\d))["']?([^\s"'\\]*))?""")
"""A flag with its value after `=`, or after a space if it is a number: boolean flags take no separate value."""


@dataclass(frozen=True)
class EtcdSettings:
    """The explicit etcd settings of one machine, or of the pods of one workload."""

    member: str
    """The machine's name, or the workload's title."""
    written: Mapping[str, str]
    """Value of each explicit setting, by the name of etcd's flag; "" for a flag without a value."""

    def flag(self, default: Default) -> bool:
        """Returns a boolean setting. `default` names the setting, and is its value if it is not set."""
        written = self.written.get(default.setting, default.value)
        return written.strip().lower() in ("", "1", "t", "true")

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
        return tuple(EtcdSettings(each.title, _of_workload(facts, each)) for each in group.workloads)
    names = {member.node for member in group.etcd.members}
    machines = (each for each in facts.machines if each.single and each.node in names)
    return tuple(EtcdSettings(each.node, _of_files(each.files)) for each in machines if each.files)


def _of_files(files: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in files:
        if "etcd" in path:
            found |= _of_text(files[path])
    return found


def _of_workload(facts: Facts, workload: Workload) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in written(workload, facts.config_maps):
        text = each.read()
        found |= _of_text(f"{each.name}={text}" if each.name.startswith("ETCD_") else text)
    return found


def _of_text(text: str) -> dict[str, str]:
    plain = _COMMENT.sub("", text)
    found = dict(_KEY.findall(plain))
    found |= {name.lower().replace("_", "-"): value for name, value in _VARIABLE.findall(plain)}
    return found | dict(_FLAG.findall(plain))
