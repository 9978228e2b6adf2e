"""Maps a finding to the line of the stack file key that fixes it.

Pulumi's events carry no source positions. The findings of a service are reported at its entry in
`quorate:services` if there is one, those of a machine at its server, those of a waiver at the waiver, and all others
at the architecture or at the start of the settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from blueprint.patterns import expand
from files import text_file, yaml_reader
from policy.facts.placement_map import Placement
from policy.findings import Finding, resource_name

_WAIVER = re.compile(r"quorate:waivers\[\d+\]")
_FALLBACKS = ("quorate:architecture", "quorate:profile", "config")


class StackFile:
    """A stack file's keys and their lines."""

    def __init__(self, path: str, text: str) -> None:
        """`path` is relative to the repository's root, as in reports. Text that is not YAML has no keys."""
        self.path = path
        self._lines: dict[str, int] = {}
        self._machines: dict[str, str] = {}
        try:
            entries = yaml_reader.read(text).entries
        except yaml_reader.YamlError:
            entries = ()
        for entry in entries:
            # Keys below `config:` include their namespace, unlike other keys.
            key = entry.path.removeprefix("config.")
            self._lines.setdefault(key, entry.line)
            if key.startswith("quorate:servers[") and key.endswith("].name") and entry.text:
                self._machines |= dict.fromkeys(_names(entry.text), key.removesuffix(".name"))

    @classmethod
    def read(cls, path: Path, name: str) -> StackFile:
        """Reads the file at a path. A file that cannot be read has no keys."""
        try:
            return cls(name, text_file.read(path))
        except text_file.UnreadableError:
            return cls(name, "")

    def line(self, key: str) -> int | None:
        """The line of a key such as `quorate:services.keystone`, from 1; None if the file does not contain it."""
        return self._lines.get(key)

    def key_of(self, finding: Finding, placement: Placement | None) -> str:
        """The stack file key that fixes a finding."""
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
