"""Runs every bad input in one process.

`python -m tests.blueprint.stackfile.bad_inputs.sweep DIRECTORY MEGABYTES SECONDS`.

Prints a line for each, `slow` before those that took longer, and the peak of the memory in MB.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from pathlib import Path

from tests.blueprint.stackfile.bad_inputs import CASES
from tests.blueprint.stackfile.bad_inputs.case import messages


def main(directory: Path, megabytes: int, seconds: int) -> None:
    """Ends with a signal if a case hangs, and with an error if memory is not given."""
    limit = 3 * megabytes * 1024 * 1024  # addresses, of which the libraries map far more than they use
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for number, (name, bad) in enumerate(CASES.items()):
        project = directory / str(number)
        project.mkdir()
        os.chdir(project)
        signal.alarm(20 * seconds)  # of the clock: the machine may be busy
        started = time.process_time()
        messages(bad, project)
        took = time.process_time() - started
        print("slow" if took > seconds else "fine", f"{took:.2f}", name)
    print("peak", peak_megabytes())


def peak_megabytes() -> int:
    """The peak of this program's own memory: `ru_maxrss` would include that of the process that started it."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) // 1024


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
