"""Tells what a member of Galera has, and makes its data that of a new cluster after the others were lost for good.

`python3 -c TEXT look` and `python3 -c TEXT go-on` run in the member's container (operations/restoration). `look` prints
one JSON object. `go-on` marks the data: at its next start, the member bootstraps without an answer of the others. It
uses none of the modules of the package galera, because a pod may have those of an earlier release; the files are theirs
(galera/data.py).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

DATA = Path("/var/lib/mysql")
VIEW, RESTORED, AWAITED, SERVED = "last-view.log", "restored.log", "awaited-member.log", "served.log"
COMPLETE, HAS_COMPLETE = "complete-data", "has-complete.log"
MEMBER = "http://127.0.0.1:9200"
NO_UUID = "00000000-0000-0000-0000-000000000000"
_CLIENT = ("mariadb", "--no-defaults", "--protocol=socket", "--socket=/tmp/mysqld.sock", "--connect-timeout=5", "-rNBe")
_STATUS = "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'"


def look() -> dict[str, Any]:
    """Returns the member's position, as it tells it to other members, with what it does and when it last served.

    `served`: seconds since 1970; None if that is not recorded. Raises OSError if the member's program does not answer.
    """
    said: dict[str, Any] = json.loads(_asked("/position"))
    if said["phase"] == "running":  # without a majority, the member tells others what it had when it started
        rows = (line.split("\t", 1) for line in _replication().splitlines())
        status = {row[0]: row[-1] for row in rows}
        said["uuid"], said["seqno"] = status.get("wsrep_local_state_uuid", NO_UUID), -1
        if said["uuid"] != NO_UUID and _is_complete():
            said["seqno"] = int(status.get("wsrep_last_committed", "-1"))
        said["primary"] = status.get("wsrep_cluster_status") == "Primary"
    served = DATA / SERVED
    return {**said, "does": _asked("/ready"), "served": served.stat().st_mtime if served.exists() else None}


def _is_complete() -> bool:
    """Whether no state transfer was broken off. Members of earlier releases do not record that."""
    return (DATA / COMPLETE).exists() or not (DATA / HAS_COMPLETE).exists()


def _asked(path: str) -> str:
    try:
        with urllib.request.urlopen(f"{MEMBER}{path}", timeout=5) as answer:
            return answer.read().decode().strip()
    except urllib.error.HTTPError as error:  # a member that is not ready
        if path == "/ready":
            return error.read().decode().strip()
        raise


def _replication() -> str:
    try:
        done = subprocess.run([*_CLIENT, _STATUS], capture_output=True, text=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


def go_on() -> str:
    """Marks the data as that of a new cluster. Returns why this was refused; "" if it is done."""
    found = look()
    if found["primary"]:
        return f"{found['name']} is in a primary component: the cluster has its majority"
    if found["uuid"] == NO_UUID or found["seqno"] < 0:
        return f"{found['name']} has no complete data"
    # The mark comes first: with the record alone, the member would bootstrap, and a lost one that came back with other
    # transactions would join by a partial transfer. With it, such a member takes over all data.
    _write(DATA / RESTORED, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    _write(DATA / VIEW, json.dumps([found["name"]]) + "\n")
    (DATA / AWAITED).unlink(missing_ok=True)
    return ""


def _write(path: Path, text: str) -> None:
    fresh = path.with_suffix(".fresh.log")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
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
    except (OSError, ValueError, KeyError) as error:
        problem = f"the member's program does not answer: {error}"
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
