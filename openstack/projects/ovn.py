"""Configuration of OVN's databases, of the relays of one, and of ovn-northd."""

from __future__ import annotations

import json

from openstack import scripts
from openstack.config.layers import TextFile, WrittenFile
from openstack.config.wiring import Wiring
from openstack.ovn_clients import CLIENTS, DATABASE_NAMES, METRICS, NB, PROBE, RELAY, SB, connection, members

ELECTION_TIMERS = {NB: 10_000, SB: 16_000}
"""Milliseconds without a message of the leader after which a member starts an election. ovsdb-server's default of 1000
is too short for a large database: while a member writes a snapshot or sends a database to many clients, it answers
nothing. The figures of OpenShift's network operator (OVN_NB_RAFT_ELECTION_TIMER, OVN_SB_RAFT_ELECTION_TIMER)."""


def configure(wiring: Wiring, name: str) -> tuple[WrittenFile, ...]:
    if name in DATABASE_NAMES:
        return (
            TextFile("ovn-member.json", (_member(wiring, name),)),
            *(TextFile(f"ovn-member-{name}", (text,)) for name, text in scripts.modules("ovn_member").items()),
        )
    if name == RELAY:
        return (TextFile("ovn-sb-relay.sh", (_relay(wiring),)),)
    return (TextFile("ovn-northd.sh", (_northd(wiring),)),)


def _member(wiring: Wiring, name: str) -> str:
    settings = {
        "database": DATABASE_NAMES[name],
        "schema": f"/usr/share/ovn/{name}.ovsschema",
        "client": f"{name}ctl",
        "port": wiring.records.port(name, CLIENTS[name]),
        "peers": wiring.records.port(name, "peers"),
        "raft": wiring.records.port(name, "raft"),
        "metrics": wiring.records.port(name, METRICS),
        "members": members(wiring, name),
        "election_timer": ELECTION_TIMERS[name],
        "probe": PROBE,
    }
    return json.dumps(settings, indent=2) + "\n"


def _northd(wiring: Wiring) -> str:
    options = (
        f"--ovnnb-db={connection(wiring, NB)}",
        f"--ovnsb-db={connection(wiring, SB)}",
        "--unixctl=/tmp/ovn-northd.ctl",
        "-vconsole:info -vsyslog:off -vfile:off",
    )
    return "exec ovn-northd " + " ".join(options) + "\n"


def _relay(wiring: Wiring) -> str:
    """Returns the command of a relay. It listens as the database says: at the port of clients, with their probe."""
    options = (
        "--unixctl=/tmp/ovsdb-server.ctl",
        "--remote=punix:/tmp/ovsdb-server.sock",
        f"--remote=db:{DATABASE_NAMES[SB]},SB_Global,connections",
        "-vconsole:info -vsyslog:off -vfile:off",
        f"relay:{DATABASE_NAMES[SB]}:{connection(wiring, SB)}",
    )
    return "exec ovsdb-server " + " ".join(options) + "\n"
