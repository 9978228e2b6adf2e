"""Measures a command: wall and processor time, and peak memory of its process tree."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.errors import UserError
from toolchain.process_identity import status_fields

EVERY = 0.05
"""Seconds between two samples of memory."""

PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Cost:
    """Cost of a command: wall time in seconds, and peak memory of its process tree in MiB.

    Memory is the sum of the processes' resident sizes, so that a shared page counts once for each process.
    """

    seconds: float
    processor: float
    """Processor time of the process tree in seconds, which depends less on the machine's load than wall time."""
    memory: float


def measured(command: Sequence[str | Path], directory: Path, environment: Mapping[str, str]) -> Cost:
    """Runs a command and returns its cost. Raises UserError with the end of the output if the command fails."""
    peak = 0
    done = threading.Event()
    started, used = time.monotonic(), _processor()
    with subprocess.Popen(
        command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:

        def watch() -> None:
            nonlocal peak
            while not done.wait(EVERY):
                peak = max(peak, _resident(child.pid))

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        output, _ = child.communicate()
        seconds = time.monotonic() - started
        done.set()
        watcher.join()
    if child.returncode:
        raise UserError(f"{output[-3000:]}\n`{' '.join(map(str, command))}` failed.")
    return Cost(seconds, _processor() - used, peak / 1024**2)


def _processor() -> float:
    """Returns the processor time in seconds of this process's ended children, with descendants that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _resident(root: int) -> int:
    """Returns the resident memory of a process and its descendants in bytes; a process that has just ended counts 0."""
    children: dict[int, list[int]] = defaultdict(list)
    held: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        fields = status_fields(int(entry.name))
        if not fields:
            continue
        children[int(fields[1])].append(int(entry.name))
        held[int(entry.name)] = int(fields[21]) * PAGE
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += held.get(process, 0)
        waiting += children[process]
    return total
