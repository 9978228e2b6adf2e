"""Another authority for etcd in a drill: three deployments, of which the second is killed once and goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from console.errors import UserError
from console.progress import duration
from trials.cloud.drill.disturbances import Disturbance, Say, Wait
from trials.cloud.drill.operator import Operator
from trials.cloud.lab_machines import Lab

KILLED_AT = "-apply"
"""What the second deployment says when it is killed: the steps of a machine are under way."""


def another_authority(
    lab: Lab, operator: Operator, uses: int, deploy: Callable[[Mapping[str, Any]], None]
) -> Disturbance:
    """Replaces the certificates of etcd's members and clients by those of the next generation of their authority.

    `uses`: the generation that signs now. `deploy`: writes generations into the stack file.
    """
    both = [uses, uses + 1]
    deployments = (
        ("both authorities are trusted", uses, both, False),
        ("the new one signs, by a run that was killed and one that went on", uses + 1, both, True),
        ("only the new one is trusted", uses + 1, both[1:], False),
    )

    def act(wait: Wait, say: Say) -> Sequence[str]:
        for title, signs, trusts, is_killed in deployments:
            started = time.monotonic()
            deploy({"uses": signs, "trusts": trusts})
            try:
                if is_killed:
                    operator.is_killed("up", at=KILLED_AT, say=say)
            except UserError as error:
                return [str(error)]
            if operator.up():
                return [f"`quorate up` failed, after which {title}"]
            print(f"etcd's authority: {title}, {duration(time.monotonic() - started)}", flush=True)
            if missing := wait():
                return [f"not ready when {title}: {', '.join(missing)}"]
        return ()

    return Disturbance("another authority for etcd", (), lab.nodes, act)
