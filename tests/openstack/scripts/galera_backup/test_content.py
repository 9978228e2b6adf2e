"""What a test of a backup compares. Trials do it with a real server (tests/trials/services/test_galera.py)."""

from __future__ import annotations

import subprocess

import pytest

from openstack.scripts.galera_backup import backup, content, scratch
from openstack.scripts.galera_backup.backup_files import Refused
from tests.openstack.scripts.galera_backup.programs import SETTINGS, older

TABLES = {"keystone/user": 8, "nova/instances": 54}


@pytest.mark.usefixtures("programs")
def test_a_file_with_other_content_or_none_is_named() -> None:
    kept = backup.take(SETTINGS)
    content.require_digests(kept)
    subprocess.run(["sha256sum", "--check", "--quiet", content.DIGESTS], cwd=kept, check=True)
    (kept / "data" / "ibdata1").write_text("savee")
    with pytest.raises(Refused, match=r"is damaged: other content than when it was made in data/ibdata1$"):
        content.require_digests(kept)
    (kept / "data" / "mariadb_backup_galera_info").unlink()
    with pytest.raises(Refused, match=r"in data/ibdata1, data/mariadb_backup_galera_info$"):
        content.require_digests(kept)


def test_a_table_that_is_lost_or_has_other_columns_is_named() -> None:
    content.require_tables(TABLES, TABLES | {"made/meanwhile": 3})
    with pytest.raises(Refused, match="lacks nova/instances, of 2 tables that the member had"):
        content.require_tables(TABLES, {"keystone/user": 8})
    with pytest.raises(Refused, match="has other columns in keystone/user, of 2"):
        content.require_tables(TABLES, TABLES | {"keystone/user": 9})
    with pytest.raises(Refused, match="t/7, t/8 and 1 more, of 11"):
        content.require_tables({f"t/{number}": 1 for number in range(11)}, {})


def test_a_table_that_changes_during_the_backup_is_not_compared() -> None:
    after = {"keystone/user": 9, "nova/instances": 54, "heat/stack": 3}
    assert content.common(TABLES, after) == {"nova/instances": 54}


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("nova.a\tcheck\tstatus\tOK", ""),
        ("nova.a\tcheck\tnote\tThe storage engine for the table doesn't support check", ""),
        ("nova.a\tcheck\tWarning\tIndex is marked as corrupted\nnova.a\tcheck\terror\tCorrupt", "marked as corrupted"),
        ("nova.a\tcheck\tError\tTable is not there\nnova.a\tcheck\tstatus\tOperation failed", "is not there"),
    ],
)
def test_the_server_finds_fault_with_a_table(monkeypatch: pytest.MonkeyPatch, answer: str, fault: str) -> None:
    def run(*command: str) -> subprocess.CompletedProcess[str]:
        said = answer if "CHECK TABLE" in command[-1] else "3" if "COUNT" in command[-1] else "`nova`.`a`\n`nova`.`b`"
        return subprocess.CompletedProcess(command, 0, said, "")

    monkeypatch.setattr(content, "run", run)
    if fault:
        with pytest.raises(Refused, match=fault):
            content.read_all("mariadb")
    else:
        assert content.read_all("mariadb") == (2, 6)


@pytest.mark.usefixtures("programs")
def test_a_backup_of_an_earlier_version_is_not_compared() -> None:
    older("2026-01-01T00-00-00Z")
    with pytest.raises(Refused, match="2026-01-01T00-00-00Z has no record of its content"):
        scratch.compare(SETTINGS)


@pytest.mark.usefixtures("programs")
def test_a_server_that_does_not_start_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = backup.take(SETTINGS)
    real = subprocess.Popen

    def popen(command: list[str], **_options: object) -> subprocess.Popen[bytes]:
        log = next(word.partition("=")[2] for word in command if word.startswith("--log-error="))
        return real(["sh", "-c", f"echo 'InnoDB: page is damaged' >{log}; exit 1"])

    def silent(*_command: object, **_options: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.CompletedProcess([], 1)

    monkeypatch.setattr(scratch.subprocess, "Popen", popen)
    monkeypatch.setattr(scratch.subprocess, "run", silent)
    with pytest.raises(Refused, match="does not start on the scratch copy:\nInnoDB: page is damaged"):
        scratch.compare(SETTINGS)
    assert not (kept / scratch.TESTED).exists()
    assert not (kept.parent / "scratch").exists()
