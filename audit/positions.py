"""Where a finding is at home in the stack file: the line of the key that somebody would change to mend it.

The engine's events carry no position in a program. So a service's findings stand at its own entry, where the stack file
has one, a machine's at its server, a waiver's at the waiver; all others at the architecture or the top of the settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from blueprint.patterns import expand
from files import yaml_reader
from policy.facts.placement_map import Placement
from policy.findings import Finding, resource_name

_WAIVER = re.compile(r"quorate:waivers\[\d+\]")
_FALLBACKS = ("quorate:architecture", "quorate:profile", "config")


class StackFile:
    """A stack file's keys and their lines."""

    def __init__(self, path: str, text: str) -> None:
        """`path` as reports name it, from the repository's root. A text that is no YAML has no keys."""
        self.path = path
        self._lines: dict[str, int] = {}
        self._machines: dict[str, str] = {}
        try:
            entries = yaml_reader.read(text).entries
        except yaml_reader.YamlError:
            entries = ()
        for entry in entries:
            # Below `config:` the keys carry their namespace; above it none does.
            key = entry.path.removeprefix("config.")
            self._lines.setdefault(key, entry.line)
            if key.startswith("quorate:servers[") and key.endswith("].name") and entry.text:
                self._machines |= dict.fromkeys(_names(entry.text), key.removesuffix(".name"))

    @classmethod
    def read(cls, path: Path, name: str) -> StackFile:
        """The file at a path; one that cannot be read has no keys."""
        try:
            return cls(name, path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            return cls(name, "")

    def line(self, key: str) -> int | None:
        """The line of a key such as `quorate:services.keystone`, counted from one; None where it is not there."""
        return self._lines.get(key)

    def key_of(self, finding: Finding, placement: Placement | None) -> str:
        """The key to change for a finding."""
        return next(key for key in self._keys(finding, placement) if key in self._lines or key == _FALLBACKS[-1])

    def _keys(self, finding: Finding, placement: Placement | None) -> Iterator[str]:
        if waiver := _WAIVER.match(finding.message):
            yield waiver[0]
            yield "quorate:waivers"
        for placed in placement.placed if placement else ():
            if placed.resource == finding.resource:
                yield f"quorate:services.{placed.service}"
        name = resource_name(finding.resource)
        for machine, key in self._machines.items():
            if name == machine or name.endswith(f"-{machine}"):
                yield key
        yield from _FALLBACKS


def _names(pattern: str) -> list[str]:
    try:
        return expand(pattern)
    except ValueError:
        return []
