"""Maps a finding to the key of the stack file, and its line, that a user can change to fix the finding.

Pulumi's events have no source positions. A finding about a service is reported at the service's entry in
`quorate:services` if there is one, about a machine at its server, about a waiver at the waiver, one whose message names
machines of one entry at that entry, and any other finding at the architecture or at the start of the settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from audit import grouping
from audit.grouping import Cause
from blueprint.patterns import expand
from files import text_file, yaml_reader
from policy.facts.placement.placement_map import PlacementMap
from policy.findings import Finding, resource_name

_WAIVER = re.compile(r"quorate:waivers\[\d+\]")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]")
_WAIVERS = "quorate:waivers"
_FALLBACKS = ("quorate:architecture", "quorate:profile", "config")


class StackFile:
    """The keys of a stack file with their line numbers."""

    def __init__(self, path: str, text: str) -> None:
        """`path`: the file's path relative to the repository's root, for reports. Text that is not YAML has no keys."""
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
        """Reads the stack file at a path; a file that cannot be read has no keys. `name`: the path for reports."""
        try:
            return cls(name, text_file.read(path))
        except text_file.UnreadableError:
            return cls(name, "")

    def line(self, key: str) -> int | None:
        """Returns the line number, from 1, of a key such as `quorate:services.keystone`; None if the key is absent."""
        return self._lines.get(key)

    def key_of(self, finding: Finding, placement: PlacementMap | None) -> str:
        """Returns the key of the stack file at which a finding is reported, such as `quorate:services.keystone`."""
        return next(key for key in self._keys(finding, placement) if key in self._lines or key == _FALLBACKS[-1])

    def causes(self, findings: Iterable[Finding], placement: PlacementMap | None) -> list[Cause]:
        """Returns what a reader sees as one finding each, in the order of the first findings."""
        return grouping.causes(findings, lambda finding: self.cause_of(finding, placement))

    def cause_of(self, finding: Finding, placement: PlacementMap | None) -> str:
        """Returns the key of the service, server or waiver that a finding is about; "" if the file has none."""
        key = self.key_of(finding, placement)
        return "" if key in (*_FALLBACKS, _WAIVERS) else key

    def _keys(self, finding: Finding, placement: PlacementMap | None) -> Iterator[str]:
        if waiver := _WAIVER.match(finding.message):
            yield waiver[0]
            yield _WAIVERS
        for placed in placement.placed if placement else ():
            if placed.resource == finding.resource:
                yield self._narrowed(f"quorate:services.{placed.service}")
        name = resource_name(finding.resource)
        for machine, key in self._machines.items():
            if name == machine or name.endswith(f"-{machine}"):
                yield key
        yield from self._named(finding.message)
        yield from _FALLBACKS

    def _narrowed(self, key: str) -> str:
        """Returns the only setting of an entry, or the entry itself if it has none or several."""
        below = [each for each in self._lines if each.startswith(f"{key}.")]
        return below[0] if len(below) == 1 else key

    def _named(self, message: str) -> Iterator[str]:
        """Yields the key of the entry that describes all machines that a message names."""
        keys = {self._machines[word] for word in _WORD.findall(message) if word in self._machines}
        entries = {key.partition(".")[0] for key in keys}
        if len(entries) == 1:
            yield from keys if len(keys) == 1 else entries


def _names(pattern: str) -> list[str]:
    try:
        return expand(pattern)
    except ValueError:
        return []
