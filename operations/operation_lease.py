"""The Lease by which one operation at a time changes a cloud, and one process at a time works on it.

The Lease exists from the first change of an operation until its last, also while no process runs: its annotation says
what is done, who began it and when. A process that works on it is its holder and renews it. A holder that was killed
renews nothing: the next process waits until it has seen that, by its own clock only, and goes on.
"""

from __future__ import annotations

import getpass
import json
import os
import secrets
import shlex
import socket
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from cluster.api import Api, ApiError, Unreachable
from cluster.objects import Object, at, text, texts, words
from console.errors import UserError
from contract import OPERATION
from openstack.config.wiring import ENVIRONMENT

MAINTENANCE, REPLACEMENT, RESTORATION = "maintenance", "replacement", "restoration"
"""Kinds of operations."""
_COMMANDS = {MAINTENANCE: "maintenance", REPLACEMENT: "replace", RESTORATION: "restore"}
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{ENVIRONMENT}/leases"
NAME = "quorate-operation"
RENEWED = 5.0
"""Seconds between two renewals. Project figure."""
STALE = 20.0
"""Seconds without a renewal after which a holder counts as killed. Project figure: four renewals."""
POLL = 1.0
"""Seconds between two looks at a Lease whose holder may have been killed."""


@dataclass(frozen=True)
class CloudOperation:
    """What is done to a cloud, as the annotation of the Lease has it."""

    subject: str
    """The server, machine, pool or database that it is about, or the part of a machine, as on_machine() names it."""
    kind: str = MAINTENANCE
    out: tuple[str, ...] = ()
    """The servers or machines that are out now, or on their way; of a restoration, those that are dead."""
    done: tuple[str, ...] = ()
    """Of a pool, the servers that were out and are back; of a replacement, the machine once all of it is removed."""
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Of a pool, the servers that could not go, with the reason."""
    cold: tuple[str, ...] = ()
    """Ids of instances that it moves cold and has not confirmed."""
    step: str = ""
    """The last step that it has begun."""
    new: str = ""
    """Of a replacement, the machine with another name that comes instead; "" if the name stays."""
    osds: tuple[str, ...] = ()
    """Of a replacement, the numbers of the OSDs that are lost with the machine."""
    identity: str = ""
    """Of a failed disk's replacement, what distinguishes its OSD or claim from the next one of the same name."""
    beside: tuple[str, ...] = ()
    """Of a failed disk's replacement, the uuids of the other OSDs of its machine."""
    do: str = ""
    """Of a maintenance, the command that each machine that is out gets; "" if it is held instead."""
    stops: tuple[str, ...] = ()
    """Of a maintenance, the quorums of a single member that may stop meanwhile."""
    did: tuple[str, ...] = ()
    """Machines on which this command has ended."""
    boots: dict[str, str] = field(default_factory=dict[str, str])
    """Boot ids of the machines that are rebooted, from before, by name."""
    source: str = ""
    """Of a restoration, the backup that is restored, or the member with whose data a Galera goes on; "" if it is the
    newest backup."""
    by: str = ""
    """Who began it: user and machine."""
    since: str = ""

    def began(self) -> str:
        """Returns who began it and when, as text."""
        return f"{self.by} began it at {self.since}"

    def sentence(self) -> str:
        """Returns the sentence by which all commands name it."""
        return f"{self.kind.capitalize()} of {self.subject} is under way: {self.began()}."


def whoami() -> str:
    """Returns the user and machine of this process, such as ada@desk."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user without a name, as in some containers
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


def current(api: Api) -> CloudOperation | None:
    """Returns the operation that is under way; None if there is none. Raises ApiError or Unreachable."""
    known = current_and_worker(api)
    return known[0] if known else None


def current_and_worker(api: Api) -> tuple[CloudOperation, str] | None:
    """Returns the operation that is under way, and the user and machine whose process works on it; "" without one.

    Raises ApiError or Unreachable.
    """
    lease = _read(api)
    return (_operation(lease), _holder(lease)) if lease else None


def command(operation: CloudOperation, stack: str, *options: str) -> str:
    """Returns the command line that goes on with an operation, or what its options say.

    A restoration has no other end than that it is done.
    """
    if operation.kind == RESTORATION:
        dead = (word for machine in operation.out for word in ("--dead", machine))
        options = (*(("--from", operation.source) if operation.source else ()), *dead, "--confirm", stack)
    if operation.kind == REPLACEMENT and not options:
        options = ("--dead", *(("--with", operation.new) if operation.new else ()))
    if operation.kind == MAINTENANCE and not options:
        options = ("--do", shlex.quote(operation.do)) if operation.do else ()
        options += tuple(word for quorum in operation.stops for word in ("--admit-stop", quorum))
    program = _COMMANDS.get(operation.kind, operation.kind)
    return " ".join(("quorate", program, _named(operation.subject), *options, "--stack", stack))


class HeldLease:
    """The Lease of this process. `require` raises if another process has it."""

    def __init__(self, api: Api, lease: Object, operation: CloudOperation) -> None:
        self.operation = operation
        self._api = api
        self._lease = lease
        self._guard = threading.Lock()
        self._renewed = time.monotonic()
        self._lost = ""
        self._is_over = False

    def require(self) -> None:
        """Raises UserError if the Lease is another process's, or may be: it was not renewed for too long."""
        if not self._lost and time.monotonic() - self._renewed > STALE:
            self._lost = f"Lease {NAME} was not renewed for {STALE:.0f} s, because the API server did not answer"
        if self._lost:
            raise UserError(f"{self._lost}. This run has stopped; the same command goes on where it stopped.")

    def change(self, **changes: Any) -> None:
        """Writes changed fields of the operation. Raises UserError if the Lease is another process's."""
        self.require()
        self.operation = replace(self.operation, **changes)
        self._write(at(self._lease, "spec", "holderIdentity"))
        self.require()

    def finish(self) -> None:
        """Deletes the Lease: the operation has ended."""
        self.require()
        with self._guard:
            self._is_over = True
            self._api.ask("DELETE", f"{LEASES}/{NAME}")

    @contextmanager
    def beginning(self) -> Generator[None]:
        """Ends the operation if it is refused within the context, while no server, machine or disk is out.

        Raises UserError as the context does.
        """
        try:
            yield
        except UserError as refusal:
            if self.operation.out:
                raise
            self.finish()
            raise UserError(f"{refusal}\nNothing was changed.") from None

    def renew(self) -> None:
        """Renews the Lease; an API server that does not answer is asked again by the next renewal."""
        try:
            self._write(at(self._lease, "spec", "holderIdentity"))
        except (ApiError, Unreachable):
            return

    def let_go(self) -> None:
        """Ends the work of this process, not the operation: the next one need not wait."""
        if not (self._is_over or self._lost):
            self._write(None)

    def _write(self, holder: str | None) -> None:
        with self._guard:
            if self._is_over:
                return
            body = _lease(self.operation, holder, str(at(self._lease, "metadata", "resourceVersion")))
            try:
                self._lease = self._api.ask("PUT", f"{LEASES}/{NAME}", body)
                self._renewed = time.monotonic()
            except ApiError as error:
                if error.status not in (404, 409):
                    raise
                self._lost = f"Lease {NAME} was changed or deleted by another process"


@contextmanager
def held(api: Api, wanted: CloudOperation, stack: str, say: Callable[[str], None]) -> Generator[HeldLease]:
    """Takes the Lease for an operation, or for going on with it, and renews it until the context ends.

    `stack`: name of the stack, for messages. Raises UserError if another operation is under way, or another process
    works on this one.
    """
    found = _take(api, wanted, stack, say)
    ended = threading.Event()

    def renew() -> None:
        while not ended.wait(RENEWED):
            found.renew()

    renewal = threading.Thread(target=renew, daemon=True)
    renewal.start()
    try:
        yield found
    finally:
        ended.set()
        renewal.join()
        try:
            found.let_go()
        except (ApiError, Unreachable) as error:
            say(f"Lease {NAME} was not let go ({error}); the next run waits {STALE:.0f} s for it.")


def _take(api: Api, wanted: CloudOperation, stack: str, say: Callable[[str], None]) -> HeldLease:
    me = f"{whoami()} {secrets.token_hex(4)}"
    while True:
        lease = _read(api)
        now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        mine = replace(wanted, by=whoami(), since=now)
        try:
            if lease is None:
                return HeldLease(api, api.ask("POST", LEASES, _lease(mine, me)), mine)
            mine = _operation(lease)
            require_same(mine, wanted, stack)
            _await_stale(api, lease, mine, say)
            body = _lease(mine, me, text(lease, "metadata", "resourceVersion"))
            return HeldLease(api, api.ask("PUT", f"{LEASES}/{NAME}", body), mine)
        except ApiError as error:
            if error.status not in (404, 409):  # somebody was faster: look again
                raise


def require_same(found: CloudOperation, wanted: CloudOperation, stack: str) -> None:
    """Raises UserError if the operation that is under way is another one than the wanted."""
    if (found.kind, found.subject) != (wanted.kind, wanted.subject):
        raise UserError(
            f"{found.sentence()} Nothing was changed.\n"
            f"One at a time: end it first with `{command(found, stack, '--end')}`."
        )


def on_machine(part: str, machine: str) -> str:
    """Returns the subject of a failed disk's replacement. `part`: an OSD such as osd.3, or a member of a quorum."""
    return f"{part} on {machine}"


def _named(subject: str) -> str:
    """Returns the arguments by which the command names a subject."""
    if subject.startswith("pool "):
        return f"--{subject}"
    part, _, machine = subject.partition(" on ")
    if not machine:
        return subject
    osd = part.removeprefix("osd.")
    return f"{machine} --member {part}" if osd == part else f"{machine} --osd {osd}"


def _await_stale(api: Api, lease: Object, operation: CloudOperation, say: Callable[[str], None]) -> None:
    """Returns when the Lease has no holder, or one that does not renew it. Raises UserError if it is renewed."""
    if not (who := _holder(lease)):
        return
    say(f"A run of {who} has not ended; waiting {STALE:.0f} s for a sign of it …")
    renewed = text(lease, "spec", "renewTime")
    end = time.monotonic() + STALE
    while time.monotonic() < end:
        time.sleep(POLL)
        seen = _read(api) or {}
        if not text(seen, "spec", "holderIdentity"):
            raise ApiError(409, "Conflict", "the holder has let it go")
        if text(seen, "spec", "renewTime") != renewed:
            raise UserError(
                f"{who} works on the {operation.kind} of {operation.subject} now; {operation.began()}. "
                "Nothing was changed. Wait until that run has ended."
            )
    say("It gave none: it was killed, and this run goes on in its place.")


def _holder(lease: Object) -> str:
    """Returns the user and machine whose process has a Lease; "" if none has."""
    return text(lease, "spec", "holderIdentity").rpartition(" ")[0]


def _read(api: Api) -> Object | None:
    try:
        return api.ask("GET", f"{LEASES}/{NAME}")
    except ApiError as error:
        if error.status == 404:
            return None
        raise


def _operation(lease: Object) -> CloudOperation:
    try:
        known: Object = json.loads(text(lease, "metadata", "annotations", OPERATION) or "{}")
    except ValueError:
        known = {}
    return CloudOperation(
        subject=text(known, "subject") or "something unknown",
        kind=text(known, "kind") or MAINTENANCE,
        out=words(known, "out"),
        done=words(known, "done"),
        failed=texts(known, "failed"),
        cold=words(known, "cold"),
        step=text(known, "step"),
        new=text(known, "new"),
        osds=words(known, "osds"),
        identity=text(known, "identity"),
        beside=words(known, "beside"),
        do=text(known, "do"),
        stops=words(known, "stops"),
        did=words(known, "did"),
        boots=texts(known, "boots"),
        source=text(known, "source"),
        by=text(known, "by") or "somebody unknown",
        since=text(known, "since") or "a time unknown",
    )


def _lease(operation: CloudOperation, holder: str | None, version: str = "") -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    metadata: Object = {"name": NAME, "annotations": {OPERATION: json.dumps(asdict(operation))}}
    if version:
        metadata["resourceVersion"] = version
    spec: Object = {"leaseDurationSeconds": int(STALE), "renewTime": now}
    if holder:
        spec["holderIdentity"] = holder
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
