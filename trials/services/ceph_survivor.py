"""Trial of a Ceph of which two of three monitors are lost for good: the third goes on alone, and two join.

The program that `quorate restore` runs in the survivor's pod runs on the survivor's machine, and a stop and a start
stand in for its pod.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openstack import scripts
from trials.services.ceph import MONITORS, START, CephCluster, begin, trial
from trials.services.containers import TriedContainer
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn

LOST, SURVIVOR = MONITORS[:2], MONITORS[2]


def prove(root: Path, containers: Mapping[str, TriedContainer]) -> list[Proof]:
    """Loses two monitors three times. Returns the results.

    Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = CephCluster(testbed, containers)
        notes = begin(cluster)
        return in_turn(
            "Ceph",
            (two_lost, two_return, two_return_at_once),
            lambda name, failure: trial(name, cluster, failure),
            notes,
        )


def two_lost(cluster: CephCluster) -> list[str]:
    """Two of three are lost at once and for good; the third refuses, goes on, and two with empty disks join."""
    _refused(cluster)
    cluster.more(100)
    before = list(cluster.said().values()).count("ok")
    cluster.kill(*LOST)
    seconds = until("the survivor is not ready", lambda: not cluster.ready(SURVIVOR), START, 1)
    alone = until("the survivor hears no other", lambda: look(cluster)["outside_quorum"] == [SURVIVOR], START, 1)
    said = look(cluster)
    require(_members(said) == list(MONITORS) and not said["quorum"], f"the survivor says {said}")
    require(cluster.quorum(SURVIVOR) == [], "without a majority, there is no quorum")
    notes = [f"{before} objects were acknowledged before; the survivor was not ready after {seconds + alone:.0f} s"]
    notes.append(_went_on(cluster))
    _refused(cluster)
    for name in LOST:
        cluster.monitors[name].run(["sh", "-c", "rm -rf /var/lib/ceph/mon/*"])
        cluster.start(name)
        seconds = until(f"{name} is ready", lambda each=name: cluster.ready(each), START, 1)
        notes.append(f"{name} joined with an empty disk in {seconds:.0f} s")
        cluster.more()
    return [*notes, _whole(cluster)]


def two_return(cluster: CephCluster) -> list[str]:
    """Two that were called dead come back with their former data, one after the other; then both with empty disks."""
    cluster.kill(*LOST)
    until("the survivor hears no other", lambda: look(cluster)["outside_quorum"] == [SURVIVOR], START, 1)
    notes = [_went_on(cluster)]
    for name in LOST:
        cluster.start(name)
        machine = cluster.monitors[name]
        seconds = until(f"{name} ends", lambda each=machine: not each.runs, 100, 1)
        until("the survivor is the quorum", lambda: cluster.quorum(SURVIVOR) == [SURVIVOR], START, 1)
        notes.append(f"{name} came back with its former data, and ended after {seconds:.0f} s: {machine.tail(1)}")
        cluster.more()
    for name in LOST:
        cluster.monitors[name].run(["sh", "-c", "rm -rf /var/lib/ceph/mon/*"])
    cluster.start(*LOST)
    seconds = until("both are ready", lambda: all(map(cluster.ready, LOST)), START, 1)
    return [*notes, f"both joined at once with empty disks in {seconds:.0f} s", _whole(cluster)]


def two_return_at_once(cluster: CephCluster) -> list[str]:
    """Two that were called dead come back with their former data at the same moment: a majority of their map."""
    cluster.kill(*LOST)
    until("the survivor hears no other", lambda: look(cluster)["outside_quorum"] == [SURVIVOR], START, 1)
    notes = [_went_on(cluster)]
    cluster.start(*LOST)
    machines = [cluster.monitors[name] for name in LOST]
    seconds = until("both end", lambda: not any(machine.runs for machine in machines), 100, 1)
    notes.append(f"both ended after {seconds:.0f} s: {[machine.tail(1) for machine in machines]}")
    until("the survivor is the quorum", lambda: cluster.quorum(SURVIVOR) == [SURVIVOR], START, 1)
    return notes


def _went_on(cluster: CephCluster) -> str:
    """Lets the survivor go on alone. Returns a note for the report."""
    before, began = look(cluster), time.monotonic()
    _run(cluster, "go-on")
    cluster.monitors[SURVIVOR].stop()
    cluster.start(SURVIVOR)
    until("the survivor is ready", lambda: cluster.ready(SURVIVOR), START, 0.5)
    seconds = time.monotonic() - began
    silence = cluster.more()
    after = look(cluster)
    require(_members(after) == [SURVIVOR], f"the survivor says {after}")
    epochs = [each["monmap"]["epoch"] for each in (before, after)]
    return (
        f"it was ready {seconds:.0f} s after it was told to go on, and acknowledged {silence:.1f} s later; "
        f"its map of monitors went from number {epochs[0]} to {epochs[1]}"
    )


def _whole(cluster: CephCluster) -> str:
    """Waits until all take part in one quorum. Returns a note for the report."""
    seconds = cluster.wait_ready()
    for name in MONITORS:
        until(f"{name} names all", lambda each=name: sorted(cluster.quorum(each)) == list(MONITORS), START, 1)
    require(_members(look(cluster)) == list(MONITORS), f"the survivor says {look(cluster)}")
    return f"all were ready after further {seconds:.0f} s"


def look(cluster: CephCluster) -> dict[str, Any]:
    """Returns what the survivor tells of itself."""
    return json.loads(_run(cluster, "look"))


def _members(said: Mapping[str, Any]) -> list[str]:
    return sorted(each["name"] for each in said["monmap"]["mons"])


def _refused(cluster: CephCluster) -> None:
    """Raises Broken unless the survivor refuses to go on, because it is in a quorum."""
    try:
        _run(cluster, "go-on")
    except Broken as error:
        require("is in a quorum of" in str(error), str(error))
        return
    raise Broken(f"{SURVIVOR} goes on alone beside a quorum")


def _run(cluster: CephCluster, command: str) -> str:
    words = ["env", f"POD_NAME={SURVIVOR}", "python3", "-c", scripts.text("ceph_survivor.py"), command]
    try:
        return cluster.monitors[SURVIVOR].run(words, seconds=60)
    except subprocess.CalledProcessError as error:
        raise Broken(f"{command}: {(error.stderr or error.stdout).strip()[-600:]}") from None
