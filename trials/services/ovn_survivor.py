"""Trials of a database of OVN of which two of three members are lost for good: the third goes on, and two join.

The members run with the rendered container. The program that `quorate restore` runs in the survivor's pod runs on the
survivor's machine. The client that writes keeps its connection, as ovn-northd and Neutron's server do, and is not
started again.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, Thread
from typing import Any

from openstack import scripts
from trials.services.containers import TriedContainer
from trials.services.ovn import begin, trial
from trials.services.ovn_cluster import START, OvnCluster
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn

_ROWS = 30
"""Rows that are acknowledged at least before members are killed. Project figure."""
_RECENT = 30
"""Seconds since the survivor last took part, at most: it records that every 5 s, and this machine may be busy."""


class RowLoad:
    """Writes rows one after the other until `stop`, by a client that keeps its connection."""

    def __init__(self, cluster: OvnCluster) -> None:
        self.cluster = cluster
        self._ends = Event()
        self._problems: list[str] = []
        self._thread = Thread(target=self._write)

    def start(self) -> None:
        self._thread.start()

    def _write(self) -> None:
        try:
            while not self._ends.is_set():
                self.cluster.write(1)
        except (TimeoutError, OSError) as error:
            self._problems.append(str(error))

    def more(self, count: int = 5, seconds: float = START) -> float:
        """Waits for further acknowledged rows. Returns the seconds. Raises TimeoutError without them."""
        wanted = len(self.cluster.acknowledged) + count
        done = until(
            f"{count} further rows are acknowledged",
            lambda: self._problems or len(self.cluster.acknowledged) >= wanted,
            seconds,
            0.05,
        )
        require(not self._problems, "; ".join(self._problems))
        return done

    def stop(self) -> None:
        self._ends.set()
        self._thread.join()


def prove(root: Path, container: TriedContainer, database: str) -> Sequence[Proof]:
    """Loses two members of a database four times. Returns the results.

    `database`: its name in the report. Raises Unavailable if this machine cannot run the test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = OvnCluster(testbed, container, testbed.add("client"))
        begin(cluster)
        cluster.keep_connection()
        cluster.write(1)
        losses = (two_lost, two_return, two_return_apart, two_with_more)
        return in_turn(f"OVN, {database} database", losses, lambda name, each: _loaded(name, cluster, each), ())


def _loaded(name: str, cluster: OvnCluster, loss: Callable[[OvnCluster, RowLoad], list[str]]) -> Proof:
    """Runs a trial under load. Returns its result."""

    def under_load(cluster: OvnCluster) -> list[str]:
        load = RowLoad(cluster)
        load.start()
        try:
            load.more(_ROWS)
            return [*loss(cluster, load), f"all have three members {cluster.wait_whole():.0f} s later"]
        finally:
            load.stop()

    return trial(name, cluster, under_load)


def two_lost(cluster: OvnCluster, load: RowLoad) -> list[str]:
    """Two of three are killed under writes, with the leader, and lost for good; the third goes on, and two join."""
    lost, survivor = apart(cluster, with_leader=False)
    _refused(cluster, survivor)
    before = list(cluster.acknowledged)
    cluster.kill(*lost)
    notes = [without_leader(cluster, survivor), _went_on(cluster, survivor, load), _missing(cluster, survivor, before)]
    _refused_nothing(cluster, survivor)
    for name in lost:
        cluster.lose_volume(name)
        cluster.start(name)
        notes.append(f"{name} joined with an empty disk in {cluster.wait_ready(name):.0f} s")
        load.more()
    return notes


def two_return(cluster: OvnCluster, load: RowLoad) -> list[str]:
    """Two followers are killed, and the leader goes on; they come back with their former data, one after the other."""
    lost, survivor = apart(cluster, with_leader=True)
    before = list(cluster.acknowledged)
    cluster.kill(*lost)
    notes = [without_leader(cluster, survivor), _went_on(cluster, survivor, load), _missing(cluster, survivor, before)]
    for name in lost:
        aside = _put_aside(cluster, name)
        cluster.start(name)
        notes.append(f"{name} put its data aside, and joined in {cluster.wait_ready(name):.0f} s")
        require(_put_aside(cluster, name) == aside + 1, f"{name} has put nothing aside")
        load.more()
    return notes


def two_return_apart(cluster: OvnCluster, load: RowLoad) -> list[str]:
    """Two that were called dead come back together, while the one that went on is cut off: they leave what they form"""
    lost, survivor = apart(cluster, with_leader=False)
    cluster.kill(*lost)
    notes = [without_leader(cluster, survivor), _went_on(cluster, survivor, load)]
    cluster.testbed.isolate(survivor)
    cluster.start(*lost)
    seconds = until("the two serve", lambda: all(map(cluster.is_ready, lost)), START)
    notes.append(f"without the survivor, the two formed their former cluster in {seconds:.0f} s")
    until("a new client writes to the two", lambda: _writes_beside(cluster), START)
    done = len(cluster.acknowledged)
    time.sleep(10)
    require(len(cluster.acknowledged) == done, "they acknowledged what a client of the new cluster wrote")
    notes.append("they served a client that was new, and none that had seen the new cluster")
    aside = {name: _put_aside(cluster, name) for name in lost}
    cluster.testbed.heal()
    seconds = until("both leave", lambda: all(_put_aside(cluster, name) > aside[name] for name in lost), START)
    joined = cluster.wait_ready(*lost)
    notes.append(f"both put their data aside {seconds:.0f} s after the network was whole, and joined in {joined:.0f} s")
    load.more()
    gone = all("beside" not in cluster.read(name) for name in cluster.members)
    require(gone, "what the two had acknowledged alone is in the new cluster")
    return notes


def two_with_more(cluster: OvnCluster, load: RowLoad) -> list[str]:
    """Two that were called dead come back with rows that the survivor, which was cut off, never had: they are gone."""
    lost, survivor = apart(cluster, with_leader=False)
    before = set(cluster.acknowledged[:-1])
    cluster.testbed.isolate(survivor)
    until("the survivor has no leader", lambda: "Leader: unknown" in cluster.status(survivor), START)
    load.more(20)
    cluster.kill(*cluster.members)  # the survivor too: the others' kernels would send it what they have not sent yet
    cluster.testbed.heal()
    cluster.start(survivor)
    until("the survivor has its database", lambda: cluster.status(survivor), START)
    notes = [without_leader(cluster, survivor), _went_on(cluster, survivor, load, recent=False)]
    here = cluster.read(survivor)
    gone = [each for each in cluster.acknowledged if each not in here]
    require(len(gone) >= 20 and not before.intersection(gone), f"{gone} are gone")
    aside = {name: _put_aside(cluster, name) for name in lost}
    cluster.start(*lost)
    seconds = cluster.wait_ready(*lost)
    notes += [f"{len(gone)} rows were acknowledged without it before, and are gone", f"both joined in {seconds:.0f} s"]
    for name in lost:
        require(_put_aside(cluster, name) == aside[name] + 1, f"{name} has put nothing aside")
        require(not set(gone).intersection(cluster.read(name)), f"{name} has what the survivor never had")
    for each in gone:
        cluster.acknowledged[cluster.acknowledged.index(each)] = cluster.acknowledged[-1]
    return notes


def _writes_beside(cluster: OvnCluster) -> bool:
    """Whether a client that has not seen the new cluster writes a row to the former one."""
    words = [cluster.program, "--timeout=10", f"--db={cluster.remote}", *cluster.row("beside")]
    try:
        cluster.client.run(words)
    except subprocess.CalledProcessError:
        return False
    return True


def apart(cluster: OvnCluster, *, with_leader: bool) -> tuple[list[str], str]:
    """Returns who is lost, and who survives: the leader, or a follower that is not the first member."""
    leader = cluster.leader()
    _, *others = cluster.members
    survivor = leader if with_leader else next(each for each in others if each != leader)
    return [each for each in cluster.members if each != survivor], survivor


def without_leader(cluster: OvnCluster, survivor: str) -> str:
    """Waits until the survivor is not ready. Returns a note for the report."""
    seconds = until("the survivor has no leader", lambda: not cluster.is_ready(survivor), START)
    return f"the survivor was not ready after {seconds:.0f} s"


def _went_on(cluster: OvnCluster, survivor: str, load: RowLoad, *, recent: bool = True) -> str:
    """Lets the survivor go on. Returns a note for the report."""
    said = look(cluster, survivor)
    require(said["leader"] == "unknown" and said["members"] == sorted(cluster.members), f"the survivor says {said}")
    old = time.time() - said["served"]
    require(not recent or old < _RECENT + START, f"it last took part {old:.0f} s ago")
    began = time.monotonic()
    until("the survivor goes on", lambda: goes_on(cluster, survivor), START, 1)
    until("the survivor is ready", lambda: cluster.is_ready(survivor), START, 0.2)
    seconds = time.monotonic() - began
    silence = load.more(1)
    after = look(cluster, survivor)
    require(after["members"] == [survivor] and after["leader"] == "self", f"the survivor says {after}")
    require(after["cluster"] != said["cluster"], "it is a new cluster")
    require(after["index"] > said["index"] + 10**8, f"clients would refuse entry {after['index']}: {said['index']}")
    return (
        f"it last took part {old:.0f} s before, at entry {said['index']} of term {said['term']}; it was ready "
        f"{seconds:.1f} s after it was told to go on, and acknowledged {silence:.1f} s later"
    )


def goes_on(cluster: OvnCluster, survivor: str) -> bool:
    """Tells it to go on. Returns False while it still hears one that was just killed."""
    try:
        _run(cluster, survivor, "go-on")
    except Broken as error:
        require("it is not alone" in str(error), str(error))
        return False
    return True


def _refused(cluster: OvnCluster, survivor: str) -> None:
    """Raises Broken unless the survivor refuses to go on, because it has a leader."""
    try:
        _run(cluster, survivor, "go-on")
    except Broken as error:
        require("it has a leader, in a cluster with 2 others" in str(error), str(error))
        return
    raise Broken(f"{survivor} goes on alone beside a majority")


def _refused_nothing(cluster: OvnCluster, survivor: str) -> None:
    """Requires that a second run, on a member that has gone on, changes nothing."""
    before = cluster.server(survivor)
    _run(cluster, survivor, "go-on")
    require(cluster.server(survivor) == before, f"{survivor} was made anew twice")


def _missing(cluster: OvnCluster, survivor: str, before: Sequence[str]) -> str:
    """Requires that the survivor has the rows that were acknowledged before the others were killed."""
    missing = set(before) - cluster.read(survivor)
    require(not missing, f"{sorted(missing)} were acknowledged before, and are lost")
    return f"all {len(before)} rows that were acknowledged before are there"


def _put_aside(cluster: OvnCluster, name: str) -> int:
    """Returns how often a member has put its data aside."""
    return cluster.members[name].log.read_text(encoding="utf-8", errors="replace").count("ovn_member: puts the data of")


def look(cluster: OvnCluster, survivor: str) -> dict[str, Any]:
    """Returns what the survivor tells of itself."""
    return json.loads(_run(cluster, survivor, "look"))


def _run(cluster: OvnCluster, survivor: str, command: str) -> str:
    words = ["python3", "-c", scripts.text("ovn_survivor.py"), command]
    try:
        return cluster.members[survivor].run(words)
    except subprocess.CalledProcessError as error:
        raise Broken(f"{command}: {(error.stderr or error.stdout).strip()[-600:]}") from None
