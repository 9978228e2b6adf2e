"""Defines what becomes of Fuel-CCP's configuration keys in a stack, as read from ccp_configs.yaml.

Each key has a fate: a setting of the stack file, nothing because a stack does the same, a warning because the value has
no effect, or an error because the cloud would lack what the value asks for. So no key of a topology is ignored without
a message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict, model_validator

Path = tuple[str, ...]
"""The names that lead to a configuration key, such as (neutron, dvr)."""
Kind = Literal["boolean", "integer", "number", "text", "list"]
"""The kind of an option's value."""

READ = ("configs", "secret_configs", "services", "nodes", "roles", "replicas")
"""Sections of a CCP configuration file that Quorate reads."""


class OptionFate(BaseModel):
    """The option of an OpenStack project that gets the value of a configuration key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    project: str
    file: str
    section: str
    name: str
    former: str | None = None
    """The option's name in releases that do not have `name`."""
    kind: Kind
    without: tuple[str, ...] = ()
    """Items of a list that the project no longer has."""


class Fate(BaseModel):
    """What becomes of some configuration keys: one of option, structure, left_out, refused and checked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keys: tuple[str, ...]
    """Keys with dots between their names; * is any one name. Keys below them have the same fate."""
    same: tuple[object, ...] = ()
    """Values for which a stack does what they ask for, without a setting."""
    option: OptionFate | None = None
    structure: Literal["physical", "bootstrap", "ingress", "ceph", "routers", "sriov"] | None = None
    """The part of the stack file that several keys make together."""
    left_out: str | None = None
    """Why the value has no effect, and what to write instead."""
    refused: str | None = None
    """What the cloud would lack, and what to write instead."""
    checked: str | None = None
    """Which other rule reads the value."""

    @model_validator(mode="after")
    def _one(self) -> Fate:
        said = (self.option, self.structure, self.left_out, self.refused, self.checked)
        if sum(each is not None for each in said) != 1:
            raise ValueError(f"{self.keys}: write one of option, structure, left_out, refused, checked")
        return self

    def is_same(self, value: object) -> bool:
        """Whether a stack does what the value asks for. True and 1 differ, as in YAML."""
        return any(isinstance(each, bool) == isinstance(value, bool) and each == value for each in self.same)

    def names(self, path: Path) -> bool:
        """Whether the fate is that of the key, or of a key above it."""
        return any(_fits(key.split("."), path) for key in self.keys)


class ConfigFates(BaseModel):
    """The known configuration keys, and what becomes of them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    keys: Mapping[object, object]
    """The names under `configs`: a mapping for a name with names under it, None for a name with a value."""
    fates: tuple[Fate, ...]
    sections: tuple[Fate, ...]
    """The fates of the file's other sections, which Quorate does not read."""

    @cached_property
    def by_path(self) -> Mapping[Path, Fate]:
        """The fate of each key with a value: the first that names it."""
        return {path: next(fate for fate in self.fates if fate.names(path)) for path in _leaves(self.keys, ())}

    def section(self, name: str) -> Fate | None:
        """Returns the fate of a section that Quorate does not read; None if CCP has no such section."""
        return next((fate for fate in self.sections if fate.names((name,))), None)

    @property
    def section_names(self) -> tuple[str, ...]:
        """All sections of a CCP configuration file."""
        return (*(key for fate in self.sections for key in fate.keys), *READ)


def _fits(pattern: Sequence[str], path: Path) -> bool:
    above = path[: len(pattern)]
    return len(above) == len(pattern) and all(map(fnmatchcase, above, pattern))


def _leaves(tree: Mapping[object, object], above: Path) -> list[Path]:
    found: list[Path] = []
    for name, below in tree.items():
        path = (*above, str(name))
        is_section = isinstance(below, dict)
        found += _leaves(cast("dict[object, object]", below), path) if is_section else [path]
    return found
