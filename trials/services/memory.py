"""The memory limit of a member is reached while many clients connect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from trials.services.stalls import Stall
from trials.services.testbed import ServiceMachine, require

_STORM = Path(__file__).with_name("storm_load.py")
_STEP = 1.02
"""The limit grows by so much until the kernel accepts it: not all that a member uses can be told in advance."""


def storm(kind: Literal["galera", "rabbitmq"], client: ServiceMachine, settings: Mapping[str, Any]) -> Stall:
    """Returns the fault: a confined member has little more memory than it uses, and 150 clients connect, to it first.

    `settings`: members and account, as storm_load.py reads them.
    """

    def begin(machine: ServiceMachine) -> None:
        used = machine.memory()
        require(used > 0, f"{machine.name} uses no memory in its cgroup")
        limit = used
        while not machine.limit_memory(limit):
            limit = int(limit * _STEP)
        client.write("/storm.py", _STORM.read_text(encoding="utf-8"))
        client.write("/etc/storm.json", json.dumps(dict(settings)))
        client.background(["python3", "/storm.py", kind], "root")

    def end(machine: ServiceMachine) -> None:
        client.end_background()
        machine.limit_memory(-1)

    return Stall(begin, end)
