"""Receiving a backup of Galera in a pod: the real program, with what volume_pod sends, in directories of the test."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from openstack import scripts
from openstack.scripts import galera_copies, galera_receive
from openstack.scripts.galera_backup import backup_files, content
from operations.restoration import volume_pod

NAME = "2026-11-28T02-17-04Z"


def made(directory: Path, name: str = NAME) -> Path:
    """A backup as openstack/scripts/galera_backup makes them."""
    backup = directory / name
    (backup / "data/bank").mkdir(parents=True)
    (backup / "data/bank/transfer.ibd").write_bytes(bytes(range(256)) * 2000)
    (backup / "data/bank/empty").touch()
    (backup / "backup.json").write_text('{"bytes": 512000}')
    content.write_digests(backup)
    return backup


@dataclass(frozen=True)
class Volume:
    """The volume of backups in a pod, and the deployment machine's directory with a fetched copy."""

    backups: Path
    copy: Path

    def receive(self, given: bytes | None = None, size: int = 512000) -> tuple[int, str]:
        """Runs the program; returns its exit code and what it said."""
        program = scripts.text("galera_receive.py").replace("/var/lib/mysql-backup", str(self.backups))
        words = [sys.executable, "-I", "-c", program, NAME, str(size)]
        given = b"".join(volume_pod.parts(self.copy)) if given is None else given
        done = subprocess.run(words, input=given, capture_output=True, check=False)
        return done.returncode, done.stderr.decode()

    @property
    def there(self) -> list[str]:
        return sorted(each.name for each in self.backups.iterdir() if each.name != "lock")


@pytest.fixture
def volume(tmp_path: Path) -> Volume:
    (tmp_path / "backups").mkdir()
    return Volume(tmp_path / "backups", made(tmp_path / "copies"))


def test_a_backup_arrives_as_it_was(volume: Volume, monkeypatch: pytest.MonkeyPatch) -> None:
    code, said = volume.receive()
    assert (code, said) == (0, f"galera-receive: {NAME} was received, and its files have their digests\n")
    kept = volume.backups / NAME
    content.require_digests(kept)
    assert (kept / "data/bank/empty").exists()
    monkeypatch.setattr(backup_files, "BACKUPS", volume.backups)
    assert [each.name for each in backup_files.complete()] == [NAME], "as the restoration finds it"
    monkeypatch.setattr(galera_copies, "BACKUPS", volume.backups)
    assert not galera_copies.missing(), "it is in the object store"


def test_one_that_is_there_is_compared_and_not_sent_again(volume: Volume) -> None:
    made(volume.backups)
    assert volume.receive(b"") == (0, f"galera-receive: {NAME} is there already, and its files have their digests\n")
    (volume.backups / NAME / "data/bank/transfer.ibd").write_text("damaged")
    assert volume.receive(b"")[0] == 1
    assert volume.there == [NAME], "what is there stays until another one is whole"
    assert volume.receive()[0] == 0
    content.require_digests(volume.backups / NAME)


@pytest.mark.parametrize(
    ("cut", "said"),
    [(4, "the connection ended before the archive did"), (40_000, "the connection ended before the archive did")],
)
def test_what_is_broken_off_leaves_nothing(volume: Volume, cut: int, said: str) -> None:
    whole = b"".join(volume_pod.parts(volume.copy))
    code, answer = volume.receive(whole[:-cut])
    assert (code, said in answer, volume.there) == (1, True, [])


def test_a_file_that_changed_on_its_way_is_named(volume: Volume) -> None:
    (volume.copy / "data/bank/transfer.ibd").write_bytes(b"x" + bytes(range(1, 256)) * 2000)
    code, said = volume.receive()
    assert code == 1
    assert f"{NAME} did not arrive as it was: data/bank/transfer.ibd: FAILED" in said
    assert volume.there == []


def test_without_space_nothing_is_read(volume: Volume) -> None:
    code, said = volume.receive(b"", size=2**60)
    assert code == 1
    assert f"MiB free; {2**40} MiB are needed" in said


def test_it_waits_for_no_backup_that_runs(volume: Volume) -> None:
    with (volume.backups / "lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        assert volume.receive() == (1, "galera-receive: another backup or restoration runs\n")


def test_names_are_those_of_the_other_programs() -> None:
    assert (galera_receive.BACKUPS, galera_receive.DIGESTS) == (backup_files.BACKUPS, content.DIGESTS)
    assert galera_receive.COPIED == galera_copies.COPIED
