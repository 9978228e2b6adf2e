"""Trials of a Galera of which two of three members are lost for good: the third goes on with its data, and two join.

The members run with the rendered configuration. The program that `quorate restore` runs in the survivor's pod runs on
the survivor's machine; a stop and a start stand in for the pod that is deleted.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from openstack import scripts
from trials.services.containers import TriedContainer
from trials.services.galera import START, GaleraCluster, Load, begin, contradictions, trial
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn

LOST, SURVIVOR = ("mysqld-0", "mysqld-1"), "mysqld-2"
_APART = 20
"""Seconds in which two members that came back without the third must not have started."""
_RECENT = 120
"""Seconds since the survivor last served, at most: a look on a busy machine takes some."""


def prove(root: Path, container: TriedContainer) -> list[Proof]:
    """Loses two members three times. Returns the results.

    Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = GaleraCluster(testbed, container)
        load = Load(cluster)
        notes = begin(cluster)
        found = in_turn("Galera", (two_lost, two_return), lambda name, each: trial(name, cluster, load, each), notes)
        return [*found, _newer(cluster, load)] if all(each.holds for each in found) else found


def two_lost(cluster: GaleraCluster, load: Load) -> list[str]:
    """Two of three are lost at the same moment and for good; the third goes on, and two with empty disks join."""
    load.more(500, seconds=START)
    cluster.kill(*LOST)
    began = time.monotonic()
    until("the survivor has no majority", lambda: cluster.refuses_writes(SURVIVOR), 60)
    said = look(cluster)
    require(not said["primary"] and abs(time.time() - said["served"]) < _RECENT, f"the survivor says {said}")
    notes = [f"the survivor refused writes after {time.monotonic() - began:.1f} s, at {said['seqno']}"]
    notes.append(f"it served {_went_on(cluster, load):.1f} s after it was told to go on")
    require(look(cluster)["seqno"] >= said["seqno"], "it goes on from where it was")
    for name in LOST:
        cluster.members[name].run(["sh", "-c", "rm -rf /var/lib/mysql/*"])
        cluster.start(name)
        seconds = cluster.wait_ready(name)
        notes.append(f"{name} joined with an empty disk in {seconds:.0f} s")
    return notes


def two_return(cluster: GaleraCluster, load: Load) -> list[str]:
    """Two that were called dead come back together, while the one that went on is cut off: they wait for it."""
    cluster.kill(*LOST)
    until("the survivor has no majority", lambda: cluster.refuses_writes(SURVIVOR), 60)
    _went_on(cluster, load)
    cluster.testbed.isolate(SURVIVOR)
    cluster.start(*LOST)

    def waits() -> bool:
        return all(f"no answer from {SURVIVOR}" in cluster.state(name)[1] for name in LOST)

    until("the two wait for the survivor", waits, START)
    time.sleep(_APART)
    require(waits(), f"they do not wait any more: {[cluster.state(name) for name in LOST]}")
    cluster.testbed.heal()
    seconds = cluster.wait_ready(*cluster.members)
    return [f"they waited, and joined {seconds:.0f} s after the network was whole", *_took_over(cluster)]


def _took_over(cluster: GaleraCluster) -> list[str]:
    """Requires that the two took over all data of the survivor."""
    taken = {name: "whose data is restored" in cluster.members[name].tail(5000) for name in LOST}
    require(all(taken.values()), f"they took over all data: {taken}")
    return ["both took over all data"]


def _newer(cluster: GaleraCluster, load: Load) -> Proof:
    """Lets two come back that have acknowledged writes which the survivor, cut off before, has never had."""
    started, problem, lost, run, notes = time.monotonic(), "", 0, dict[int, str](), list[str]()
    try:
        gone = _newer_than_the_survivor(cluster, load)
        before = look(cluster)
        load.start()
        notes.append(f"the survivor went on from {before['seqno']} within {_went_on(cluster, load):.1f} s")
        notes.append(f"{gone} transfers were acknowledged without it before, and are gone")
        load.more(2 * gone, seconds=START)
        cluster.start(*LOST)
        notes.append(f"the two joined in {cluster.wait_ready(*cluster.members):.0f} s")
        notes += _took_over(cluster)
        run = load.stop()
        lost, wrong = contradictions(cluster, run)
        problem = "; ".join(wrong)
    except (TimeoutError, Broken) as error:
        problem = str(error)
    answers = list(run.values())
    name = "Galera: two that were called dead come back with transactions that the one that went on does not have"
    seconds = round(time.monotonic() - started, 1)
    return Proof(name, len(answers), answers.count("ok"), lost, seconds, tuple(notes), problem)


def _newer_than_the_survivor(cluster: GaleraCluster, load: Load) -> int:
    """Cuts the survivor off while the others go on, and kills these.

    Returns how many transfers they acknowledged alone.
    """
    load.start()
    load.more()
    cluster.testbed.isolate(SURVIVOR)
    until("the survivor has no majority", lambda: cluster.refuses_writes(SURVIVOR), 60)
    before = load.acknowledged()
    load.more(100, seconds=START)
    load.stop()
    gone = load.acknowledged() - before
    cluster.kill(*LOST)
    cluster.testbed.heal()
    return gone


def _went_on(cluster: GaleraCluster, load: Load) -> float:
    """Lets the survivor go on. Returns the seconds until it served."""
    began = time.monotonic()
    _run(cluster, "go-on")
    cluster.stop(SURVIVOR)
    cluster.start(SURVIVOR)
    cluster.wait_ready(SURVIVOR)
    seconds = time.monotonic() - began
    load.more(seconds=START)
    return seconds


def look(cluster: GaleraCluster) -> dict[str, Any]:
    """Returns what the survivor tells of itself."""
    return json.loads(_run(cluster, "look"))


def _run(cluster: GaleraCluster, command: str) -> str:
    words = ["python3", "-c", scripts.text("galera_survivor.py"), command]
    try:
        return cluster.members[SURVIVOR].run(words, user="mysql")
    except subprocess.CalledProcessError as error:
        raise Broken(f"{command}: {error.stderr.strip()}") from None
