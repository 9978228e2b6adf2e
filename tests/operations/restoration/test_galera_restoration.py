"""A Galera is restored: in which order, what stops a run, and how the next one goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.objects import Object
from cluster.pod_exec import CommandOutput
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT, wiring
from operations import operation_lease
from operations.actions import of_plan
from operations.operation_lease import CloudOperation, held
from operations.restoration import galera_source, volume_pod
from operations.restoration.galera_restoration import ATTEMPTS, GaleraRestoration
from tests.openstack.scripts.test_galera_receive import made
from tests.operations.maintenance.small_cloud import PLAN
from tests.operations.restoration.galera_cloud import BACKUP_TIME, GaleraCloud, use_galera

ACTIONS = {each.name: each for each in of_plan(PLAN)}
COPY = f"galera/mysqld/{BACKUP_TIME}"
WAITS = ["mysqld-0 waits for mysqld-2", "mysqld-1 waits for mysqld-2"]
STOPPED_AND_STARTED = ["scale to 0", f"mysqld-restore-by-hand- {BACKUP_TIME}", "scale to 3"]


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> GaleraCloud:
    found = GaleraCloud()
    use_galera(monkeypatch, found)
    return found


def restoration(cloud: GaleraCloud, directory: Path, wanted: str = COPY) -> GaleraRestoration:
    def fetch() -> Path:
        cloud.did.append("fetch")
        return directory / BACKUP_TIME

    return GaleraRestoration(
        cloud.cluster(),
        "dev",
        galera_source.named("mysqld", wanted),
        wiring(PLAN, ENVIRONMENT).members("mysqld"),
        "mysqld-2",
        ACTIONS["mysqld-restore"],
        ACTIONS["mysqld-backup-test"],
        fetch,
    )


def test_a_copy_is_put_into_the_volume_before_the_members_stop(cloud: GaleraCloud, tmp_path: Path) -> None:
    backup = made(tmp_path, BACKUP_TIME)
    said: list[str] = []
    found = restoration(cloud, tmp_path)
    found.run(said.append)
    assert cloud.did == ["fetch", "POST pod", "receive", "DELETE pod", *WAITS, *STOPPED_AND_STARTED]
    assert cloud.received == b"".join(volume_pod.parts(backup))
    assert cloud.leases == {}, "the operation has ended"
    assert [line for line in said if line[:3].strip(" .").isdigit()] == [
        f"{number:>2}. {text}" for number, text in enumerate(found.steps(), start=1)
    ]


def test_the_pod_has_the_volume_and_ends_by_itself(cloud: GaleraCloud, tmp_path: Path) -> None:
    made(tmp_path, BACKUP_TIME)
    restoration(cloud, tmp_path).run(print)
    spec = cloud.receiver["spec"]
    assert spec["activeDeadlineSeconds"] == volume_pod.LIMIT
    assert spec["containers"][0]["command"] == ["sleep", str(volume_pod.LIMIT)]
    assert spec["volumes"][0]["persistentVolumeClaim"]["claimName"] == "mysqld-backup"
    assert cloud.receiver["metadata"]["labels"] == {"app.kubernetes.io/name": "mysqld-backup-test"}


def test_the_newest_backup_of_the_volume_needs_no_pod(cloud: GaleraCloud, tmp_path: Path) -> None:
    restoration(cloud, tmp_path, "").run(print)
    assert cloud.did == [*WAITS, "scale to 0", "mysqld-restore-by-hand-", "scale to 3"]
    assert cloud.job["spec"]["backoffLimit"] == ATTEMPTS, "a name server may still know a member"


def test_members_that_run_wait_for_the_restored_one(cloud: GaleraCloud, tmp_path: Path) -> None:
    """A member that stops first is in no record of the others, which would bootstrap without it."""
    cloud.pods["mysqld-0"]["status"]["containerStatuses"] = []
    said: list[str] = []
    restoration(cloud, tmp_path, "").run(said.append)
    assert cloud.did == [WAITS[1], "scale to 0", "mysqld-restore-by-hand-", "scale to 3"]
    assert "      mysqld-0 is not let wait: its pod is Running" in said


def test_a_member_that_cannot_be_let_wait_stops_none(cloud: GaleraCloud, tmp_path: Path) -> None:
    cloud.written = CommandOutput("", "sh: /var/lib/mysql/awaited-member.log: No space left on device\n", 1)
    with pytest.raises(UserError, match=r"mysqld-0 cannot be let wait for mysqld-2: .*No space left.* Nothing was"):
        restoration(cloud, tmp_path, "").run(print)
    assert cloud.did == [WAITS[0]]


def test_a_copy_that_does_not_arrive_stops_no_member(cloud: GaleraCloud, tmp_path: Path) -> None:
    made(tmp_path, BACKUP_TIME)
    cloud.receives = CommandOutput("", "galera-receive: 3 MiB free\n", 1)
    said: list[str] = []
    with pytest.raises(UserError, match=r"was not put into the volume of backups \(exit code 1\)"):
        restoration(cloud, tmp_path).run(said.append)
    assert cloud.did == ["fetch", "POST pod", "receive", "DELETE pod"]
    assert "      galera-receive: 3 MiB free" in said
    assert cloud.leases == {}
    (tmp_path / BACKUP_TIME / "data/bank/empty").unlink()
    cloud.did.clear()
    with pytest.raises(UserError, match="is not a complete backup"):
        restoration(cloud, tmp_path).run(print)
    assert cloud.did == ["fetch"]


def test_after_a_job_that_failed_the_same_command_goes_on(cloud: GaleraCloud, tmp_path: Path) -> None:
    made(tmp_path, BACKUP_TIME)
    cloud.job_ends = "Failed"
    command = f"quorate restore mysqld --from {COPY} --confirm dev --stack dev"
    with pytest.raises(UserError, match=f"The members stay stopped. .* run `{command}` again"):
        restoration(cloud, tmp_path).run(print)
    assert cloud.did[-1] != "scale to 3"
    assert cloud.leases
    cloud.did.clear()
    cloud.job_ends = "Complete"
    restoration(cloud, tmp_path).run(print)
    assert cloud.did[-3:] == STOPPED_AND_STARTED
    assert cloud.leases == {}


def test_members_that_were_started_are_only_awaited(cloud: GaleraCloud, tmp_path: Path) -> None:
    made(tmp_path, BACKUP_TIME)
    cloud.silent = {"mysqld-1"}
    with pytest.raises(UserError, match=r"(?s)mysqld is not whole after .*mysqld-1: silent.*again: it goes on waiting"):
        restoration(cloud, tmp_path).run(print)
    cloud.silent.clear()
    cloud.did.clear()
    assert restoration(cloud, tmp_path).has_started()
    assert not restoration(cloud, tmp_path, "").has_started(), "another backup is another restoration"
    restoration(cloud, tmp_path).run(print)
    assert cloud.did == ["scale to 3"]
    assert cloud.leases == {}


def test_another_backup_takes_the_place_of_one_that_cannot_be_restored(cloud: GaleraCloud, tmp_path: Path) -> None:
    made(tmp_path, BACKUP_TIME)
    cloud.job_ends = "Failed"
    with pytest.raises(UserError):
        restoration(cloud, tmp_path, "").run(print)
    cloud.job_ends = "Complete"
    restoration(cloud, tmp_path).run(print)
    assert cloud.did[-3:] == STOPPED_AND_STARTED


def test_beside_another_operation_nothing_is_changed(
    cloud: GaleraCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    with (
        held(cloud.cluster().api, CloudOperation("virt1"), "dev", print),
        pytest.raises(UserError, match="Maintenance of virt1 is under way"),
    ):
        restoration(cloud, tmp_path).run(print)
    assert cloud.did == []


def test_a_member_that_does_not_end_is_named(
    cloud: GaleraCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud, "scale", lambda replicas: cloud.did.append(f"scale to {replicas}"))  # type: ignore[misc]
    with pytest.raises(UserError, match="mysqld-0, mysqld-1, mysqld-2 still exist after"):
        restoration(cloud, tmp_path, "").run(print)
    assert cloud.did == [*WAITS, "scale to 0"]


def test_a_pod_that_does_not_run_says_why(cloud: GaleraCloud, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(tmp_path, BACKUP_TIME)
    monkeypatch.setattr(volume_pod, "STARTS", 0)
    waits = {"phase": "Pending", "conditions": [{"status": "False", "message": "0/9 nodes are available"}]}
    receiver_pod = cloud.receiver_pod

    def pending(method: str, body: Object) -> Object:
        return {**receiver_pod(method, body), "status": waits}

    monkeypatch.setattr(cloud, "receiver_pod", pending)
    with pytest.raises(UserError, match="does not run: 0/9 nodes are available"):
        restoration(cloud, tmp_path).run(print)
    assert cloud.did == ["fetch", "POST pod", "DELETE pod"]


def test_a_command_for_a_restoration_names_its_source() -> None:
    operation = CloudOperation("mysqld", operation_lease.RESTORATION)
    assert operation_lease.command(operation, "dev", "--end") == "quorate restore mysqld --confirm dev --stack dev"
    named = replace(operation, source=COPY)
    assert operation_lease.command(named, "dev").startswith(f"quorate restore mysqld --from {COPY} --confirm dev")
