"""Finds files that a machine runs later by itself: cron entries, boot scripts, programs of systemd units.

A stack places these files by copies, commands and cloud-init. A file that stops a quorum member or deletes its data
counts as one that does so without a quorum check, unless the file itself runs a check first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from policy.facts.machines.host_commands import Hosts
from policy.resource import Resource
from policy.shell.effects import Effect, effects
from policy.shell.script import Script
from policy.shell.syntax import is_known

_AT_BOOT = re.compile(
    r"/etc/rc\.local|/etc/init\.d/[^/]+|/etc/cron\.(hourly|daily|weekly|monthly)/[^/]+|/etc/local\.d/[^/]+"
)
_CRON = re.compile(r"/etc/crontab|/etc/cron\.d/[^/]+")
_CRON_OF_USER = re.compile(r"/var/spool/cron/(crontabs/)?[^/]+")
_UNIT = re.compile(r"/(etc|run|usr/lib|lib)/systemd/system/.+\.(service|conf)")
_SCHEDULE = r"^[ \t]*(?:@\w+|(?:[\d*/,\-A-Za-z]+[ \t]+){4}[\d*/,\-A-Za-z]+)[ \t]+"
_ENTRY_OF_USER = re.compile(rf"{_SCHEDULE}(.+)$", re.MULTILINE)
_ENTRY = re.compile(rf"{_SCHEDULE}\S+[ \t]+(.+)$", re.MULTILINE)
_PROGRAM = re.compile(r"^Exec(?:StartPre|Start|StartPost|Condition)=[-@:+!|]*(.+(?:\\\n.+)*)", re.MULTILINE)
_PARTS = ((_CRON, _ENTRY), (_CRON_OF_USER, _ENTRY_OF_USER), (_UNIT, _PROGRAM))
"""Patterns of paths of files of which a machine runs only parts, each with the pattern that extracts these parts."""
_BOOTCMD = "bootcmd"


@dataclass(frozen=True)
class RunLater:
    """A file that a machine runs later by itself, such as a cron entry or a boot script."""

    resource: Resource
    """The resource that places the file."""
    path: str
    text: str
    """The shell text in the file that the machine runs."""

    @property
    def title(self) -> str:
        """The file's name in messages, with the resource that places it."""
        return f"{self.path} of {self.resource.name}"

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """Effects of the file that may stop a quorum member or lose its data.

        Parts that cannot be parsed are ignored.
        """
        script = Script()
        script.run(self.text)
        return tuple(effects(script))

    @property
    def disrupts(self) -> str:
        """Description of the file's first effect that no quorum check precedes, for messages; "" if there is none."""
        return next((effect.words for effect in self.effects if not effect.checked), "")


def run_later(hosts: Hosts) -> Iterator[RunLater]:
    """Yields the files that the stack places on machines and that the machines run later by themselves."""
    for files in hosts.placed.values():
        for each in files:
            text = _program(each.path, each.text) if is_known(each.path) and is_known(each.text) else ""
            if text:
                yield RunLater(each.resource, each.path, text)
    for resource, data in hosts.cloud_inits:
        if data.each_boot:
            yield RunLater(resource, _BOOTCMD, data.each_boot)


def _program(path: str, text: str) -> str:
    """Returns the parts of a file that a machine runs by itself, as shell text; "" if it does not run the file."""
    if _AT_BOOT.fullmatch(path):
        return text
    found = (program.findall(text) for place, program in _PARTS if place.fullmatch(path))
    return "\n".join(next(found, list[str]()))
