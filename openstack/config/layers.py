"""Configuration in layers. A layer holds options from one source by section; a file's layers are merged by option.

A later layer overrides single options of an earlier layer; a list replaces the earlier list. Each value keeps its level
and source, which `quorate config` prints. Pure Python, without Pulumi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Literal

Reveal = Callable[[str], str]
"""Function that returns the secret with a key such as nova/database, or nova/database:1 with a generation."""


@dataclass(frozen=True)
class Secret:
    """A configuration value that contains a secret. The value is written to a Secret object, never to a ConfigMap."""

    name: str
    """Name of the secret: project and purpose, such as keystone/database."""
    text: str = "{}"
    """The value as text, in which the secret replaces {}."""
    generation: int | None = None
    """Number of the secret's version: the previous one for an account that is still valid, None for the current one."""
    length: int | None = None
    """Number of characters of the secret to use, for a program that requires an exact length; None for all 44."""
    encode: Callable[[str], str] = str
    """Function that converts the secret to the form that a program requires."""

    @property
    def key(self) -> str:
        """Key by which the secret is looked up: its name, or name and generation such as nova/database:1."""
        return self.name if self.generation is None else f"{self.name}:{self.generation}"

    def revealed(self, reveal: Reveal) -> str:
        """Returns the value's text with the secret, which `reveal` returns."""
        return self.text.replace("{}", self.encode(reveal(self.key))[: self.length])


Scalar = str | int | float | bool | Secret


@dataclass(frozen=True)
class Repeated:
    """An option that is written once for each value (oslo.config's MultiOpt)."""

    values: tuple[Scalar, ...]


Value = Scalar | tuple[Scalar, ...] | Repeated
"""Value of an option. A tuple is a list of values that is written as one option (oslo.config's ListOpt)."""

Section = Mapping[str, Value]


class Origin(IntEnum):
    """Origin of a configuration value. A value of a higher level overrides a value of a lower level."""

    RELEASE = 1
    """Defaults of the OpenStack release."""
    PROJECT = 2
    """Quorate's values for an OpenStack project or process."""
    ARCHITECTURE = 3
    """Values that depend on the size of the reference architecture."""
    STACK = 4
    """Values of the stack file for a project or a service."""
    NODE = 5
    """Values of the stack file for a service on single nodes."""


@dataclass(frozen=True)
class Layer:
    """Configuration values from one source."""

    level: Origin
    source: str
    """Section of a source document, page of a manual, or key of the stack file."""
    sections: Mapping[str, Section]
    """Options by section. Formats without sections use the section ''."""


@dataclass(frozen=True)
class Setting:
    """A value of a merged configuration, with its origin."""

    value: Value
    level: Origin
    source: str


Document = Mapping[str, Mapping[str, Setting]]
"""A merged configuration: settings by section and option, both in alphabetical order."""


def merge(layers: Iterable[Layer]) -> Document:
    """Merges layers by level. Of two layers with the same level, the later one overrides the earlier one.

    Values of single nodes are in a file of their own, and oslo.config adds a repeated option's values of all files.
    """
    found: dict[str, dict[str, Setting]] = {}
    common: dict[tuple[str, str], tuple[Scalar, ...]] = {}
    for layer in sorted(layers, key=lambda each: each.level):
        for section, options in layer.sections.items():
            for option, value in options.items():
                written: Value = value
                if isinstance(value, Repeated):
                    if layer.level == Origin.NODE:
                        written = Repeated(common.get((section, option), ()) + value.values)
                    else:
                        common[section, option] = value.values
                found.setdefault(section, {})[option] = Setting(written, layer.level, layer.source)
    return {section: dict(sorted(options.items())) for section, options in sorted(found.items()) if options}


@dataclass(frozen=True)
class ConfigFile:
    """A configuration file of a process: its name, its format, and the layers that its values come from."""

    name: str
    format: Literal["ini", "flat"]
    """ini: sections and options (oslo.config). flat: options without sections (rabbitmq.conf)."""
    layers: tuple[Layer, ...]
    fragment: str | None = None
    """Path of an additional file that the program reads, for the options with secrets; None for no such file."""

    def with_layers(self, *layers: Layer) -> ConfigFile:
        """Returns a copy of the file with further layers after its own."""
        return replace(self, layers=(*self.layers, *layers))

    def document(self) -> Document:
        """Returns the merged values of the file's layers."""
        return merge(self.layers)


@dataclass(frozen=True)
class TextFile:
    """A file without options in layers, such as a script or another program's document."""

    name: str
    parts: tuple[str | Secret, ...]
    """The parts of the text, in order. If a part is a secret, the whole file is written to a Secret object."""


WrittenFile = ConfigFile | TextFile
