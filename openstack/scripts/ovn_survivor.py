"""Tells what a member of an OVN database has, and lets it go on alone after the others were lost for good.

`python3 -c TEXT look` and `python3 -c TEXT go-on` run in the member's container (operations/restoration). `look` prints
one JSON object. `go-on` makes the only member of a new cluster of it, with all that is in its log: ovsdb-tool makes a
standalone database of the log, and a cluster of that. Two things are done beside ovsdb-tool:

- It would also take entries which a later leader has replaced by others: these are left out before.
- The new log begins far after the old one. Clients take a server whose log is shorter than what they have seen for one
  with stale data, and would refuse the new cluster until each of them is started again.

The new database notes the id of the former cluster: a member with data of that one puts them aside (ovn_member/).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

SETTINGS, DATA = Path("/etc/ovn/member.json"), Path("/var/lib/ovn/database.db")
SERVED, WORK = DATA.with_name("served"), DATA.with_name("going-on")
CONTROL = "/tmp/ovsdb-server.ctl"  # noqa: S108 - /tmp is the container's own
GLOBAL = {"OVN_Northbound": "NB_Global", "OVN_Southbound": "SB_Global"}
"""The table with one row, by database."""
REPLACED = "quorate-replaced-"
"""Begins the key in `external_ids` of that row, before the id of a cluster that this one replaces."""
STEP = 10**9
"""Entries by which the new log begins later. Project figure: no log is as long."""
COMPLETE = ("cluster member", "disconnected from the cluster (election timeout)")
"""What a member of a cluster says of its state, with a majority or without."""
_MAGIC = b"OVSDB CLUSTER"
_SERVER = re.compile(r"^ +(?P<id>[0-9a-f]{4}) \((?P=id) at tcp:(?P<name>[^.:]+)", re.MULTILINE)


def look() -> dict[str, Any]:
    """Returns what the member says of its cluster, with the last entry of its log, and when it last took part.

    `date` and `served`: seconds since 1970; None if that is not recorded. Raises OSError if ovsdb-server does not
    answer.
    """
    said = status()
    has_data = field(said, "Status") in COMPLETE
    return {
        "state": field(said, "Status") if said else "it has no data, and waits for a cluster to join",
        "leader": field(said, "Leader"),
        "cluster": _cluster(said),
        "server": field(said, "Server ID").partition(" ")[0],
        "members": sorted(servers(said).values()),
        **(_last_entry() if has_data else {"index": 0, "term": 0, "date": None}),
        "served": SERVED.stat().st_mtime if SERVED.exists() else None,
    }


def _last_entry() -> dict[str, Any]:
    """Returns number and term of the last entry in the log, and when data were last written."""
    snapshot, *log = records(DATA)
    last: dict[str, Any] = {"index": number(snapshot, "prev_index"), "term": number(snapshot, "prev_term")}
    dates = re.findall(rb'"_date":(\d+)', snapshot)
    for entry in entries(log):
        last = json.loads(entry)
        dates += re.findall(rb'"_date":(\d+)', entry)
    return {"index": last["index"], "term": last["term"], "date": int(dates[-1]) / 1000 if dates else None}


def status() -> str:
    """Returns `cluster/status`; "" without a database. Raises OSError if ovsdb-server does not answer."""
    done = _appctl("cluster/status", _database())
    if done.returncode and not done.stderr.startswith("unknown cluster"):
        raise OSError(done.stderr.strip()[-200:])
    return done.stdout


def field(said: str, name: str) -> str:
    """Returns a value of `cluster/status`; "" if it is not there."""
    found = re.search(rf"^{name}: (.+)$", said, re.MULTILINE)
    return found[1].strip() if found else ""


def servers(said: str) -> dict[str, str]:
    """Returns the list of members in `cluster/status`: names by identity."""
    return {found["id"]: found["name"] for found in _SERVER.finditer(said)}


def _cluster(said: str) -> str:
    return field(said, "Cluster ID").partition("(")[2].rstrip(")")


def _heard(said: str) -> list[str]:
    """Returns the names of other members that the server has a connection with."""
    connected = re.findall(r"(?:^| )(?:->|<-)([0-9a-f]{4})(?= |$)", field(said, "Connections"))
    known = servers(said)
    return sorted({known[each] for each in connected if each in known})


def go_on() -> str:
    """Makes the member the only one of a new cluster. Returns why this was refused; "" if it is done."""
    said = status()
    if field(said, "Status") not in COMPLETE:
        return "it has no complete data"
    if field(said, "Leader") not in ("", "unknown"):
        others = len(servers(said)) - 1
        return f"it has a leader, in a cluster with {others} others" if others else ""
    if heard := _heard(said):
        return f"it hears {', '.join(heard)}: it is not alone"
    former = _cluster(said)
    if _tool("db-cid", DATA).strip() == former:  # otherwise a run ended before ovsdb-server had the new file
        _make(former)
    done = _appctl("ovsdb-server/remove-db", _database())  # ovn_member adds the new file
    return done.stderr.strip() if done.returncode else ""


def _make(former: str) -> None:
    """Puts the file of the new cluster in place of the former one, which stays aside."""
    address = _tool("db-local-address", DATA).strip()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir()
    log, standalone, new = (WORK / each for each in ("log", "standalone", "new"))
    snapshot, *written = records(DATA)
    kept = entries(written)
    _write(log, [snapshot, *kept])
    last = json.loads(kept[-1])["index"] if kept else number(snapshot, "prev_index")
    _tool("cluster-to-standalone", standalone, log)
    _note(standalone, former)
    _tool("create-cluster", new, standalone, address)
    _write(new, [later(next(records(new)), last + STEP)])
    aside = DATA.with_suffix(".former")
    aside.unlink(missing_ok=True)
    aside.hardlink_to(DATA)
    new.replace(DATA)
    _sync(DATA.parent)
    shutil.rmtree(WORK)


def _note(standalone: Path, former: str) -> None:
    """Notes the id of the former cluster in the database. Raises OSError if there is no row for it."""
    pair = [REPLACED + former, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())]
    insert = [["external_ids", "insert", ["map", [pair]]]]
    mutate = {"op": "mutate", "table": GLOBAL[_database()], "where": [], "mutations": insert}
    said = _tool("transact", standalone, json.dumps([_database(), mutate]))
    if json.loads(said) != [{"count": 1}]:
        raise OSError(f"its database has no row in {GLOBAL[_database()]}: {said.strip()[-200:]}")


def records(path: Path) -> Iterator[bytes]:
    """Yields the records of a file of a cluster: the snapshot, then the log.

    The last record is left out if it was not completely written. Raises OSError for another damage.
    """
    with path.open("rb") as file:
        while (line := file.readline()).endswith(b"\n"):
            words = line.split()
            if words[:2] != _MAGIC.split() or len(words) != 4:
                raise OSError(f"{path} is damaged before byte {file.tell()}")
            record = file.read(int(words[2]))
            if len(record) < int(words[2]):
                return
            if hashlib.sha1(record, usedforsecurity=False).hexdigest() != words[3].decode():
                raise OSError(f"{path} is damaged before byte {file.tell()}")
            yield record


def entries(log: Iterable[bytes]) -> list[bytes]:
    """Returns the entries of a log without its snapshot. An entry replaces all with its number or a higher one."""
    found: dict[int, bytes] = {}
    for record in log:
        index = json.loads(record).get("index")
        if index is None:  # a vote, a term or a note
            continue
        while found and next(reversed(found)) >= index:
            found.popitem()
        found[index] = record
    return list(found.values())


def number(snapshot: bytes, name: str) -> int:
    """Returns a number of a snapshot, which may be too large to be read as JSON. In texts, a quotation mark is escaped.

    Raises OSError if it is not there once.
    """
    found = re.findall(rb'"%s":(\d+)' % name.encode(), snapshot)
    if len(found) != 1:
        raise OSError(f"its snapshot has {name} {len(found)} times")
    return int(found[0])


def later(snapshot: bytes, index: int) -> bytes:
    """Returns a snapshot whose last entry is `index`."""
    key = b'"prev_index":'
    return snapshot.replace(key + b"%d" % number(snapshot, "prev_index"), key + b"%d" % index)


def _write(path: Path, log: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for record in log:
            digest = hashlib.sha1(record, usedforsecurity=False).hexdigest().encode()
            file.write(b"%s %d %s\n%s" % (_MAGIC, len(record), digest, record))
        file.flush()
        os.fsync(file.fileno())


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _database() -> str:
    return json.loads(SETTINGS.read_text(encoding="utf-8"))["database"]


def _appctl(*words: str) -> subprocess.CompletedProcess[str]:
    command = ["ovs-appctl", "--timeout=20", "--target", CONTROL, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _tool(*words: str | Path) -> str:
    """Returns what ovsdb-tool writes. Raises OSError if it fails."""
    done = subprocess.run(["ovsdb-tool", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ovsdb-tool {words[0]}: {done.stderr.strip()[-200:]}")
    return done.stdout


def main(command: str) -> int:
    """Runs a command. Returns 0, or 1 with the reason on standard error."""
    try:
        if command == "look":
            print(json.dumps(look()))
            return 0
        problem = go_on()
    except (OSError, ValueError, KeyError) as error:
        problem = f"what it has was not read or changed: {error}"
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
