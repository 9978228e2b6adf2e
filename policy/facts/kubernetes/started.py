"""The programs that the commands of a pod's containers start, by file name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from policy.facts.properties import Properties

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_STARTS = re.compile(r"(?:^|[;&|\n])\s*(?:exec\s+)?([\w./-]+)")
"""Words of a script in the position of a program name."""


def started(pod: Properties) -> Iterator[str]:
    """The program of each container's command, or the programs that its shell script starts.

    A container that runs its image's own command yields an empty name. Raises NotKnown for an unknown command.
    """
    for container in pod.at("containers").items():
        words = chain(container.at("command").items(), container.at("args").items())
        first = next((word.text().rpartition("/")[2] for word in words), "")
        if first not in _SHELLS:
            yield first
            continue
        for word in words:
            yield from (name.rpartition("/")[2] for name in _STARTS.findall(word.text()))
