"""Galera's settings, from option files in ConfigMaps, and from arguments and environment variables of containers.

Arguments override option files, as in mariadbd. Settings inside an image are not visible to a preview; a setting that
the stack does not contain counts as the product's default (product_defaults.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from policy.facts.kubernetes.configuration import command_line, environment, read_by, sections
from policy.facts.kubernetes.workload import Workload
from policy.facts.product_defaults import CLUSTER_ADDRESS, WSREP_ON, Default
from policy.facts.stack import Facts
from policy.properties import Properties

ADDRESS, ON = CLUSTER_ADDRESS.setting, WSREP_ON.setting
NEW_CLUSTER = "wsrep_new_cluster"
TRUE = ("1", "on", "yes", "true")

_PREFIXES = ("wsrep", "innodb")
_PROVIDER = "wsrep_provider_options"
_ADDRESS_VARIABLES = ("MARIADB_GALERA_CLUSTER_ADDRESS", "WSREP_CLUSTER_ADDRESS", "CLUSTER_JOIN")
"""Environment variables that set wsrep_cluster_address: in Bitnami's, the official and Percona's image."""
_BOOTSTRAPPING = ("MARIADB_GALERA_CLUSTER_BOOTSTRAP", "MARIADB_GALERA_FORCE_SAFETOBOOTSTRAP")
"""Environment variables of Bitnami's image with which a member starts a new cluster."""
_ARGUMENT = re.compile(r"--((?:wsrep|innodb)[-_][\w-]+)(?:=(.*))?", re.DOTALL)
_IN_SCRIPT = re.compile(r"""--((?:wsrep|innodb)[-_][\w-]+)=("[^"]*"|'[^']*'|\S+)""")
_COMMENT = re.compile(r"\s#.*$", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*!include.*$", re.MULTILINE)


@dataclass(frozen=True)
class Galera:
    """The explicit Galera settings of one workload."""

    options: Mapping[str, str]
    """Options of mariadbd that begin with wsrep or innodb, by name with underscores."""
    places: Mapping[str, str]
    """What contains each of the options, for messages, such as "galera.cnf of ConfigMap db"."""

    def option(self, default: Default) -> str | None:
        """Returns the value of the mariadbd option that `default` names; None if the option is not set."""
        return self.options.get(default.setting)

    def says(self, default: Default) -> str:
        """Returns text for a finding about the option that `default` names, with what contains it."""
        return default.actual(self.option(default), self.places.get(default.setting, ""))

    def provider_says(self, default: Default) -> str:
        """Returns text for a finding about an option in wsrep_provider_options, with what contains it."""
        return default.actual(self.provider(default), self.places.get(_PROVIDER, ""))

    def provider(self, default: Default) -> str | None:
        """Returns the value of an option in wsrep_provider_options; None if it is not set.

        `default` names the option.
        """
        pairs = (each.partition("=") for each in self.options.get(_PROVIDER, "").split(";"))
        return {name.strip(): value.strip() for name, _, value in pairs}.get(default.setting)

    @property
    def peers(self) -> tuple[str, ...] | None:
        """Names or addresses of the members in wsrep_cluster_address; None if wsrep_cluster_address is not set."""
        address = self.options.get(ADDRESS)
        if address is None:
            return None
        names = address.removeprefix("gcomm://").partition("?")[0]
        return tuple(name for each in names.split(",") if (name := each.strip()))


def galera(facts: Facts, workload: Workload) -> Galera:
    """Reads the Galera settings of a workload. Raises NotKnown or Malformed if a configuration text cannot be read."""
    options: dict[str, str] = {}
    places: dict[str, str] = {}

    def add(found: Mapping[str, str], place: str) -> None:
        options.update(found)
        places.update(dict.fromkeys(found, place))

    for config in read_by(workload, facts.config_maps):
        for name in config.files:
            if name.endswith((".cnf", ".ini")):
                add(_of_file(config.files[name]), f"{name} of {config.title}")
    for container in workload.pod.at("containers").items():
        title = f"container {container.at('name').text()} of {workload.title}"
        add(_of_environment(environment(workload, container, facts.config_maps)), f"the environment of {title}")
        add(dict(_of_arguments(command_line(container))), f"the command of {title}")
    return Galera(options, places)


def is_true(value: str) -> bool:
    """Whether mariadbd interprets the option value `value` as true."""
    return value.lower() in TRUE


def _of_file(text: str) -> dict[str, str]:
    """Returns the wsrep and innodb options of all groups of an option file, because only mariadbd has such options."""
    parser = sections(_COMMENT.sub("", _INCLUDE.sub("", text)))
    options = (option for group in parser.sections() for option in parser.items(group))
    return {
        _name(name): (value or "").strip().strip("\"'") for name, value in options if _name(name).startswith(_PREFIXES)
    }


def _of_environment(variables: Mapping[str, Properties]) -> dict[str, str]:
    """Returns the mariadbd options that an image sets from environment variables.

    If a variable gives the cluster address, the image also sets wsrep_on.
    """
    found = [variables[name].text() for name in _ADDRESS_VARIABLES if name in variables]
    new = [name for name in _BOOTSTRAPPING if name in variables and is_true(variables[name].text())]
    return ({NEW_CLUSTER: new[0]} if new else {}) | ({ADDRESS: found[0], ON: "ON"} if found else {})


def _of_arguments(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for word in words:
        if match := _ARGUMENT.fullmatch(word):
            yield _name(match[1]), (match[2] or "").strip().strip("\"'")
            continue
        for name, value in _IN_SCRIPT.findall(word):
            text = value.strip("\"'")
            # An empty address in a script may be conditional (bootstrap), so it is ignored.
            if _name(name) != ADDRESS or text != "gcomm://":
                yield _name(name), text


def _name(written: str) -> str:
    return written.strip().lower().replace("-", "_")
