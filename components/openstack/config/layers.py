"""Configuration in layers: documents of section, option and value, merged by option.

A later layer overrides single options of an earlier one; a list replaces the earlier list. Each value keeps its level
and source, which `quorate config` can print. Pure Python, without Pulumi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

Reveal = Callable[[str], str]
"""Returns the secret with the given key: its name, or name and generation."""


@dataclass(frozen=True)
class Secret:
    """A value that contains a secret. It is written to a Secret object, never to a ConfigMap."""

    name: str
    """Project and purpose, such as keystone/database."""
    text: str = "{}"
    """The value as text; {} is replaced by the secret."""
    generation: int | None = None
    """The generation before the current one, where an account of it is still valid; None: the current one."""
    length: int | None = None
    """Characters of the secret that are used, for a program that requires an exact number; None: all 44."""
    encode: Callable[[str], str] = str
    """Gives the secret the form that a program requires."""

    @property
    def key(self) -> str:
        """The name, and the generation if it is not the current one, such as nova/database:1."""
        return self.name if self.generation is None else f"{self.name}:{self.generation}"

    def revealed(self, reveal: Reveal) -> str:
        """Returns the text with the secret."""
        return self.text.replace("{}", self.encode(reveal(self.key))[: self.length])


Scalar = str | int | float | bool | Secret


@dataclass(frozen=True)
class Repeated:
    """An option that is written once for each value (oslo.config's MultiOpt)."""

    values: tuple[Scalar, ...]


Value = Scalar | tuple[Scalar, ...] | Repeated
"""A tuple is one option with a list of values (oslo.config's ListOpt)."""

Section = Mapping[str, Value]


class Level(IntEnum):
    """Where a value may be written. A higher level overrides a lower one."""

    RELEASE = 1
    """Defaults of the OpenStack release."""
    PROJECT = 2
    """What Quorate sets for the project or the process."""
    ARCHITECTURE = 3
    """Values that depend on the size of the reference architecture."""
    STACK = 4
    """The stack file, for a project or a process."""
    NODE = 5
    """The stack file, for single nodes."""


@dataclass(frozen=True)
class Layer:
    """Values from one source."""

    level: Level
    source: str
    """Section of a list document, page of a manual, or key of the stack file."""
    sections: Mapping[str, Section]
    """Options by section. Formats without sections use the section ''."""


@dataclass(frozen=True)
class Setting:
    """A value of the result, with its origin."""

    value: Value
    level: Level
    source: str


Document = Mapping[str, Mapping[str, Setting]]
"""The result: settings by section and option, both in alphabetical order."""


def merge(layers: Iterable[Layer]) -> Document:
    """Returns the settings that result from all layers. Of two layers of one level, the later one overrides."""
    found: dict[str, dict[str, Setting]] = {}
    for layer in sorted(layers, key=lambda each: each.level):
        for section, options in layer.sections.items():
            settings = {option: Setting(value, layer.level, layer.source) for option, value in options.items()}
            found.setdefault(section, {}).update(settings)
    return {section: dict(sorted(options.items())) for section, options in sorted(found.items()) if options}


@dataclass(frozen=True)
class ConfigFile:
    """A configuration file of a process: its name, its format, and the layers that its values come from."""

    name: str
    format: Literal["ini", "flat"]
    """ini: sections and options (oslo.config). flat: options without sections (rabbitmq.conf)."""
    layers: tuple[Layer, ...]
    fragment: str | None = None
    """Path of an additional file that the program reads; options with secrets are written there."""

    def with_layers(self, *layers: Layer) -> ConfigFile:
        """Returns the file with further layers."""
        return replace(self, layers=(*self.layers, *layers))

    def document(self) -> Document:
        """Returns the merged values."""
        return merge(self.layers)


@dataclass(frozen=True)
class TextFile:
    """A file without options in layers, such as a script or another program's document."""

    name: str
    parts: tuple[str | Secret, ...]
    """The parts of the text, in order. If one is a secret, the whole file is written to a Secret object."""


WrittenFile = ConfigFile | TextFile
