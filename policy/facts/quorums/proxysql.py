"""Reads ProxySQL's configuration in ConfigMaps: proxysql.cnf (libconfig format) and Kolla's proxysql.yaml.

Reads the tables mysql_servers and mysql_galera_hostgroups. A file with a table for another kind of replication, such as
mysql_replication_hostgroups, is not for Galera and is read as a file without hostgroups.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from files import yaml_reader
from policy.facts.kubernetes.configuration import ConfigMap
from policy.facts.product_defaults import HOSTGROUP, HOSTGROUP_ACTIVE
from policy.properties import Malformed

SERVERS, GALERA = "mysql_servers", "mysql_galera_hostgroups"
_OTHERS = ("mysql_replication_hostgroups", "mysql_group_replication_hostgroups", "mysql_aws_aurora_hostgroups")
_FILE = re.compile(r"proxysql.*\.(cnf|ya?ml)")
_COMMENT = re.compile(r"""("[^"\n]*")|/\*.*?\*/|(?:\#|//)[^\n]*""", re.DOTALL)
_ENTRY = re.compile(r"\{(.*?)\}", re.DOTALL)
_PAIR = re.compile(r"""(\w+)\s*[=:]\s*("[^"]*"|[^\s,;]+)""")

Entry = Mapping[str, str]


@dataclass(frozen=True)
class Hostgroup:
    """A ProxySQL hostgroup whose database servers receive writes."""

    number: str
    servers: int
    """Number of the hostgroup's entries in mysql_servers. At run time ProxySQL moves Galera servers between groups."""
    galera: bool
    """Whether ProxySQL monitors the servers as Galera members and limits how many of them receive writes."""
    max_writers: str | None
    """The setting max_writers; None if it is not set."""


@dataclass(frozen=True)
class ProxyConfiguration:
    """The hostgroups in one configuration file of ProxySQL."""

    file: str
    groups: tuple[Hostgroup, ...]
    """Writer hostgroups in mysql_galera_hostgroups, and hostgroups with several servers that are not in that table."""


def configurations(config: ConfigMap) -> Iterator[ProxyConfiguration]:
    """Reads the ProxySQL files of a ConfigMap. Raises NotKnown or Malformed if a file cannot be read."""
    for name in config.files:
        if _FILE.fullmatch(name):
            text = config.files[name]
            tables = _of_libconfig(text) if name.endswith(".cnf") else _of_yaml(name, text)
            yield ProxyConfiguration(name, tuple(_groups(tables)))


def _groups(tables: Mapping[str, Sequence[Entry]]) -> Iterator[Hostgroup]:
    if any(tables.get(name) for name in _OTHERS):
        return
    servers = Counter(each.get("hostgroup", each.get("hostgroup_id", HOSTGROUP.value)) for each in tables[SERVERS])
    watched: set[str] = set()
    for each in tables[GALERA]:
        if each.get("active", HOSTGROUP_ACTIVE.value) == "1":
            watched |= {value for key, value in each.items() if key.endswith("_hostgroup")}
            writer = each.get("writer_hostgroup", "")
            yield Hostgroup(writer, servers[writer], galera=True, max_writers=each.get("max_writers"))
    for number, count in servers.items():
        if count > 1 and number not in watched:
            yield Hostgroup(number, count, galera=False, max_writers=None)


def _of_libconfig(text: str) -> dict[str, Sequence[Entry]]:
    plain = _COMMENT.sub(lambda found: found[1] or "", text)
    found: dict[str, Sequence[Entry]] = {}
    for name in (SERVERS, GALERA, *_OTHERS):
        block = re.search(rf"\b{name}\s*[=:]\s*\(([^)]*)\)", plain)
        entries = _ENTRY.findall(block[1]) if block else []
        found[name] = [{key: value.strip('"') for key, value in _PAIR.findall(entry)} for entry in entries]
    return found


def _of_yaml(name: str, text: str) -> dict[str, Sequence[Entry]]:
    try:
        document = yaml_reader.load(text)
    except yaml_reader.YamlError:
        raise Malformed(f"{name} is not valid YAML") from None
    tables = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    return {
        table: [{key: str(value) for key, value in each.items()} for each in tables.get(table) or ()]
        for table in (SERVERS, GALERA, *_OTHERS)
    }
