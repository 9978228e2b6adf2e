"""Another authority for etcd or Kubernetes in a drill: three deployments, of which the second is killed and goes on."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from blueprint.version_steps import CLUSTER, ETCD
from console.errors import UserError
from console.progress import duration
from trials.cloud.drill.disturbances import Disturbance, Say, Wait, replace_pods
from trials.cloud.drill.operator import Operator
from trials.cloud.lab_machines import Lab

TITLES = {ETCD: "etcd", CLUSTER: "Kubernetes"}
"""The authorities that a drill replaces, by their names in the stack file."""
KILLED_AT = "-apply"
"""What the second deployment says when it is killed: the steps of a machine are under way."""
SPREADS = 150.0
"""Seconds until pods that start read both authorities, as docs/masters.md tells operators."""
_READERS = re.compile(r"([a-z0-9-]+):(DaemonSet|StatefulSet|ReplicaSet)/([a-z0-9-]+)")
"""The owners of pods that a refused deployment names, with their namespaces."""


def another_authority(
    lab: Lab, operator: Operator, authority: str, uses: int, deploy: Callable[[Mapping[str, Any]], None]
) -> Disturbance:
    """Replaces all certificates of an authority by those of its next generation.

    `authority`: one of TITLES. `uses`: the generation that signs now. `deploy`: writes generations into the stack file.
    """
    both, title = [uses, uses + 1], TITLES[authority]
    deployments = (
        ("both authorities are trusted", uses, both, False),
        ("the new one signs, by a run that was killed and one that went on", uses + 1, both, True),
        ("only the new one is trusted", uses + 1, both[1:], False),
    )

    def act(wait: Wait, say: Say) -> Sequence[str]:
        for then, signs, trusts, is_killed in deployments:
            started = time.monotonic()
            deploy({"uses": signs, "trusts": trusts})
            try:
                if is_killed:
                    if authority == CLUSTER:
                        _restart_readers(lab, operator, say)
                    operator.is_killed("up", at=KILLED_AT, say=say)
            except UserError as error:
                return [str(error)]
            if operator.up():
                return [f"`quorate up` failed, after which {then}"]
            print(f"authority of {title}: {then}, {duration(time.monotonic() - started)}", flush=True)
            if missing := wait():
                return [f"not ready when {then}: {', '.join(missing)}"]
        return ()

    return Disturbance(f"another authority for {title}", (), lab.nodes, act, ends_access=authority == CLUSTER)


def _restart_readers(lab: Lab, operator: Operator, say: Say) -> None:
    """Restarts what `up` names when it refuses the second deployment: pods that read the authorities before the new one
    was among them.

    Raises UserError if `up` does not refuse it, or pods do not start again.
    """
    code, said = operator.asks("up")
    readers = sorted(set(_READERS.findall(said)))
    if code == 0 or not readers:
        raise UserError(f"`quorate up` named no pods that must restart before the new authority signs:\n{said}")
    say("pods may restart soon")
    time.sleep(SPREADS)
    for namespace, kind, name in readers:
        restarted = f"deployment/{name.rpartition('-')[0]}" if kind == "ReplicaSet" else f"{kind.lower()}/{name}"
        print(f"restarting {restarted} in {namespace}", flush=True)
        if failure := replace_pods(lab, restarted, namespace):
            raise UserError(f"the pods of {restarted} in {namespace} did not start again: {failure}")
