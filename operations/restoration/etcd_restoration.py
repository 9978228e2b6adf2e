"""Makes a new cluster of etcd from one source: a single member at first, which the others join one after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from blueprint.plan.nodes import Node
from console.errors import UserError
from console.progress import duration
from contract import API_PORT
from operations.restoration.etcd_machines import STARTS, script
from operations.restoration.etcd_source import EtcdSource
from operations.root_shell import Shell

_STOPS = 120.0
"""Seconds in which a member must stop: systemd kills it after 90."""
_JOINS = 1800.0
"""Seconds in which a member must join: the script on the machine gives up earlier, after 900 without progress."""
_ANSWERS = 120
"""Seconds until a restarted API server must answer. Project figure."""
RESTART = f"""\
kill $(pidof kube-apiserver) 2>/dev/null || :
! systemctl is-active --quiet kubelet || systemctl restart kubelet
end=$(($(date +%s) + {_ANSWERS}))
sleep 2 # it answers for a moment after it was told to end
until kubectl --kubeconfig=/etc/kubernetes/discovery.conf --server=https://127.0.0.1:{API_PORT} --request-timeout=5s \
  get --raw=/readyz >/dev/null 2>&1; do
  [ "$(date +%s)" -lt "$end" ] || {{ echo "its API server does not answer"; exit 1; }}
  sleep 2
done
"""
"""API servers and kubelets read everything again: what they know may be newer than the restored data."""


@dataclass(frozen=True)
class RestorationStep:
    """What is done on one machine."""

    does: str
    node: Node
    script: str
    limit: float
    """Seconds."""


def steps(source: EtcdSource, members: Sequence[Node], masters: Sequence[Node]) -> Iterator[RestorationStep]:
    """Yields the steps in their order.

    members: the machines whose members take part, with the source's. masters: machines with an API server.
    """
    first = source.machine.node
    what = f"the copy {source.copy.name}" if source.copy else "its own data"
    for node in () if source.machine.is_made else members:
        yield RestorationStep("stop etcd, also for the next boot", node, script("stop"), _STOPS)
    yield RestorationStep(
        f"make this member the only one, with {what}", first, script("begin", source.name), STARTS + _STOPS
    )
    for node in members:
        if node.name != first.name:
            yield RestorationStep("set the old data aside, and join", node, script("join"), _JOINS)
    for node in masters:
        yield RestorationStep("restart the API server and kubelet", node, RESTART, _ANSWERS + _STOPS)
    yield RestorationStep("end the restoration", first, script("end"), _STOPS)


def run(todo: Sequence[RestorationStep], shell: Shell, say: Callable[[str], None]) -> None:
    """Runs the steps. Raises UserError with the first that fails; a later run goes on there."""
    for number, step in enumerate(todo, start=1):
        began = time.monotonic()
        say(f"{number:>2}. {step.node.name}: {step.does}")
        done = shell(step.node, step.script, step.limit)
        for line in (done.text + done.errors).splitlines():
            say(f"      {line}")
        if done.code != 0:
            raise UserError(
                f"Step {number} failed on {step.node.name} ({done.ending}). Run the same command again: it goes on."
            )
        say(f"      done ({duration(time.monotonic() - began)})")
