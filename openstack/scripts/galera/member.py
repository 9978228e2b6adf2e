"""A member of Galera: answers other members and probes over HTTP, and runs mariadbd."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from . import data
from .decision import Decision, Position, decide, waited_for
from .disk import PAUSE, Peer, SyncSpeed, dispensable
from .server import Progress, Status, server_status, set_desync, transfers_state, written

INITIAL_SQL = Path("/etc/mysql/initial.sql")
"""SQL statements that create the first accounts. The member that bootstraps a new cluster executes them once."""
PORT = 9200
"""HTTP port on which a member answers: the usual port of Galera's health checks (clustercheck)."""
PATIENCE = float(os.environ.get("GALERA_PATIENCE", "300"))
"""Seconds without progress after which the liveness probe of a member that is not synced fails."""


LOST = 30.0
"""Seconds without a primary component after which a member looks whether all others wait for it. Project figure: a
member that starts or joins is without one for seconds."""


class Member:
    """The Galera member of this pod, with its position and its mariadbd."""

    def __init__(self, name: str, first: Sequence[str], domain: str) -> None:
        self.first, self.domain = first, domain
        self.own = Position(name, "starting")
        self.doing = "reads its data"
        self.has_read = False
        self.server: subprocess.Popen[bytes] | None = None
        self._status: Status | None = None
        self._stuck = 0.0
        self._gives_up = False
        self.disk = SyncSpeed(data.DIRECTORY / data.SPEED)
        self._is_aside = False

    def watch(self) -> None:
        """Reads the status of mariadbd every two seconds, so that requests need not query it."""
        progress, last_primary = Progress(), time.monotonic()
        while True:
            server = self.server
            if server:
                self._status = server_status()
                self._stuck = progress.seconds_without(
                    self._status, transfers=transfers_state(), wrote=written(server.pid)
                )
            if self._status and self._status.primary:
                data.record_service()
            if not server or self._status is None or self._status.primary:
                last_primary = time.monotonic()
            elif time.monotonic() - last_primary > LOST and waited_for(data.last_view(), self.own.name, self.others()):
                say("ends mariadbd: it is in no primary component, and all other members wait")
                last_primary = time.monotonic()
                self._gives_up = True
                server.terminate()
            time.sleep(2)

    def keep_pace(self) -> None:
        """Stands aside while the disk is slow and a majority of the others serves without this member."""
        while True:
            time.sleep(PAUSE)
            if self.server and (self.disk.slow or self._is_aside):
                self.stand_aside_or_return()

    def stand_aside_or_return(self) -> None:
        """Takes this member out of the traffic or back into it, as its disk and the others are now.

        A desynced member votes and replicates, but it slows nobody down: ProxySQL sends it nothing, and it takes no
        part in flow control.
        """
        status, view = server_status(), data.last_view()
        if not status:
            return
        self._is_aside = self._is_aside and status.desynced  # a mariadbd that has been started again is not
        goes = self.disk.slow and dispensable(len(view), self.peers(view))
        if goes and status.is_synced and set_desync(on=True):
            say("stands aside: its disk is slow, and a majority of the others serves without it")
            self._is_aside = True
        if self._is_aside and not goes and set_desync(on=False):
            why = "the others need it" if self.disk.slow else "its disk is fast again"
            say(f"no longer stands aside: {why}")
            self._is_aside = False

    def peers(self, view: Sequence[str]) -> list[Peer]:
        """Requests what the others of a component tell of themselves. Returns those that answer."""
        addresses = [f"{name}.{self.domain}" for name in view if name != self.own.name]
        with ThreadPoolExecutor(max_workers=8) as pool:
            return [each for each in pool.map(ask_peer, addresses) if each]

    def answer(self, path: str) -> tuple[int, str]:
        """Returns the HTTP status and the text for a request to `path`."""
        if path == "/position":
            return (200, json.dumps(asdict(self.position()))) if self.has_read else (503, "reads its data")
        if path == "/ready":
            return self._ready()
        if path == "/peer":
            return 200, json.dumps(asdict(Peer(serves=self._ready()[0] == 200, slow=self.disk.slow)))
        if path == "/alive":
            if self.server and self._stuck > PATIENCE:
                return 503, f"no progress for {self._stuck:.0f} s: {self._ready()[1]}"
            return 200, self.doing
        return 404, "no such path"

    def position(self) -> Position:
        """Returns the member's current position, which is mariadbd's own if mariadbd is running."""
        if not self.server:
            return self.own
        status = self._status
        if status is None or not status.primary:
            return replace(self.own, phase="running", view=data.last_view())
        return replace(
            self.own,
            phase="running",
            has_data=True,
            uuid=status.uuid,
            seqno=status.committed,
            view=data.last_view(),
            # Only a member that serves proves that there is a primary component to join.
            primary=status.ready,
        )

    def _ready(self) -> tuple[int, str]:
        if not self.server:
            return 503, self.doing
        status = self._status
        if status is None:
            return 503, "mariadbd does not answer"
        component = "primary" if status.primary else "non-primary"
        why = " because its disk is slow" if self._is_aside else ""
        return (200 if status.is_synced else 503), f"{status.comment}{why}, {component} component of {status.uuid}"

    def others(self) -> list[Position]:
        """Requests the positions of all other members, by known names and by addresses. Returns those that answer."""
        names = {*self.first, *data.last_view()}
        addresses = {f"{name}.{self.domain}" for name in names} | addresses_of(self.domain)
        with ThreadPoolExecutor(max_workers=8) as pool:
            answers = [each for each in pool.map(ask, addresses) if each]
        beyond = {name for each in answers for name in each.view} - names - {each.name for each in answers}
        answers += [each for name in beyond if (each := ask(f"{name}.{self.domain}"))]
        return list({each.name: each for each in answers if each.name != self.own.name}.values())

    def wait_for_turn(self) -> Decision:
        """Waits until this member may start mariadbd, and returns the decision. Logs each new reason for waiting."""
        self.own = data.own_position(self.own.name)
        self.has_read = True
        say(f"data: {self.own.uuid}:{self.own.seqno}, last primary component: {', '.join(self.own.view) or 'none'}")
        while True:
            decision = decide(self.own, self.others(), self.first, data.forced_member())
            if decision.reason != self.doing:
                self.doing = decision.reason
                say(f"{decision.action}: {decision.reason}")
            if decision.action != "wait":
                return decision
            time.sleep(2)

    def arguments(self, decision: Decision) -> list[str]:
        """Prepares the data directory for a decision, and returns mariadbd's arguments."""
        data.forget_awaited()
        start = [f"--wsrep-start-position={self.own.uuid}:{self.own.seqno}"] if self.own.is_known else []
        if decision.action == "join":
            if decision.restored:
                start = []
                data.take_over(decision.restored)
                self.own = replace(self.own, restored=decision.restored)
            primary = sorted(each.name for each in self.others() if each.primary)
            return [*start, "--wsrep-cluster-address=gcomm://" + ",".join(f"{each}.{self.domain}" for each in primary)]
        if forced := data.forced_member():
            data.record_force(forced)
        if not self.own.has_data:
            data.install()
            return ["--wsrep-new-cluster", *([f"--init-file={INITIAL_SQL}"] if INITIAL_SQL.exists() else [])]
        data.allow_bootstrap()
        return [*start, "--wsrep-new-cluster"]

    def run(self) -> int:
        """Waits until this member may start, runs mariadbd until it ends, and returns its exit code.

        A member that gives up its mariadbd waits for its turn again.
        """
        while True:
            decision = self.wait_for_turn()
            self.server = subprocess.Popen(["mariadbd", *self.arguments(decision)])
            signal.signal(signal.SIGTERM, self._end)
            code = self.server.wait()
            if not self._gives_up:
                return code
            # The position of the last start is old: for others, this member would have nothing newer.
            self.has_read = False
            self._gives_up, self.server, self._status = False, None, None

    def _end(self, _number: int, _frame: object) -> None:
        """Ends mariadbd and this program, because kubelet stops the pod."""
        if not self.server:
            sys.exit(0)
        self._gives_up = False
        self.server.terminate()


def ask(address: str) -> Position | None:
    """Requests the position of the member at an address; None if the member does not answer."""
    try:
        said = _asked(address, "/position")
        said["view"] = tuple(said["view"])
        return Position(**said)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def ask_peer(address: str) -> Peer | None:
    """Requests what the member at an address tells of itself; None if it does not answer, or is from before."""
    try:
        return Peer(**_asked(address, "/peer"))
    except (OSError, ValueError, TypeError):
        return None


def _asked(address: str, path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"http://{address}:{PORT}{path}", timeout=3) as response:
        return json.load(response)


def addresses_of(domain: str) -> set[str]:
    """Returns the addresses of all pods of a headless Service, from DNS; an empty set if the name has none."""
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(domain, PORT, socket.AF_INET, socket.SOCK_STREAM)}
    except OSError:
        return set()


def say(text: str) -> None:
    print(f"galera-start: {text}", file=sys.stderr, flush=True)
