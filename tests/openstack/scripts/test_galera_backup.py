"""What is kept as a backup, when one begins, and when a restoration is refused; the programs are stood in for."""

from __future__ import annotations

import fcntl
import json
import socket
import subprocess
from pathlib import Path

import pytest

from openstack.scripts.galera import data as member
from openstack.scripts.galera_backup import backup, backup_files, restore
from openstack.scripts.galera_backup.backup_files import Refused, Settings

UUID = "11111111-1111-1111-1111-111111111111"
SETTINGS = Settings("mysqld-2.mysqld-members", "mysqld-members", members=3, keep=2)


class Programs:
    """Stands in for MariaDB's programs: a member with this status, and a backup that opens at this position."""

    def __init__(self) -> None:
        self.status = {"wsrep_local_state": "4", "wsrep_cluster_status": "Primary", "wsrep_cluster_size": "3"}
        self.recovered = 7

    def __call__(self, *command: str) -> subprocess.CompletedProcess[str]:
        said, errors = "", ""
        if command[0] == "mariadb":
            said = "".join(f"{name}\t{value}\n" for name, value in self.status.items())
        if target := next((word.partition("=")[2] for word in command if word.startswith("--target-dir=")), ""):
            if "--backup" in command:
                Path(target).mkdir(parents=True)
                (Path(target) / "mariadb_backup_galera_info").write_text(f"{UUID}:7")
                (Path(target) / "ibdata1").write_text("saved")
            if "--copy-back" in command:
                fresh = Path(next(word.partition("=")[2] for word in command if word.startswith("--datadir=")))
                fresh.mkdir()
                (fresh / "ibdata1").write_text((Path(target) / "ibdata1").read_text())
        if command[0] == "mariadbd":
            errors = f"[Note] WSREP: Recovered position: {UUID}:{self.recovered}\n"
        return subprocess.CompletedProcess(command, 0, said, errors)


def no_pause(_seconds: float) -> None:
    """Stands in for time.sleep."""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    found = Programs()
    for directory in ("data", "backups"):
        (tmp_path / directory).mkdir()
    for module in (backup, restore):
        monkeypatch.setattr(module, "run", found)
    for module in (backup, restore, backup_files):
        monkeypatch.setattr(module, "DATA", tmp_path / "data", raising=False)
        monkeypatch.setattr(module, "BACKUPS", tmp_path / "backups", raising=False)
    monkeypatch.setattr(backup, "PATIENCE", 0)
    monkeypatch.setattr(backup.time, "sleep", no_pause)
    return found


def no_name(*_arguments: object) -> list[object]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def there() -> list[str]:
    return [path.name for path in backup_files.complete()]


def older(*names: str) -> None:
    for name in names:
        (backup_files.BACKUPS / name).mkdir()
        (backup_files.BACKUPS / name / "backup.json").write_text("{}")


@pytest.mark.usefixtures("programs")
def test_a_backup_gets_its_name_when_it_is_complete_and_the_oldest_are_removed() -> None:
    older("2026-01-01T00-00-00Z", "2026-01-02T00-00-00Z")
    kept = backup.take(SETTINGS)
    assert there() == ["2026-01-02T00-00-00Z", kept.name]
    assert json.loads((kept / "backup.json").read_text())["position"] == f"{UUID}:7"


def test_a_backup_at_another_position_is_not_kept_and_removes_no_other(programs: Programs) -> None:
    older("2026-01-01T00-00-00Z", "2026-01-02T00-00-00Z", "2026-01-03T00-00-00Z")
    programs.recovered = 6
    with pytest.raises(Refused, match=f"it is at {UUID}:6, the member was at {UUID}:7"):
        backup.take(SETTINGS)
    assert len(there()) == 3


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("wsrep_local_state", "2", "expected Synced"),
        ("wsrep_cluster_status", "non-Primary", "expected Synced and Primary"),
        ("wsrep_cluster_size", "2", "2 of 3 members are there"),
    ],
)
def test_only_a_synced_member_of_a_whole_cluster_is_saved(programs: Programs, name: str, value: str, said: str) -> None:
    programs.status[name] = value
    with pytest.raises(Refused, match=said):
        backup.take(SETTINGS)
    assert there() == []


@pytest.mark.usefixtures("programs")
def test_a_restoration_replaces_the_data_and_marks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = backup.take(SETTINGS)
    old = restore.DATA / "old"
    old.mkdir()
    (restore.DATA / "grastate.dat").write_text("seqno: 99")
    monkeypatch.setattr(socket, "getaddrinfo", no_name)
    restore.restore(SETTINGS)
    assert sorted(path.name for path in restore.DATA.iterdir()) == ["ibdata1", "restored.log"]
    assert kept.exists()
    assert (restore.RESTORED, restore.REPLACING) == (member.RESTORED, member.UNFINISHED)


@pytest.mark.usefixtures("programs")
def test_a_cluster_that_may_be_alive_is_not_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    backup.take(SETTINGS)
    (restore.DATA / "ibdata1").write_text("alive")

    def answer(*_arguments: object) -> list[object]:
        return [(0, 0, 0, "", ("10.0.0.1", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(Refused, match=r"is alive: mysqld-members has 10\.0\.0\.1"):
        restore.restore(SETTINGS)

    def no_answer(*_arguments: object) -> list[object]:
        raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", no_answer)
    with pytest.raises(Refused, match="cannot tell whether members exist"):
        restore.restore(SETTINGS)
    monkeypatch.setattr(socket, "getaddrinfo", no_name)
    holds = "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX); print(); sys.stdin.read()"
    with subprocess.Popen(
        ["python3", "-c", holds, str(restore.DATA / "ibdata1")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdout
        server.stdout.readline()
        with pytest.raises(Refused, match=r"a server has .*ibdata1 open"):
            restore.restore(SETTINGS)
        server.communicate()
    assert (restore.DATA / "ibdata1").read_text() == "alive"


@pytest.mark.usefixtures("programs")
def test_an_unknown_backup_is_refused_with_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Refused, match="contains no complete backup"):
        restore.chosen()
    older("2026-01-01T00-00-00Z", "2026-01-02T00-00-00Z")
    assert restore.chosen().name == "2026-01-02T00-00-00Z"
    monkeypatch.setenv(restore.CHOICE, "2026-01-01T00-00-00Z")
    assert restore.chosen().name == "2026-01-01T00-00-00Z"
    monkeypatch.setenv(restore.CHOICE, "yesterday")
    with pytest.raises(Refused, match="there is no backup yesterday; there are 2026-01-01T00-00-00Z, 2026"):
        restore.chosen()


@pytest.mark.usefixtures("programs")
def test_two_do_not_run_at_once() -> None:
    with (backup_files.BACKUPS / "lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(Refused, match="another backup or restoration runs"), backup_files.alone():
            pytest.fail("it began")
