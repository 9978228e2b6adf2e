"""How the members of Galera, RabbitMQ, Ceph's monitors and OVN's databases tell what they have and go on alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from cluster.objects import Object, listed, mapping, number, text, words
from openstack import scripts
from openstack.ovn_clients import NB, SB
from openstack.scripts.galera.decision import NO_UUID
from openstack.scripts.ovn_survivor import COMPLETE
from operations.living.ceph import IN_QUORUM
from operations.living.readers import READERS
from operations.restoration.survivors import Survivor, SurvivorProgram


def _object(said: str) -> Object:
    found = mapping({"said": json.loads(said)}, "said")
    if not found:
        raise ValueError(said)
    return found


def galera(said: str) -> Survivor:
    """Returns what a member of Galera has, by the object of openstack/scripts/galera_survivor.py."""
    known = _object(said)
    runs = "its database runs" if known["phase"] == "running" else "its database waits"
    uuid, seqno = text(known, "uuid") or NO_UUID, number(known, "seqno", default=-1)
    served = known.get("served")
    return Survivor(
        "",
        "",
        does=f"{runs}: {text(known, 'does')}",
        serves=known.get("primary") is True,
        data=f"{uuid}:{seqno}" if uuid != NO_UUID and seqno >= 0 else "",
        cluster=uuid,
        position=seqno,
        together=words(known, "view"),
        served=_moment(served) if isinstance(served, int | float) else None,
    )


def rabbitmq(said: str) -> Survivor:
    """Returns what a member of RabbitMQ has, by the output of openstack/scripts/rabbitmq_survivor.sh."""
    first, _, written = said.strip().partition("\n")
    known = mapping(_object(first), "value")
    members, running = (tuple(map(_member, words(known, each))) for each in ("listed", "running"))
    if not members:
        raise ValueError(said)
    others = f"{len(running)} of {len(members)} members run"
    has_khepri = known.get("khepri") is True
    return Survivor(
        "",
        "",
        does=others if has_khepri else f"{others}, and its metadata are in Mnesia: this cannot go on so",
        serves=2 * len(running) > len(members),
        data=f"{number(known, 'quorum')} quorum queues, {number(known, 'streams')} streams" if has_khepri else "",
        position=number(known, "quorum"),
        together=members,
        served=_moment(float(written)) if written else None,
    )


def ceph(said: str) -> Survivor:
    """Returns what a monitor of Ceph has, by the object of openstack/scripts/ceph_survivor.py."""
    known = _object(said)
    members = tuple(text(each, "name") for each in listed(known, "monmap", "mons"))
    if not members:
        raise ValueError(said)
    state, epoch = text(known, "state"), number(known, "monmap", "epoch")
    is_complete = epoch > 0 and state != "synchronizing"
    return Survivor(
        "",
        "",
        does=state,
        serves=state in IN_QUORUM,
        data=f"map of monitors {epoch}, election {number(known, 'election_epoch')}" if is_complete else "",
        position=epoch,
        together=members,
    )


def ovn(said: str) -> Survivor:
    """Returns what a member of a database of OVN has, by the object of openstack/scripts/ovn_survivor.py."""
    known = _object(said)
    state, leader, index = text(known, "state"), text(known, "leader"), number(known, "index")
    if not state:
        raise ValueError(said)
    has_leader = leader not in ("", "unknown")
    date, served = known["date"], known["served"]
    written = f", data written until {_moment(date):%Y-%m-%d %H:%M:%S} UTC" if date else ""
    entry = f"entry {index} of term {number(known, 'term')}"
    return Survivor(
        "",
        "",
        does=f"{state}, {f'leader {leader}' if has_leader else 'knows no leader'}",
        serves=state in COMPLETE and has_leader,
        data=f"cluster {known['cluster'][:8]}, server {known['server']}, {entry}{written}" if index else "",
        cluster=text(known, "cluster"),
        position=index,
        together=words(known, "members"),
        served=_moment(served) if isinstance(served, int | float) else None,
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _member(node: str) -> str:
    return node.partition("@")[2].partition(".")[0]


def _ovn(process: str, lost: str) -> SurvivorProgram:
    return SurvivorProgram(
        READERS[process].container,
        ("python3", "-c", scripts.text("ovn_survivor.py")),
        ovn,
        limit=600.0,
        restarts=False,
        alone=True,
        goes_on="make a new cluster of its log, of which it is the only member; members of the former one join anew",
        lost=lost,
    )


PROGRAMS: Mapping[str, SurvivorProgram] = {
    "mysqld": SurvivorProgram(
        READERS["mysqld"].container,
        ("python3", "-c", scripts.text("galera_survivor.py")),
        galera,
        limit=60.0,
        restarts=True,
        alone=False,
        goes_on="mark its data as that of a new cluster: a member with older marks takes it over as a whole",
        lost="",
    ),
    "rabbitmq": SurvivorProgram(
        READERS["rabbitmq"].container,
        ("sh", "-c", scripts.text("rabbitmq_survivor.sh"), "sh"),
        rabbitmq,
        limit=1800.0,
        restarts=False,
        alone=True,
        goes_on="remove the others from its metadata and its quorum queues, whose messages stay, and delete streams",
        lost="Streams are deleted with what is in them; agents make theirs anew.",
    ),
    "ceph-mon": SurvivorProgram(
        READERS["ceph-mon"].container,
        ("python3", "-c", scripts.text("ceph_survivor.py")),
        ceph,
        limit=60.0,
        restarts=True,
        alone=True,
        goes_on="mark its data, so that its next start removes the others from the map of monitors",
        lost="Objects are on OSDs, and stay. What it has not received of pools and accounts is to be made again.",
    ),
    NB: _ovn(NB, "Neutron's database has what the northbound one lacks: neutron-ovn-db-sync-util writes it again."),
    SB: _ovn(SB, "ovn-northd and ovn-controller write again what the southbound one lacks, of the northbound one."),
}
"""By the process that a member runs. Project figures: a disk may be slow, and a broker has thousands of queues."""
