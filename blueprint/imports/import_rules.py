"""What the groups, variables and keys of other deployers' files become: the models of kolla.yaml and its neighbours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel, ConfigDict, model_validator

from blueprint.imports.import_lines import ImportLine
from blueprint.problems import Problem
from blueprint.stackfile.servers import Role
from blueprint.topology import StackSetting
from files import yaml_reader

KeyPath = tuple[str, ...]
_PART = re.compile(r"\{([a-z0-9]+)\}")
_SAME = "a stack has it without a setting"


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GivenSetting(_Rule):
    """A setting of the stack file that a key gives."""

    path: KeyPath
    """Its keys in the stack file. {2} stands for the third part of the key, {host} for the server's name."""
    value: object = None
    """Its value, if it is not that of the key."""


class KeyRule(_Rule):
    """What becomes of some keys: a setting if `gives` has one and the value fits, else what `left_out` says."""

    keys: tuple[str, ...]
    """Keys with dots between their parts; * is any one part, and a part may have a * in it."""
    below: bool = False
    """Whether the rule is that of every key below, if no other names it. Else the key is one line, with all below."""
    same: tuple[object, ...] = ()
    """Values for which a stack does what they ask for, without a setting. [*]: every value."""
    values: Mapping[str, object] = {}
    """The setting's value by the key's; empty: it is the key's."""
    gives: tuple[GivenSetting, ...] = ()
    on_node: KeyPath = ()
    """The setting for one server, if the servers' values differ."""
    note: str = ""
    """What a reader must know of the setting, or why nothing is needed."""
    left_out: str = ""
    """Why the key has no setting, and what to write instead."""

    @model_validator(mode="after")
    def _says(self) -> KeyRule:
        if not (self.gives or self.left_out or self.same):
            raise ValueError(f"{self.keys}: write gives, left_out or same")
        if (self.values or self.same not in ((), ("*",))) and not (self.left_out or (self.gives and not self.values)):
            raise ValueError(f"{self.keys}: write left_out, for other values")
        return self

    def names(self, path: KeyPath) -> bool:
        """Whether the rule is that of the key."""
        return any(_fits(key.split("."), path, below=self.below) for key in self.keys)

    def line(self, key: str, path: KeyPath, value: object, host: str = "") -> ImportLine:
        """Returns what became of a key. `key`: as the report names it. `host`: the server that alone has the value."""
        if self.same == ("*",) or any(
            isinstance(each, bool) == isinstance(value, bool) and each == value for each in self.same
        ):
            return ImportLine(key, "same", self.note or _SAME)
        if not self.gives or (self.values and str(value) not in self.values) or value is None:
            return ImportLine(key, "left out", self.left_out or "has no value")
        own = self.values[str(value)] if self.values else value
        if not _is_plain(own):
            return ImportLine(
                key, "left out", "is a mapping, or a list of other things than texts and numbers; write one"
            )
        words = {str(place): part for place, part in enumerate(path)} | {"host": host}
        given = (GivenSetting(path=self.on_node),) if host else self.gives
        settings = tuple(
            StackSetting(tuple(filled(part, words) for part in each.path), own if each.value is None else each.value)
            for each in given
        )
        return ImportLine(key, "becomes", becomes(settings, self.note), settings)


class RoleGroup(_Rule):
    """Groups whose hosts get a role."""

    names: tuple[str, ...]
    role: Role
    note: str = ""


class ServiceGroup(_Rule):
    """Groups whose hosts run some services, as many instances as hosts."""

    names: tuple[str, ...]
    services: tuple[str, ...]
    role: Role
    """The role of a host that no other group gives one."""


class OtherGroup(_Rule):
    """Groups that give nothing to a stack."""

    names: tuple[str, ...]
    """Names, in which * stands for any text."""
    same: str = ""
    left_out: str = ""


class InventoryRules(_Rule):
    """What becomes of the groups and variables of a kind of Ansible inventory."""

    title: str
    fixed: Mapping[str, object] = {}
    """Settings of every stack of such an inventory."""
    addresses: tuple[str, ...]
    """Variables with the address of a host, the first choice first."""
    roles: tuple[RoleGroup, ...]
    labels_variable: str = ""
    """The variable with labels of a Kubernetes node."""
    label_roles: Mapping[str, Role] = {}
    """The role that a label gives, such as openstack-control-plane=enabled."""
    rack_label: str = ""
    workers: str = ""
    """The group whose hosts have the roles of their labels, or `worker_roles` if no host of it has such a label."""
    worker_roles: tuple[Role, ...] = ()
    services: tuple[ServiceGroup, ...] = ()
    others: tuple[OtherGroup, ...]
    variables: tuple[KeyRule, ...]
    absent: Mapping[str, str] = {}
    """What the inventory does not have, and what to write instead."""
    without_roles: str
    """What to write if no host gets a role that runs OpenStack's services."""


class DeploymentSize(_Rule):
    """Servers of a size of OpenStackDeployment: their number by role."""

    servers: tuple[tuple[str, tuple[Role, ...]], ...]
    source: str


class DeploymentRules(_Rule):
    """What becomes of the keys of an OpenStackDeployment."""

    title: str
    fixed: Mapping[str, object]
    sizes: Mapping[str, DeploymentSize]
    keys: tuple[KeyRule, ...]
    absent: Mapping[str, str]


Rules = TypeVar("Rules", InventoryRules, DeploymentRules)


def load_rules(name: str, model: type[Rules]) -> Rules:
    """Returns the rules in a file beside this module. The files are a part of Quorate, whose tests check them."""
    text = (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")
    return model.model_validate(yaml_reader.load_own(text))


def rule_of(rules: Sequence[KeyRule], path: KeyPath) -> KeyRule | None:
    """Returns the rule of a key: the first that names it, else the first that names a key above it."""
    exact = (rule for rule in rules if not rule.below and rule.names(path))
    return next(exact, None) or next((rule for rule in rules if rule.below and rule.names(path)), None)


def named(names: Sequence[str], name: str) -> bool:
    """Whether one of the names, in which * stands for any text, is the name."""
    return any(fnmatchcase(name, each) for each in names)


def becomes(settings: Sequence[StackSetting], note: str) -> str:
    """Returns the text of a line that became some settings."""
    places = " and ".join(setting.place for setting in settings)
    return f"{places}; {note}" if note else places


def refused_by(problem: Problem, setting: StackSetting) -> bool:
    """Whether the problem of a stack is that of the setting, of a key below it, or of the key that it is in."""
    key, place = problem.key.split(" ")[0], setting.place
    return key == place or key.startswith((f"{place}.", f"{place}[")) or place.startswith(f"{key}.")


def filled(text: str, words: Mapping[str, str]) -> str:
    """Returns a text with each {word} replaced."""
    return _PART.sub(lambda found: words[found[1]], text)


def _is_plain(value: object) -> bool:
    """Whether the value of a key can be that of a setting: a text, a number, a truth, or a list of these."""
    items = cast("list[object]", value) if isinstance(value, list) else [value]
    return all(isinstance(each, str | int | float) for each in items)


def _fits(pattern: Sequence[str], path: KeyPath, *, below: bool) -> bool:
    if below:
        path = path[: len(pattern)]
    return len(pattern) == len(path) and all(fnmatchcase(part, each) for part, each in zip(path, pattern, strict=True))
