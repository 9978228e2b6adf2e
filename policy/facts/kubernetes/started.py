"""Which programs the commands of a pod's containers start, by the names of their files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from policy.facts.properties import Properties

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_STARTS = re.compile(r"(?:^|[;&|\n])\s*(?:exec\s+)?([\w./-]+)")
"""Words of a script that are in the place of a program."""


def started(pod: Properties) -> Iterator[str]:
    """The program of each container's command, or those that a shell's script starts.

    A command that is not written because the image has it names none. Raises NotKnown for one that is not known.
    """
    for container in pod.at("containers").items():
        words = chain(container.at("command").items(), container.at("args").items())
        first = next((word.text().rpartition("/")[2] for word in words), "")
        if first not in _SHELLS:
            yield first
            continue
        for word in words:
            yield from (name.rpartition("/")[2] for name in _STARTS.findall(word.text()))
