"""Trial of a RabbitMQ of which two of three members are lost for good: the third goes on alone, and two join.

The members run with the rendered configuration, and their metadata are in Khepri, as in those of 4.2. The program that
`quorate restore` runs in the survivor's pod runs on the survivor's machine.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from openstack import scripts
from trials.services.containers import TriedContainer
from trials.services.rabbitmq import STREAM, RabbitmqCluster, begin, trial
from trials.services.testbed import Broken, ServiceTestbed, require, until
from trials.trial_report import Proof, in_turn

LOST, SURVIVOR = ("rabbitmq-0", "rabbitmq-1"), "rabbitmq-2"
_ALONE = 120
"""Seconds until the survivor must have noticed that the others are gone."""


def prove(root: Path, container: TriedContainer) -> list[Proof]:
    """Loses two members. Returns the result. Raises Unavailable if this machine cannot run the test bed."""
    with ServiceTestbed(root) as testbed:
        cluster = RabbitmqCluster(testbed, container)
        notes = begin(cluster)
        cluster.control(SURVIVOR, "enable_feature_flag", "--opt-in", "khepri_db")
        return in_turn("RabbitMQ", (two_lost,), lambda name, failure: trial(name, cluster, failure), notes)


def two_lost(cluster: RabbitmqCluster) -> list[str]:
    """Two of three are lost at once and for good; the third goes on, restarts, and two with empty disks join."""
    cluster.control(SURVIVOR, "eval", STREAM)
    require(cluster.replicas("stream") == len(cluster.members), "the stream has a replica on each member")
    cluster.more(200)
    cluster.kill(*LOST)
    until("the survivor runs alone", lambda: len(look(cluster)["running"]) == 1, _ALONE, 2)
    said = look(cluster)
    require(len(said["listed"]) == len(cluster.members), f"the survivor says {said}")
    before, began = cluster.confirmed(), time.monotonic()
    _run(cluster, "go-on")
    seconds = time.monotonic() - began
    silence = cluster.more()
    require(len(look(cluster)["listed"]) == 1, f"the survivor says {look(cluster)}")
    notes = [f"the survivor had confirmed {before}, went on within {seconds:.0f} s, confirmed {silence:.1f} s later"]
    cluster.stop(SURVIVOR)
    cluster.start(SURVIVOR)
    notes.append(f"stopped and started alone, it was ready after {cluster.wait_ready(SURVIVOR):.0f} s")
    cluster.more()
    for name in LOST:
        cluster.members[name].run(["sh", "-c", "rm -rf /var/lib/rabbitmq/*"])
        cluster.start(name)
        notes.append(f"{name} joined with an empty disk in {cluster.wait_ready(name):.0f} s")
    seen = {name: cluster.running(name) for name in cluster.members}
    require(all(len(members) == len(cluster.members) for members in seen.values()), f"clusters: {seen}")
    cluster.control(SURVIVOR, "eval", STREAM)
    require(cluster.replicas("stream") == len(cluster.members), "a stream of its name was made again")
    return notes


def look(cluster: RabbitmqCluster) -> dict[str, Any]:
    """Returns what the survivor tells of itself."""
    return json.loads(_run(cluster, "look").splitlines()[0])["value"]


def _run(cluster: RabbitmqCluster, command: str) -> str:
    words = ["sh", "-c", scripts.text("rabbitmq_survivor.sh"), "sh", command]
    try:
        return cluster.members[SURVIVOR].run(words, user="rabbitmq", seconds=300)
    except subprocess.CalledProcessError as error:
        raise Broken(f"{command}: {(error.stderr or error.stdout).strip()[-600:]}") from None
