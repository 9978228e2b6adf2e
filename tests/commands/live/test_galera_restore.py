"""`quorate restore mysqld`: from the object store into the volume of backups, by the programs that do it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from cluster.kubeconfig import Access
from cluster.pod_exec import CommandOutput, PodContainer
from commands import stack
from commands.live import connection, galera_restore
from commands.live.restore_request import RestoreRequest
from commands.stack import ValidStack
from console.errors import UserError
from openstack.scripts.galera_backup import content
from operations import operation_lease
from operations.live_cluster import LiveCluster
from operations.operation_lease import RESTORATION, CloudOperation, held
from operations.restoration import volume_pod
from tests.commands.live.test_backup_copies import World
from tests.commands.live.test_backup_copies import world as world  # noqa: PLC0414 - a fixture
from tests.openstack.scripts.test_backup_store import texts
from tests.openstack.scripts.test_galera_receive import Volume, made
from tests.operations.restoration.galera_cloud import BACKUP_TIME, GaleraCloud, use_galera

COPY = f"galera/mysqld/{BACKUP_TIME}"


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> GaleraCloud:
    found = GaleraCloud()
    use_galera(monkeypatch, found)
    monkeypatch.setattr(galera_restore, "read_quorum", found.read_quorum)

    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        return found.cluster()

    monkeypatch.setattr(connection, "connect", connect)
    return found


def restore(world: World, wanted: str = "", *, plan: bool = False, confirm: str = "") -> int:
    found = replace(stack.load(world.root, "dev"), target="live")
    return galera_restore.run(world.root, found, RestoreRequest("mysqld", wanted, (), plan, confirm))


def put(world: World, time: str = BACKUP_TIME) -> None:
    """Puts a backup into the store, as the Job in the cluster does."""
    made(world.root / "volume", time)
    world.put_files(f"galera/mysqld/{time}", world.root / "volume", time)


def test_the_plan_names_the_newest_copy_and_its_age(
    world: World, cloud: GaleraCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    put(world, "2026-11-27T02-17-04Z")
    put(world)
    assert restore(world, "galera/mysqld", plan=True) == 0
    said = capsys.readouterr().out
    assert "mysqld: 3 of 3 members take part\n    mysqld-0: Synced\n" in said
    assert f"From the copy {COPY} in the object store, begun 2026-11-28 02:17 UTC, " in said
    assert " ago.\nLost: all that was written to mysqld after that." in said
    assert f"  1. fetch {COPY} here, decrypt it" in said
    assert "  5. start the members" in said
    assert cloud.did == []
    with pytest.raises(UserError, match=r"Nothing was changed\. To do this, add --confirm dev\."):
        restore(world, "galera/mysqld")
    assert cloud.did == []
    assert not (world.root / "build/dev/copies").exists()


def test_the_plan_names_the_age_of_the_newest_backup(
    world: World, cloud: GaleraCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    assert restore(world, plan=True) == 0
    said = capsys.readouterr().out
    assert "From the newest backup in the volume of backups, complete at 2026-11-28 02:31 UTC, " in said
    assert "  1. stop the 3 members of mysqld" in said
    assert restore(world, BACKUP_TIME, plan=True) == 0
    assert f"From the backup {BACKUP_TIME}, begun 2026-11-28 02:17 UTC, " in capsys.readouterr().out
    assert world.opened == [], "neither needs the state"
    assert cloud.did == []


def test_a_copy_comes_from_the_store_into_the_volume(
    world: World, cloud: GaleraCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(world)
    volume = Volume(tmp_path / "backups", world.root / "build/dev/copies" / COPY)
    volume.backups.mkdir()

    def receive(
        _access: Access, _place: PodContainer, command: Sequence[str], _seconds: float, given: Iterable[bytes]
    ) -> CommandOutput:
        code, said = volume.receive(b"".join(given), int(command[-1]))
        return CommandOutput("", said, code)

    monkeypatch.setattr(volume_pod, "run_in_pod", receive)
    assert restore(world, "galera/mysqld", confirm="dev") == 0
    content.require_digests(volume.backups / BACKUP_TIME)
    waits = [f"{member} waits for mysqld-2" for member in ("mysqld-0", "mysqld-1")]
    again = ["POST pod", "DELETE pod", *waits, "scale to 0", f"mysqld-restore-by-hand- {BACKUP_TIME}", "scale to 3"]
    assert cloud.did == again
    assert volume.copy.parent.stat().st_mode & 0o777 == 0o700

    cloud.did.clear()
    world.output = None
    assert restore(world, COPY, confirm="dev") == 0, "what was fetched needs no store"
    assert cloud.did == again

    shutil.rmtree(volume.copy / "data")
    world.output = json.dumps(texts(world.store.endpoint))
    assert restore(world, COPY, confirm="dev") == 0, "what is damaged is fetched again"
    content.require_digests(volume.copy)


def test_a_copy_of_another_stack_is_refused(world: World, cloud: GaleraCloud) -> None:
    put(world)
    world.output = json.dumps(texts(world.store.endpoint, "of another root secret"))
    with pytest.raises(UserError, match=f"{COPY}/0000 was not decrypted: it is of another stack"):
        restore(world, "galera/mysqld", confirm="dev")
    assert cloud.did == []


def test_a_restoration_that_was_begun_goes_on_with_its_copy(
    world: World, cloud: GaleraCloud, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = CloudOperation("mysqld", RESTORATION, step="start", source=COPY)
    with held(cloud.cluster().api, begun, "dev", print):
        pass
    assert restore(world, plan=True) == 0
    assert "This restoration has started the members again" in capsys.readouterr().out
    assert restore(world, confirm="dev") == 0
    assert cloud.did == ["scale to 3"]


def test_another_operation_is_named_and_of_a_plan_the_code_3(
    world: World, cloud: GaleraCloud, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    with held(cloud.cluster().api, CloudOperation("virt1"), "dev", print):
        assert restore(world, plan=True) == 3
        assert "Maintenance of virt1 is under way" in capsys.readouterr().out
        with pytest.raises(UserError, match="Maintenance of virt1 is under way"):
            restore(world, confirm="dev")
    assert cloud.did == []


def test_what_tar_cannot_read_is_no_whole_archive(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="could not be read: tar ended with 2"):
        list(volume_pod.parts(tmp_path / "none"))
