"""`quorate status`: its messages for wrong input, its answers for scripts, and what it prints."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from blueprint.plan.plan import Plan
from cluster.api import Api, Unreachable
from cluster.objects import Object
from commands import stack
from commands.live import connection, status
from commands.stack import ValidStack
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living import firing, node_stats
from operations.living.cloud import LivingCloud
from operations.living.firing import LivingAlerts
from operations.living.node_stats import LivingNodes
from operations.operation_lease import CloudOperation, held
from tests.operations.living.living_cloud import living
from tests.operations.maintenance.small_cloud import SmallCloud
from tests.stacks import ROOT

LOAD = stack.load


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> list[LivingCloud]:
    """The stack "dev", live, whose cloud is the last of the returned list."""
    found = replace(LOAD(ROOT, "dev"), target="live")
    clouds = [living(found.plan)]

    def read(plan: Plan, _cluster: LiveCluster | None, problem: str = "") -> LivingCloud:
        assert plan == found.plan
        return replace(clouds[-1], problems=(problem,) if problem else ())

    def load(_root: Path, _name: str) -> ValidStack:
        return found

    monkeypatch.setattr(stack, "load", load)
    connected(monkeypatch, SmallCloud().cluster())
    monkeypatch.setattr(status, "read_cloud", read)
    return clouds


def connected(monkeypatch: pytest.MonkeyPatch, cluster: LiveCluster) -> None:
    def connect(_root: Path, _stack: ValidStack) -> LiveCluster:
        return cluster

    monkeypatch.setattr(connection, "connect", connect)


def server_of(cloud: LivingCloud, member: tuple[str, str]) -> str:
    return next(node.server for node in cloud.plan.machines if node.name == cloud.places[member])


def test_a_rendered_stack_has_no_quorums() -> None:
    with pytest.raises(UserError, match="dev has the target render: it has no cluster"):
        status.show(ROOT, "dev")


def test_a_whole_cloud(live: list[LivingCloud], capsys: pytest.CaptureFixture[str]) -> None:
    assert live
    assert status.show(ROOT, "dev") == 0
    assert "whole     etcd" in capsys.readouterr().out


def test_a_watch_asks_kubelets_once_a_minute(live: list[LivingCloud], monkeypatch: pytest.MonkeyPatch) -> None:
    assert live
    connected(monkeypatch, replace(SmallCloud().cluster(), nodes=({"metadata": {"name": "master1"}},)))
    now, asked = [1000.0], list[float]()

    def read(_api: Api, nodes: Sequence[Object]) -> LivingNodes:
        if nodes:
            asked.append(now[0])
        return LivingNodes(asked=len(nodes))

    def sleep(seconds: float) -> None:
        now[0] += seconds
        if now[0] > 1130:
            raise KeyboardInterrupt

    monkeypatch.setattr(node_stats, "read", read)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        status.show(ROOT, "dev", watch=True)
    assert asked == [1000, 1060, 1120]


def test_alerts_are_asked_for_but_not_with_ask(
    live: list[LivingCloud], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Plan] = []

    def read(_api: Api, plan: Plan) -> LivingAlerts:
        asked.append(plan)
        return LivingAlerts(problem="influxdb-grafana-0: its pod is Pending")

    monkeypatch.setattr(firing, "read", read)
    assert status.show(ROOT, "dev") == 0
    assert "NO PROMETHEUS ANSWERS" in capsys.readouterr().out
    assert asked == [live[0].plan]
    assert status.show(ROOT, "dev", ask=server_of(live[0], ("mysqld", "mysqld-0"))) == 0
    assert len(asked) == 1


def test_json(live: list[LivingCloud], capsys: pytest.CaptureFixture[str]) -> None:
    live.append(living(live[0].plan, {"mysqld-0": "lost"}))
    assert status.show(ROOT, "dev", as_json=True) == 3
    assert json.loads(capsys.readouterr().out)["exit"] == 3


def test_an_operation_under_way_is_shown(
    live: list[LivingCloud], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud = SmallCloud()
    connected(monkeypatch, cloud.cluster())
    with held(cloud.cluster().api, CloudOperation("virt1"), "dev", print):
        assert status.show(ROOT, "dev") == 0
        assert "Maintenance of virt1 is under way: " in capsys.readouterr().out
        assert status.show(ROOT, "dev", as_json=True) == 0
        assert json.loads(capsys.readouterr().out)["operation"]["subject"] == "virt1"
    assert live


def test_a_server_that_does_not_exist(live: list[LivingCloud]) -> None:
    server = server_of(live[0], ("etcd", "master1"))
    with pytest.raises(UserError, match=rf"dev has no server {server}x \(did you mean '{server}'\?\)\."):
        status.show(ROOT, "dev", ask=f"{server}x")


def test_a_virtual_machine_is_no_server(live: list[LivingCloud]) -> None:
    server = server_of(live[0], ("etcd", "master1"))
    assert server != "master1"
    with pytest.raises(
        UserError, match=f"master1 is a virtual machine of {server}: ask for the server, --ask {server}"
    ):
        status.show(ROOT, "dev", ask="master1")


def test_answers_for_scripts(live: list[LivingCloud], capsys: pytest.CaptureFixture[str]) -> None:
    server = server_of(live[0], ("mysqld", "mysqld-0"))
    assert status.show(ROOT, "dev", ask=server) == 0
    assert capsys.readouterr().out.startswith(f"{server} may go now")
    others = {name for name in ("mysqld-0", "mysqld-1", "mysqld-2") if server_of(live[0], ("mysqld", name)) != server}
    live.append(living(live[0].plan, dict.fromkeys(sorted(others)[:1], "lost")))
    assert status.show(ROOT, "dev", ask=server) == 3
    assert f"{server} may not go now: mysqld needs 2 of 3 members, 1 would be left" in capsys.readouterr().out
    assert status.show(ROOT, "dev", ask=server, as_json=True) == 3
    assert json.loads(capsys.readouterr().out)["may_go"] is False


def test_a_cluster_that_does_not_answer(
    live: list[LivingCloud], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_root: Path, _stack: ValidStack) -> LiveCluster:
        raise UserError("The cluster of context admin does not answer: refused")

    monkeypatch.setattr(connection, "connect", refuse)
    assert status.show(ROOT, "dev") == 1
    assert "The cluster of context admin does not answer: refused" in capsys.readouterr().out
    assert status.show(ROOT, "dev", ask=server_of(live[0], ("mysqld", "mysqld-0"))) == 1
    assert "may not go now: The cluster of context admin does not answer" in capsys.readouterr().out


def test_a_cluster_that_ends_to_answer(live: list[LivingCloud], monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def read(plan: Plan, cluster: LiveCluster | None, problem: str = "") -> LivingCloud:
        calls.append(problem)
        if cluster:
            raise Unreachable("GET pods: reset")
        return replace(living(plan), problems=(problem,))

    made = LiveCluster(None, live[0].plan, "admin", ())  # type: ignore[arg-type]
    connected(monkeypatch, made)
    monkeypatch.setattr(status, "read_cloud", read)
    assert status.show(ROOT, "dev") == 1
    assert calls == ["", "The cluster of context admin does not answer: GET pods: reset"]


def test_watching_repeats_until_it_is_ended(
    live: list[LivingCloud], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(status.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        status.show(ROOT, "dev", watch=True)
    assert capsys.readouterr().out.count("whole     etcd") == 3
    assert live


def test_a_page_is_written_beside_what_is_printed(
    live: list[LivingCloud], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert live
    page = tmp_path / "new" / "status.html"
    assert status.show(ROOT, "dev", page=page) == 0
    assert "whole     etcd" in capsys.readouterr().out
    assert "dev: every quorum is whole" in page.read_text(encoding="utf-8")


def test_a_page_that_cannot_be_written_is_named(live: list[LivingCloud], tmp_path: Path) -> None:
    assert live
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"status.html was not written: .*--page"):
        status.show(ROOT, "dev", page=tmp_path / "file" / "status.html")
    with pytest.raises(UserError, match="leave out --page, or --ask"):
        status.show(ROOT, "dev", ask="virt1", page=tmp_path / "status.html")
