"""Tells what a monitor of Ceph has, and lets it go on alone after the others were lost for good.

`python3 -c TEXT look` and `python3 -c TEXT go-on` run in the monitor's container (operations/restoration). `look`
prints the JSON object of `mon_status`. `go-on` leaves a mark: at the next start, before the monitor runs, ceph_mon.sh
removes the others from its map of monitors.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

DATA, RUN = Path("/var/lib/ceph/mon"), Path("/run/ceph")
ALONE = "alone"
READS_ALONE = "reads-alone"
"""File in RUN by which the start script tells that it reads the mark: that of an earlier release does not."""


def look() -> dict[str, Any]:
    """Returns what the monitor's own socket tells, which needs no quorum. Raises OSError if it does not answer."""
    command = ["ceph", "daemon", f"mon.{os.environ['POD_NAME']}", "mon_status"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        raise OSError(done.stderr.strip()[-200:])
    return json.loads(done.stdout)


def go_on() -> str:
    """Leaves the mark. Returns why this was refused; "" if it is done."""
    found = look()
    name = found["name"]
    if found["quorum"]:
        return f"{name} is in a quorum of {len(found['quorum'])}"
    if heard := [each for each in found["outside_quorum"] if each != name]:
        return f"{name} hears {', '.join(heard)}: it is not alone"
    if found["state"] == "synchronizing" or not found["monmap"]["epoch"]:
        return f"{name} has no complete data"
    if not (RUN / READS_ALONE).exists():
        return f"the pod of {name} is of an earlier release, which cannot go on alone"
    _write(DATA / ALONE, str(found["monmap"]["epoch"]))
    return ""


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def main(command: str) -> int:
    """Runs a command. Returns 0, or 1 with the reason on standard error."""
    try:
        if command == "look":
            print(json.dumps(look()))
            return 0
        problem = go_on()
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError) as error:
        problem = f"the monitor does not answer: {error}"
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
