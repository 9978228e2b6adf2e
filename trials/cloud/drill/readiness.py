"""Whether everything of a lab is ready: nodes, members of etcd, pods and APIs."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from cluster.objects import Object, listed, name, text
from console.errors import UserError
from trials.cloud import bring_up, masters
from trials.cloud.drill import load, observer, workloads
from trials.cloud.drill.result import Event
from trials.cloud.lab_machines import Lab

LIMIT = 1200.0
"""Seconds within which everything must be ready again. Project figure: a cold start of all machines of `dev` on two
cores fits."""
PERIOD = 2.0
"""Seconds between two looks."""


def require(lab: Lab, expected: Mapping[str, int]) -> None:
    """Raises UserError unless all nodes, members of etcd and pods are ready. `expected`: number of pods by workload."""
    missing = [f"node {each} is not Ready" for each in bring_up.not_ready(lab, bring_up.nodes(lab))]
    healthy = masters.healthy_members(lab)
    if len(healthy) < len(lab.members):
        missing.append(f"etcd: {len(healthy)} of {len(lab.members)} members are healthy")
    found = observer.ready(workloads.of_openstack(lab, "pods"))
    missing += [
        f"{workload}: {len(found.get(workload, ()))} of {total} pods are ready"
        for workload, total in expected.items()
        if len(found.get(workload, ())) < total
    ]
    if missing:
        lines = "\n".join(f"  {each}" for each in missing)
        raise UserError(f"Nothing was disturbed: a drill starts only when everything is ready.\n{lines}")


@dataclass
class Readiness:
    """Looks for what is not ready during a drill."""

    lab: Lab
    watching: load.Reporting
    expected: Mapping[str, int]
    """Number of members or pods by quorum and workload."""
    stopped: Collection[str]
    """Machines that lose their power. The status of their pods counts only if it is from after that."""
    moment: float
    """When they lose it."""

    def wait(self, say: Callable[[str], None]) -> list[str]:
        """Waits until everything is ready; returns what is not if that takes longer than `LIMIT`."""
        started = time.time()
        missing = ["a count of members"]
        while missing and time.time() < started + LIMIT:
            time.sleep(PERIOD)
            self.watching.require_running()
            missing = self._missing(started)
            if missing:
                say(f"waiting for {_shortened(missing)}")
        return missing

    def _missing(self, since: float) -> list[str]:
        """Returns what is not ready by what was observed after `since`."""
        missing = incomplete([each for each in load.events(self.watching) if each["t"] > since], self.expected)
        if missing:
            return missing
        missing = [f"node {each}" for each in bring_up.not_ready(self.lab, bring_up.nodes(self.lab))]
        if missing or not self.stopped:
            return missing
        try:
            pods = workloads.of_openstack(self.lab, "pods")
        except UserError as error:
            return [str(error)]
        return [f"a new status of {name(pod)}" for pod in pods if self._is_stale(pod)]

    def _is_stale(self, pod: Object) -> bool:
        if text(pod, "spec", "nodeName") not in self.stopped:
            return False
        started = [text(each, "state", "running", "startedAt") for each in listed(pod, "status", "containerStatuses")]
        return any(datetime.fromisoformat(each).timestamp() < self.moment for each in started if each)


def incomplete(events: Sequence[Event], expected: Mapping[str, int]) -> list[str]:
    """Returns the quorums and workloads that the last count found incomplete, and the APIs that did not answer."""
    counted = next((event for event in reversed(events) if event["kind"] == "members" and event["complete"]), None)
    if counted is None:
        return ["a count of members"]
    found = {each: len(counted["members"].get(each, ())) for each in expected}
    answers = {event["api"]: event["reason"] for event in events if event["kind"] == "answer"}
    return [
        *(f"{each}: {found[each]} of {total}" for each, total in expected.items() if found[each] < total),
        *(f"an answer of {api}" for api, reason in answers.items() if reason is not None),
    ]


def _shortened(missing: Sequence[str], most: int = 4) -> str:
    more = f" and {len(missing) - most} more" if len(missing) > most else ""
    return ", ".join(missing[:most]) + more
