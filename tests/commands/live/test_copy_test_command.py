"""`quorate copies --test`: what is fetched, restored and recorded. tests/proof has the real etcd, trials MariaDB."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from cluster.api import Api
from commands import stack
from commands.live import connection, copy_test_command
from commands.stack import ValidStack
from console.errors import UserError
from openstack.scripts.galera_backup import scratch
from openstack.scripts.galera_backup.backup_files import Refused
from operations.live_cluster import LiveCluster
from operations.living.copy_tests import read
from operations.restoration import copy_test
from tests.commands.live.test_backup_copies import World
from tests.commands.live.test_backup_copies import world as world  # noqa: PLC0414 - a fixture
from tests.fakes import script
from tests.openstack.scripts.test_backup_store import texts
from tests.openstack.scripts.test_galera_receive import made
from tests.operations.living.test_copy_tests import ConfigMaps
from tests.operations.maintenance.small_cloud import PLAN

TIME = "2026-11-28T02-17-04Z"
COPY = f"galera/mysqld/{TIME}"


class Scratch:
    """Stands in for the scratch server of MariaDB."""

    def __init__(self) -> None:
        self.fails: Exception | None = None
        self.options: tuple[str, ...] = ()
        self.backups: list[Path] = []

    def restored(self, backup: Path, at: Path, socket: Path, *options: str) -> tuple[int, int]:
        assert at.parent == backup.parent
        assert not socket.is_relative_to(backup.parent), "a path of a socket must be short"
        assert (backup / "data/bank/transfer.ibd").exists()
        self.options = options
        self.backups.append(backup)
        if self.fails:
            raise self.fails
        return 310, 4711


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Scratch:
    found = Scratch()

    def no_program_lacks(_kind: str) -> None: ...

    monkeypatch.setattr(scratch, "restored", found.restored)
    monkeypatch.setattr(copy_test, "require_programs", no_program_lacks)
    return found


@pytest.fixture
def maps(world: World, monkeypatch: pytest.MonkeyPatch) -> ConfigMaps:
    """The cluster's ConfigMaps, of a stack that is live."""
    found = ConfigMaps()
    load = stack.load

    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        return LiveCluster(cast("Api", found), PLAN, "admin", ())

    def live(root: Path, name: str) -> ValidStack:
        return replace(load(root, name), target="live")

    made(world.root / "volume", TIME)
    world.put_files(COPY, world.root / "volume", TIME)
    monkeypatch.setattr(stack, "load", live)
    monkeypatch.setattr(connection, "connect", connect)
    return found


def test_a_copy_is_restored_and_the_cluster_has_the_date(
    world: World, maps: ConfigMaps, server: Scratch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert copy_test_command.run(world.root, "dev", "galera/mysqld") == 0
    said = capsys.readouterr().out
    assert f"{COPY} was decrypted and restored, and has its content: 310 tables, 4711 rows, " in said
    (found,) = read(cast("Api", maps), ["mysqld"])
    assert (found.maker, found.problem) == (COPY, "")
    assert found.newest
    assert server.options[0] == "--skip-grant-tables"
    left = [each for each in (world.root / "build/dev").rglob("*") if "copy" in each.name or each.suffix == ".ibd"]
    assert left == [], "what was decrypted is deleted"


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (Refused("the restored copy lacks nova/instances"), "The copy is not restored: the restored copy lacks nova/"),
        (
            subprocess.CalledProcessError(1, ["mariadb-backup"], "", "no ibdata1"),
            r"mariadb-backup ended with 1:\nno ib",
        ),
    ],
)
def test_a_copy_that_cannot_be_restored_is_an_error_and_the_cluster_knows(
    world: World, maps: ConfigMaps, server: Scratch, failure: Exception, said: str
) -> None:
    server.fails = failure
    with pytest.raises(UserError, match=said):
        copy_test_command.run(world.root, "dev", COPY)
    (found,) = read(cast("Api", maps), ["mysqld"])
    assert found.newest is None
    assert found.problem.startswith(f"the test of {COPY} at ")
    assert not server.backups[0].exists()


def test_a_copy_that_cannot_be_decrypted_is_no_restored_copy(world: World, maps: ConfigMaps, server: Scratch) -> None:
    world.output = json.dumps(texts(world.store.endpoint, "of another root secret"))
    with pytest.raises(UserError, match="was not decrypted"):
        copy_test_command.run(world.root, "dev", COPY)
    assert server.backups == []
    assert read(cast("Api", maps), ["mysqld"])[0].problem


def test_without_a_cluster_the_test_holds_and_says_that_nothing_has_the_date(
    world: World, maps: ConfigMaps, server: Scratch, capsys: pytest.CaptureFixture[str]
) -> None:
    maps.refuses = 403
    assert copy_test_command.run(world.root, "dev", COPY) == 0
    assert "The cluster has no record of this test: 403 Forbidden: no configmaps" in capsys.readouterr().out
    assert server.backups


@pytest.mark.parametrize("wanted", ["mysqld", "ceph/x"])
def test_what_is_no_copy_is_refused(world: World, wanted: str) -> None:
    with pytest.raises(UserError, match=f"--test {wanted}: write etcd, a Galera such as galera/mysqld"):
        copy_test_command.run(world.root, "dev", wanted)


def test_programs_that_lack_are_named(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    for each in ("mariadb", "etcd", "etcdctl"):
        script(tmp_path / "bin", each, "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(UserError, match=r"no mariadbd, mariadb-backup in its PATH.*mariadb-server and mariadb-backup"):
        copy_test_command.run(world.root, "dev", COPY)
    with pytest.raises(UserError, match="no etcdutl in its PATH"):
        copy_test_command.run(world.root, "dev", "etcd")
