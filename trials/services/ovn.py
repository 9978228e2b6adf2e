"""Trials of OVN's databases: members fail while a client writes, and no acknowledged write may be lost.

The members run with the rendered container. After each failure, every member must have every acknowledged row, and the
cluster must have exactly its three members. The docstring of a failure is the name of its trial in the report.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from trials.services.containers import TriedContainer
from trials.services.ovn_cluster import CONTROL, START, OvnCluster
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn

Failure = Callable[[OvnCluster], list[str]]


def leader_killed(cluster: OvnCluster) -> list[str]:
    """kill -9 of the leader."""
    leader = cluster.leader()
    cluster.kill(leader)
    silence = cluster.write()
    cluster.start(leader)
    back = cluster.wait_ready(leader)
    return [f"the slowest write took {silence:.1f} s", f"the member was ready again {back:.0f} s after its start"]


def volume_lost(cluster: OvnCluster) -> list[str]:
    """A member loses its volume: it joins anew, and its old identity is removed."""
    name = next(iter(cluster.members))
    cluster.kill(name)
    cluster.lose_volume(name)
    cluster.start(name)
    silence = cluster.write()
    back = cluster.wait_ready(name)
    whole = cluster.wait_whole()
    return [f"the slowest write took {silence:.1f} s", f"ready after {back:.0f} s, three members {whole:.0f} s later"]


def full_stop(cluster: OvnCluster) -> list[str]:
    """All members stop at the same time, and start one after the other."""
    first, *others = cluster.members
    cluster.kill(*cluster.members)
    cluster.start(first)
    time.sleep(5)
    require(not cluster.is_ready(first), f"{first} is ready alone")
    cluster.start(*others)
    back = cluster.wait_ready(*cluster.members)
    return [f"all were ready {back:.0f} s after the start of the last", *_wrote(cluster)]


def first_member_empty(cluster: OvnCluster) -> list[str]:
    """All stop, and the first member has lost its volume: it waits for the others, and creates no second cluster."""
    first, second, third = cluster.members
    cluster.kill(*cluster.members)
    cluster.lose_volume(first)
    cluster.start(first)
    time.sleep(5)
    require(not cluster.status(first), f"{first} has a database while no other member answers")
    cluster.start(second)
    time.sleep(5)
    require(not cluster.is_ready(first), f"{first} is ready with one member that has data")
    cluster.start(third)
    back = cluster.wait_ready(*cluster.members)
    whole = cluster.wait_whole()
    return [f"all were ready after {back:.0f} s, with three members {whole:.0f} s later", *_wrote(cluster)]


def removed(cluster: OvnCluster) -> list[str]:
    """A member that runs is removed by mistake: it joins anew."""
    leader = cluster.leader()
    name = next(each for each in cluster.members if each != leader)
    server = cluster.server(name)
    kick = ["ovs-appctl", "--target", CONTROL, "cluster/kick", cluster.database, server]
    cluster.members[leader].run(kick)
    back = until(f"{name} is another server", lambda: cluster.server(name) not in ("", server), START)
    whole = cluster.wait_whole()
    return [f"it joined again after {back:.0f} s; three members {whole:.0f} s later", *_wrote(cluster)]


def majority_lost(cluster: OvnCluster) -> list[str]:
    """Two of three members are killed: the metric of the third one says that it takes no part."""
    *killed, left = cluster.members
    require(cluster.metric(left) == "1", f"the metric of {left} is {cluster.metric(left)}")
    cluster.kill(*killed)
    took = until(f"the metric of {left} is 0", lambda: cluster.metric(left) == "0", START)
    cluster.start(*killed)
    back = cluster.wait_ready(*cluster.members)
    return [f"the metric was 0 after {took:.0f} s", f"all were ready {back:.0f} s after the start", *_wrote(cluster)]


def _wrote(cluster: OvnCluster) -> list[str]:
    return [f"the slowest write took {cluster.write():.1f} s"]


FAILURES: tuple[Failure, ...] = (leader_killed, volume_lost, full_stop, first_member_empty, removed, majority_lost)


def prove(
    root: Path, container: TriedContainer, database: str, failures: Sequence[Failure] = FAILURES
) -> Sequence[Proof]:
    """Runs the failures on the cluster of a database, until it does not survive one. Returns the results.

    `container`: that of a member. `database`: its name in the report. Raises Unavailable if this machine cannot run the
    test bed.
    """
    with ServiceTestbed(root) as testbed:
        cluster = OvnCluster(testbed, container, testbed.add("client"))
        took = begin(cluster)
        cluster.write(1)
        notes = [f"the first start took {took:.0f} s, of three members with an empty volume each"]
        name = f"OVN, {database} database"
        return in_turn(name, failures, lambda name, failure: trial(name, cluster, failure), notes)


def begin(cluster: OvnCluster) -> float:
    """Starts all members with empty volumes, the first one last; returns the seconds until all are ready."""
    first, *others = cluster.members
    cluster.start(*others)
    time.sleep(3)
    require(not any(map(cluster.status, others)), "a member other than the first created a cluster")
    cluster.start(first)
    return cluster.wait_ready(*cluster.members)


def trial(name: str, cluster: OvnCluster, failure: Failure) -> Proof:
    """Runs a failure. Returns its result: every member must have every acknowledged row afterwards."""
    started, tried, before = time.monotonic(), cluster.tried, len(cluster.acknowledged)
    notes, problem = [""], ""
    try:
        notes = failure(cluster)
        cluster.wait_ready(*cluster.members)
        until("each member has every acknowledged row", lambda: not cluster.lost(), START)
    except (Broken, TimeoutError, subprocess.SubprocessError) as error:
        problem = f"{error}\n{cluster.tails()}"
    lost = len(cluster.lost()) if not problem else 0
    acknowledged = len(cluster.acknowledged) - before
    seconds = round(time.monotonic() - started, 1)
    return Proof(name, cluster.tried - tried, acknowledged, lost, seconds, notes=tuple(notes), failure=problem)
