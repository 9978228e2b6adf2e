"""What a server of Galera answers, and what counts as its progress."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from openstack.scripts.galera import server
from openstack.scripts.galera.decision import NO_UUID
from openstack.scripts.galera.server import Progress, Status, server_status, set_desync, transfers_state, written
from tests.fakes import script
from tests.openstack.scripts.galera.positions import SYNCED, UUID

ANSWER = f"""\
wsrep_ready\tON
wsrep_cluster_status\tPrimary
wsrep_local_state\t4
wsrep_local_state_comment\tSynced
wsrep_cluster_state_uuid\t{UUID}
wsrep_last_committed\t7
wsrep_cluster_conf_id\t3
wsrep_incoming_addresses\t
desync\t0
"""


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A client of MariaDB that writes its arguments to `asked`, prints `answer`, and fails without that file."""
    (tmp_path / "my.cnf").write_text("[mysqld]\nskip-name-resolve\nsocket = /run/%s.sock\n", encoding="utf-8")
    script(tmp_path, "mariadb", f'echo "$*" >>{tmp_path}/asked\ncat {tmp_path}/answer\n')
    monkeypatch.setattr(server, "CONFIGURATION", tmp_path / "my.cnf")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("", "", SYNCED),
        ("ready\tON", "ready\tOFF", replace(SYNCED, ready=False)),
        ("Primary", "non-Primary", replace(SYNCED, primary=False)),
        ("desync\t0", "desync\t1", replace(SYNCED, desynced=True)),
        (ANSWER, "desync\t0", Status(False, False, "", "", NO_UUID, -1, "", False)),
    ],
)
def test_the_status_is_that_of_mariadbd(client: Path, old: str, new: str, status: Status) -> None:
    (client / "answer").write_text(ANSWER.replace(old, new), encoding="utf-8")
    assert server_status() == status
    asked = (client / "asked").read_text(encoding="utf-8")
    assert asked.startswith("--no-defaults --protocol=socket --socket=/run/%s.sock -rNBe SHOW GLOBAL STATUS LIKE ")


def test_a_mariadbd_that_does_not_answer_has_no_status(client: Path) -> None:
    assert server_status() is None
    assert not set_desync(on=True)
    (client / "mariadb").unlink()
    assert server_status() is None


def test_desync_is_set_and_taken_back(client: Path) -> None:
    (client / "answer").touch()
    assert set_desync(on=True)
    assert set_desync(on=False)
    asked = (client / "asked").read_text(encoding="utf-8").splitlines()
    assert [line.rpartition("SET ")[2] for line in asked] == ["GLOBAL wsrep_desync = ON", "GLOBAL wsrep_desync = OFF"]


@pytest.mark.parametrize(
    ("name", "transfers"), [("wsrep_sst_mariabackup", True), ("mariadb-backup", True), ("mariadbd", False)]
)
def test_a_transfer_is_a_process_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, transfers: bool
) -> None:
    """The first two words count, because the scripts of a transfer are run by a shell. Others may be its arguments."""
    for number, words in (("1", "sh\0-c\0wsrep_sst_rsync\0"), ("7", f"/bin/sh\0/usr/bin/{name}\0--role\0")):
        (tmp_path / number).mkdir()
        (tmp_path / number / "cmdline").write_text(words, encoding="utf-8")
    (tmp_path / "8" / "cmdline").mkdir(parents=True)  # cannot be read, as that of a process that has ended
    monkeypatch.setattr(server, "Path", lambda _path: tmp_path)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert transfers_state() is transfers


def test_what_a_process_has_written_is_counted_in_mebibytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    io = tmp_path / "io"
    io.write_text("read_bytes: 9999999\nwrite_bytes: 3145729\ncancelled_write_bytes: 0\n", encoding="ascii")
    asked: list[str] = []

    def path(text: str) -> Path:
        asked.append(text)
        return io

    monkeypatch.setattr(server, "Path", path)
    assert written(12) == 3
    assert asked == ["/proc/12/io"]
    io.unlink()
    assert written(12) == 0


def test_progress_is_a_change_a_transfer_or_being_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(server.time, "monotonic", lambda: now[0])
    progress = Progress()
    joined = replace(SYNCED, state="3")

    def after(seconds: float, status: Status | None, *, transfers: bool = False, wrote: int = 7) -> float:
        now[0] += seconds
        return progress.seconds_without(status, transfers=transfers, wrote=wrote)

    assert after(10, joined) == 0
    assert after(10, joined) == 10
    assert after(10, replace(joined, committed=8)) == 0
    assert after(500, replace(joined, committed=8), transfers=True) == 0
    assert after(500, SYNCED) == 0
    assert after(500, SYNCED) == 0
    assert after(10, replace(SYNCED, desynced=True, state="2")) == 0
    assert after(10, None) == 0
    assert after(10, None) == 10
    assert after(10, None, wrote=8) == 0
