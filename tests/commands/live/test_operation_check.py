"""When `up` waits for an operation that changes the cloud."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cluster.api import ApiError
from commands import stack
from commands.live import connection, operation_check
from commands.stack import ValidStack
from console.errors import UserError
from operations import operation_lease
from operations.live_cluster import LiveCluster
from operations.operation_lease import REPLACEMENT, RESTORATION, CloudOperation, held
from tests.operations.maintenance.small_cloud import SmallCloud
from tests.stacks import ROOT


@pytest.fixture
def found() -> ValidStack:
    return replace(stack.load(ROOT, "dev"), target="live")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> LiveCluster:
    monkeypatch.setattr(operation_lease, "whoami", lambda: "ada@desk")
    return SmallCloud().cluster()


def test_without_an_operation_up_goes_on(found: ValidStack, cluster: LiveCluster) -> None:
    operation_check.require_none(ROOT, found, cluster)


def test_a_maintenance_must_end_first(found: ValidStack, cluster: LiveCluster) -> None:
    """Also while no process works on it: its server is out."""
    with held(cluster.api, CloudOperation("virt1"), "dev", print):
        pass
    with pytest.raises(UserError) as error:
        operation_check.require_none(ROOT, found, cluster)
    first, second = str(error.value).splitlines()
    assert first.startswith("Maintenance of virt1 is under way: ada@desk began it at 20")
    assert first.endswith("`up` may restart another member of a quorum meanwhile. Nothing was changed.")
    assert second == "End it with `quorate maintenance virt1 --end --stack dev`, then run `up` again."


def test_a_restoration_must_be_done_first(found: ValidStack, cluster: LiveCluster) -> None:
    """Its members may be stopped, and the data of one half replaced."""
    with held(cluster.api, CloudOperation("mysqld", RESTORATION, source="galera/mysqld/x"), "dev", print):
        pass
    end = r"End it with `quorate restore mysqld --from galera/mysqld/x --confirm dev --stack dev`, then"
    with pytest.raises(UserError, match=rf"(?s)Restoration of mysqld is under way: .*{end}"):
        operation_check.require_none(ROOT, found, cluster)


def test_a_replacement_needs_up_when_its_process_has_ended(found: ValidStack, cluster: LiveCluster) -> None:
    with (
        held(cluster.api, CloudOperation("virt1", kind=REPLACEMENT), "dev", print),
        pytest.raises(UserError, match=r"A process of ada@desk works on it. Nothing was changed. Wait until it has"),
    ):
        operation_check.require_none(ROOT, found, cluster)
    operation_check.require_none(ROOT, found, cluster)


def test_a_rendered_stack_has_no_operations(cluster: LiveCluster) -> None:
    with held(cluster.api, CloudOperation("virt1"), "dev", print):
        operation_check.require_none(ROOT, stack.load(ROOT, "dev"), cluster)


def test_a_lease_that_may_not_be_read_is_said(
    found: ValidStack, cluster: LiveCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_words: object) -> None:
        raise ApiError(403, "Forbidden", "you may not")

    monkeypatch.setattr(cluster.api, "ask", refuse)
    operation_check.require_none(ROOT, found, cluster)
    assert "Not asked: operations under way are not known, Lease quorate-operation was not read" in (
        capsys.readouterr().out
    )


def test_machines_that_up_has_set_up_are_asked(
    found: ValidStack, cluster: LiveCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        return cluster

    monkeypatch.setattr(connection, "connect", connect)
    with held(cluster.api, CloudOperation("virt1"), "dev", print):
        operation_check.require_none(tmp_path, found, None)  # before the first `up`
        connection.own_kubeconfig(tmp_path, "dev").parent.mkdir(parents=True)
        connection.own_kubeconfig(tmp_path, "dev").touch()
        with pytest.raises(UserError, match="Maintenance of virt1"):
            operation_check.require_none(tmp_path, found, None)


def test_a_cluster_that_does_not_answer_stops_no_repair(
    found: ValidStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        raise UserError("The cluster of context admin does not answer.")

    monkeypatch.setattr(connection, "connect", connect)
    connection.own_kubeconfig(tmp_path, "dev").parent.mkdir(parents=True)
    connection.own_kubeconfig(tmp_path, "dev").touch()
    operation_check.require_none(tmp_path, found, None)
    assert "Not asked whether an operation is under way. The cluster of context" in capsys.readouterr().out
