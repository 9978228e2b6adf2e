"""Finds the file names of the programs that the commands of a pod's containers start."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from policy.properties import Properties

_SHELLS = frozenset({"sh", "bash", "ash", "dash"})
_STARTS = re.compile(r"(?:^|[;&|\n])\s*(?:exec\s+)?([\w./-]+)")
"""Matches words of a shell script in the position of a program name: first on a line or after ;, & or |."""


def started(pod: Properties) -> Iterator[str]:
    """Yields the file name of the program that each container's command starts, or those that its shell script starts.

    A container without a command yields "", because its image decides. Raises NotKnown if a command is not known.
    """
    for container in pod.at("containers").items():
        words = chain(container.at("command").items(), container.at("args").items())
        first = next((word.text().rpartition("/")[2] for word in words), "")
        if first not in _SHELLS:
            yield first
            continue
        for word in words:
            yield from (name.rpartition("/")[2] for name in _STARTS.findall(word.text()))
