"""Which programs the commands of a pod's containers start, by the names of their files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.facts.properties import NotKnown, Properties

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_STARTS = re.compile(r"(?:^|[;&|\n])\s*(?:exec\s+)?([\w./-]+)")
"""Words of a script that are in the place of a program."""


def started(pod: Properties) -> Iterator[str]:
    """The program of each container's command, or those that a shell's script starts.

    A command that is not known, or that is not written because the image has it, names none.
    """
    for container in pod.at("containers").items():
        try:
            words = [*container.at("command").words(), *container.at("args").words()]
        except NotKnown:
            continue
        first = words[0].rpartition("/")[2] if words else ""
        if first not in _SHELLS:
            yield first
            continue
        for word in words[1:]:
            yield from (name.rpartition("/")[2] for name in _STARTS.findall(word))
