"""Starts a member of Galera: decides whether it bootstraps the cluster, joins it or waits, and then runs mariadbd.

Each member answers over HTTP what it knows (`/position`) and how it is (`/ready`, `/alive`), from its start to its end.
A member joins a primary component if there is one. Otherwise the most advanced member bootstraps; all others wait. Who
must be asked first is in the record that each member keeps of its last primary component: a member that is not in the
record of anyone who answers cannot have more transactions, and one that is in a record may have.

Standard library only: it runs in the image of the database, as the user that owns the data.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal

DATA = Path("/var/lib/mysql")
CONFIGURATION = Path("/etc/mysql/my.cnf")
INITIAL_SQL = Path("/etc/mysql/initial.sql")
"""Statements for a new cluster: the first accounts. Executed once, by the member that bootstraps it."""
PORT = 9200
"""The customary port of Galera's health checks (clustercheck)."""
FORCE = "GALERA_FORCE_BOOTSTRAP"
"""Names the member that bootstraps whatever the others say. Takes effect once for each value."""
PATIENCE = float(os.environ.get("GALERA_PATIENCE", "300"))
"""Seconds without any progress after which a member that is not synced is not alive."""
NO_UUID = "00000000-0000-0000-0000-000000000000"
SYNCED = "4"

# The state transfer empties the directory but for some endings, '.log' among them (cpat in wsrep_sst_mariabackup).
VIEW = DATA / "last-view.log"
FORCED = DATA / "forced-bootstrap.log"
UNFINISHED = DATA / "unfinished-install.log"


@dataclass(frozen=True)
class Position:
    """What a member says of itself."""

    name: str
    phase: Literal["starting", "running"]
    """running: mariadbd runs, or starts."""
    has_data: bool = False
    uuid: str = NO_UUID
    """Of the cluster that its data belongs to; NO_UUID if its data is incomplete, so that it can only join."""
    seqno: int = -1
    """The last transaction that it has."""
    view: tuple[str, ...] = ()
    """The members of the last primary component that it was in."""
    primary: bool = False
    """It is in a primary component now."""

    @property
    def is_known(self) -> bool:
        return self.has_data and self.uuid != NO_UUID and self.seqno >= 0


@dataclass(frozen=True)
class Decision:
    """What a member does, and why."""

    action: Literal["wait", "join", "bootstrap"]
    reason: str


def ordinal(name: str) -> int:
    """Returns the number of a member of a StatefulSet."""
    return int(name.rpartition("-")[2])


def decide(own: Position, others: Iterable[Position], first: Sequence[str], forced: str | None) -> Decision:
    """Decides what a member does. `others` are the members that answered, `first` those of a new cluster."""
    others = tuple(others)
    primary = [each for each in others if each.primary]
    if primary:
        return _join(own, primary)
    if forced == own.name:
        return Decision("bootstrap", f"{FORCE} names this member")
    if forced:
        return Decision("wait", f"{FORCE} names {forced}, which is in no primary component yet")
    answered = {each.name: each for each in (own, *others)}
    known = [each for each in answered.values() if each.is_known]
    awaited = {name for each in known for name in each.view} or set(first)
    if missing := sorted(awaited - answered.keys(), key=ordinal):
        return Decision("wait", f"no answer from {', '.join(missing)}, which may have newer data")
    if running := sorted(each.name for each in others if each.phase == "running"):
        return Decision("wait", f"{', '.join(running)} runs and is in no primary component yet")
    return _bootstrap(own, list(answered.values()), known)


def _join(own: Position, primary: Sequence[Position]) -> Decision:
    names = ", ".join(each.name for each in primary)
    foreign = [each for each in primary if own.is_known and each.uuid != own.uuid]
    if foreign:
        return Decision(
            "wait",
            f"its data is of cluster {own.uuid}, and {foreign[0].name} is in cluster {foreign[0].uuid}: remove the "
            "data of the one that is wrong",
        )
    return Decision("join", f"primary component with {names}")


def _bootstrap(own: Position, answered: Sequence[Position], known: Sequence[Position]) -> Decision:
    if not known:
        unknown = [each.name for each in answered if each.has_data]
        if unknown:
            return Decision("wait", f"the data of {', '.join(unknown)} is incomplete; restore it, or set {FORCE}")
        chosen, why = min(answered, key=lambda each: ordinal(each.name)), "no member has data"
    else:
        clusters = {each.uuid for each in known}
        if len(clusters) > 1:
            return Decision("wait", f"the members have data of {len(clusters)} clusters; set {FORCE}")
        chosen = min(known, key=lambda each: (-each.seqno, ordinal(each.name)))
        why = f"most advanced at {chosen.seqno}"
    if chosen.name == own.name:
        return Decision("bootstrap", why)
    return Decision("wait", f"{chosen.name} bootstraps: {why}")


# --- what is on disk ---


def own_position(name: str) -> Position:
    """Reads what is on disk. Raises RuntimeError if there is data that mariadbd cannot open."""
    remove_unfinished_installation()
    position = Position(name, "starting", has_data=(DATA / "mysql").is_dir() or (DATA / "ibdata1").exists())
    if not position.has_data:
        return position
    view = _view()
    # grastate.dat says -1 after a crash, and may be older than the data. What InnoDB has committed counts.
    if (DATA / "sst_in_progress").exists() or _grastate().get("uuid") == NO_UUID:
        return replace(position, view=view)
    uuid, seqno = recovered()
    return replace(position, uuid=uuid, seqno=seqno, view=view)


def _grastate() -> dict[str, str]:
    try:
        lines = (DATA / "grastate.dat").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    pairs = (line.partition(":") for line in lines if not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def recovered() -> tuple[str, int]:
    """Returns the UUID and the sequence number of the last committed transaction."""
    command = ["mariadbd", "--wsrep-recover", "--disable-log-error"]
    result = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    found = re.search(r"WSREP: Recovered position: ?([0-9a-f-]{36}):(-?\d+)", result.stderr)
    if result.returncode or not found:
        raise RuntimeError("mariadbd cannot open the data:\n" + "\n".join(result.stderr.splitlines()[-15:]))
    return found[1], int(found[2])


def allow_bootstrap() -> None:
    """Sets safe_to_bootstrap in grastate.dat, and leaves its other lines as they are."""
    path = DATA / "grastate.dat"
    if not path.exists():
        return
    text = re.sub(r"(?m)^safe_to_bootstrap:.*$", "safe_to_bootstrap: 1", path.read_text(encoding="utf-8"))
    _write(path, text if "safe_to_bootstrap" in text else text.rstrip("\n") + "\nsafe_to_bootstrap: 1\n")


def record_view(arguments: Sequence[str]) -> None:
    """Keeps the members of a primary component, as Galera's wsrep_notify_cmd reports them."""
    said = dict(zip(arguments[::2], arguments[1::2], strict=False))
    if said.get("--primary") == "yes" and said.get("--members"):
        names = [member.split("/")[1] for member in said["--members"].split(",")]
        _write(VIEW, json.dumps(names) + "\n")


def _view() -> tuple[str, ...]:
    try:
        return tuple(json.loads(VIEW.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError):
        return ()


def _write(path: Path, text: str) -> None:
    """Replaces a file in one step, so that a crash leaves the old or the new one."""
    fresh = path.with_suffix(".fresh.log")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def forced_member() -> str | None:
    """Returns the member that is to bootstrap by force, None if nobody or if it has already done so."""
    named = os.environ.get(FORCE)
    if not named:
        FORCED.unlink(missing_ok=True)
        return None
    return None if FORCED.exists() and FORCED.read_text(encoding="utf-8") == named else named


# --- the running server ---


@dataclass(frozen=True)
class Status:
    """What mariadbd says of replication."""

    ready: bool
    primary: bool
    state: str
    """wsrep_local_state: 4 is Synced, 2 Donor, 3 Joined."""
    comment: str
    uuid: str
    committed: int
    view_number: str
    desynced: bool
    """Taken out of flow control by an administrator, for a backup."""

    @property
    def is_synced(self) -> bool:
        return self.ready and self.primary and self.state == SYNCED


_QUERY = "SHOW GLOBAL STATUS LIKE 'wsrep\\_%'; SELECT 'desync', @@GLOBAL.wsrep_desync"


def server_status() -> Status | None:
    """Asks mariadbd as the user of the operating system, without a password; None if it does not answer."""
    command = ["mariadb", "--no-defaults", "--protocol=socket", f"--socket={_option('socket')}", "-rNBe", _QUERY]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)
    except (subprocess.SubprocessError, OSError):
        return None
    said = dict(line.partition("\t")[::2] for line in result.stdout.splitlines())
    return Status(
        ready=said.get("wsrep_ready") == "ON",
        primary=said.get("wsrep_cluster_status") == "Primary",
        state=said.get("wsrep_local_state", ""),
        comment=said.get("wsrep_local_state_comment", ""),
        uuid=said.get("wsrep_cluster_state_uuid", NO_UUID),
        committed=int(said.get("wsrep_last_committed", "-1")),
        view_number=said.get("wsrep_cluster_conf_id", ""),
        desynced=said.get("desync") == "1",
    )


def transfers_state() -> bool:
    """Whether a state transfer or a backup runs in this container."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(
            word.rpartition(b"/")[2].startswith((b"wsrep_sst_", b"mariabackup", b"mariadb-backup"))
            for word in words[:2]
        ):
            return True
    return False


class Progress:
    """When a member that is not synced last made progress."""

    def __init__(self) -> None:
        self._seen: object = None
        self._at = time.monotonic()

    def seconds_without(self, status: Status | None, transfers: bool) -> float:
        """Returns the seconds since the last progress, this look included."""
        seen = status and (status.state, status.view_number, status.committed)
        if seen != self._seen or transfers or (status and (status.is_synced or status.desynced)):
            self._seen, self._at = seen, time.monotonic()
        return time.monotonic() - self._at


class Member:
    """This member: what it answers, and the server that it runs."""

    def __init__(self, name: str, first: Sequence[str], domain: str) -> None:
        self.first, self.domain = first, domain
        self.own = Position(name, "starting")
        self.doing = "reads its data"
        self.has_read = False
        self.server: subprocess.Popen[bytes] | None = None
        self._status: Status | None = None
        self._stuck = 0.0

    def watch(self) -> None:
        """Looks at the server every two seconds, so that the number of requests does not matter."""
        progress = Progress()
        while True:
            if self.server:
                self._status = server_status()
                self._stuck = progress.seconds_without(self._status, transfers_state())
            time.sleep(2)

    def answer(self, path: str) -> tuple[int, str]:
        """Returns the status code and the text for a request."""
        if path == "/position":
            return (200, json.dumps(asdict(self.position()))) if self.has_read else (503, "reads its data")
        if path == "/ready":
            return self._ready()
        if path == "/alive":
            if self.server and self._stuck > PATIENCE:
                return 503, f"no progress for {self._stuck:.0f} s: {self._ready()[1]}"
            return 200, self.doing
        return 404, "no such path"

    def position(self) -> Position:
        """Returns the position now; that of a running server comes from the server."""
        if not self.server:
            return self.own
        status = self._status
        if status is None or not status.primary:
            return replace(self.own, phase="running", view=_view())
        return replace(
            self.own,
            phase="running",
            has_data=True,
            uuid=status.uuid,
            seqno=status.committed,
            view=_view(),
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
        return (200 if status.is_synced else 503), f"{status.comment}, {component} component of {status.uuid}"

    def others(self) -> list[Position]:
        """Asks every member that has a name or an address now."""
        names = {*self.first, *_view()}
        addresses = {f"{name}.{self.domain}" for name in names} | addresses_of(self.domain)
        with ThreadPoolExecutor(max_workers=8) as pool:
            answers = [each for each in pool.map(ask, addresses) if each]
        beyond = {name for each in answers for name in each.view} - names - {each.name for each in answers}
        answers += [each for name in beyond if (each := ask(f"{name}.{self.domain}"))]
        return list({each.name: each for each in answers if each.name != self.own.name}.values())

    def wait_for_turn(self) -> Decision:
        """Returns when this member may start. Says what it waits for, each time that it changes."""
        self.own = own_position(self.own.name)
        self.has_read = True
        say(f"data: {self.own.uuid}:{self.own.seqno}, last primary component: {', '.join(self.own.view) or 'none'}")
        while True:
            decision = decide(self.own, self.others(), self.first, forced_member())
            if decision.reason != self.doing:
                self.doing = decision.reason
                say(f"{decision.action}: {decision.reason}")
            if decision.action != "wait":
                return decision
            time.sleep(2)

    def arguments(self, decision: Decision) -> list[str]:
        """Returns mariadbd's arguments, and prepares the data for a bootstrap."""
        start = [f"--wsrep-start-position={self.own.uuid}:{self.own.seqno}"] if self.own.is_known else []
        if decision.action == "join":
            primary = sorted(each.name for each in self.others() if each.primary)
            return [*start, "--wsrep-cluster-address=gcomm://" + ",".join(f"{each}.{self.domain}" for each in primary)]
        if forced := forced_member():
            _write(FORCED, forced)
        if not self.own.has_data:
            install()
            return ["--wsrep-new-cluster", *([f"--init-file={INITIAL_SQL}"] if INITIAL_SQL.exists() else [])]
        allow_bootstrap()
        return [*start, "--wsrep-new-cluster"]

    def run(self) -> int:
        """Starts mariadbd and returns its exit code."""
        decision = self.wait_for_turn()
        self.server = subprocess.Popen(["mariadbd", *self.arguments(decision)])
        signal.signal(signal.SIGTERM, lambda _number, _frame: self.server and self.server.terminate())
        return self.server.wait()


def install() -> None:
    """Creates the system tables, with one account: the user of the operating system, without a password."""
    UNFINISHED.touch()
    account = ["--auth-root-authentication-method=socket", "--auth-root-socket-user=mysql"]
    subprocess.run(["mariadb-install-db", *account, "--skip-test-db"], check=True, stdout=subprocess.DEVNULL)
    UNFINISHED.unlink()


def remove_unfinished_installation() -> None:
    """Empties the directory if the creation of the system tables did not end."""
    if UNFINISHED.exists():
        for path in DATA.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path, ignore_errors=path.name == "lost+found")
            else:
                path.unlink()


def ask(address: str) -> Position | None:
    """Returns what a member says, None if it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{address}:{PORT}/position", timeout=3) as response:
            said: dict[str, Any] = json.load(response)
        said["view"] = tuple(said["view"])
        return Position(**said)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def addresses_of(domain: str) -> set[str]:
    """Returns the addresses of all pods of the headless Service."""
    try:
        return {str(entry[4][0]) for entry in socket.getaddrinfo(domain, PORT, socket.AF_INET, socket.SOCK_STREAM)}
    except OSError:
        return set()


def _option(name: str) -> str:
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read(CONFIGURATION)
    return parser.get("mysqld", name)


def say(text: str) -> None:
    print(f"galera-start: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """`view …` records a primary component; without arguments a member is started."""
    if arguments[:1] == ["view"]:
        record_view(arguments[1:])
        return 0
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    addresses = _option("wsrep_cluster_address").removeprefix("gcomm://").split(",")
    first, domain = [each.partition(".")[0] for each in addresses], addresses[0].partition(".")[2]
    member = Member(socket.gethostname(), first, domain)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, text = member.answer(self.path)
            self.send_response(code)
            self.end_headers()
            self.wfile.write(text.encode() + b"\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Probes are not worth a line each."""

    server = ThreadingHTTPServer(("", PORT), Handler)
    for target in (server.serve_forever, member.watch):
        threading.Thread(target=target, daemon=True).start()
    try:
        return member.run()
    except RuntimeError as error:
        say(str(error))
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
