"""When a restoration is refused, and what it replaces."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from openstack.scripts.galera import data as member
from openstack.scripts.galera_backup import backup, restore
from openstack.scripts.galera_backup.backup_files import Refused
from tests.openstack.scripts.galera_backup.programs import SETTINGS, older


def no_name(*_arguments: object) -> list[object]:
    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


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


def test_members_are_looked_up_in_the_clusters_domain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Else the resolver asks for the name as it is too, and a site without a name server gives no answer to that."""
    monkeypatch.setattr(restore, "RESOLVER", tmp_path / "resolv.conf")
    restore.RESOLVER.write_text(
        "search cloud.svc.cluster.local svc.cluster.local cluster.local example.org\nnameserver 10.96.0.10\n"
        "options ndots:5\n"
    )
    assert restore.absolute("mysqld-members.cloud.svc") == "mysqld-members.cloud.svc.cluster.local."
    restore.RESOLVER.write_text("nameserver 127.0.0.53\nsearch example.org\n")
    assert restore.absolute("mysqld-members.cloud.svc") == "mysqld-members.cloud.svc"
