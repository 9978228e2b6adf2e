"""The result and the report of a drill: silences, members, lost writes and the verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import Any

import pytest

from console.errors import UserError
from files import atomic
from trials.cloud import masters, network
from trials.cloud.drill import disturbances, drill_report, load, observer, readiness, result, workloads
from trials.cloud.drill.result import Drill, Event, Members, Silence, Writes
from trials.cloud.drill.workloads import DrilledWorkload
from trials.cloud.lab_machines import Lab

MANAGEMENT, SERVICES, PODS = map(IPv4Network, ("10.20.0.0/24", "172.24.0.0/16", "172.16.0.0/13"))
LAB = Lab("dev", (), MANAGEMENT, IPv4Address("10.20.0.1"), SERVICES, PODS)


def answer(moment: float, reason: str | None = None, api: str = "keystone") -> Event:
    return {"t": moment, "kind": "answer", "api": api, "reason": reason}


def count(moment: float, complete: bool = True, **members: list[str]) -> Event:
    return {"t": moment, "kind": "members", "members": members, "complete": complete}


def drill(**changed: Any) -> Drill:
    facts: dict[str, Any] = {
        "stack": "dev",
        "title": "virt2 without power",
        "machines": ("virt2", "master2"),
        "started": 100.0,
        "began": 110.0,
        "over": 200.0,
        "whole": 260.0,
        "ended": 270.0,
        "apis": {"keystone": Silence(160, 4, 6.5, ((111.0, 117.5),), {"status 503": 4})},
        "quorums": {"mysqld": Members(3, ((100.0, 3), (115.0, 2), (250.0, 3)))},
        "writes": {"networks": Writes(50, 48, (), 7.0, {"ConflictException": 2})},
    }
    return Drill(**(facts | changed))


def test_a_silence_lasts_from_the_last_answer_to_the_next() -> None:
    events = [answer(1), answer(2), answer(3, "refused"), answer(4, "refused"), answer(5), answer(9)]
    found = result.silence(events, "keystone", 10)
    assert found == Silence(6, 2, 3, ((2, 5),), {"refused": 2})


def test_a_pause_without_a_failed_request_is_no_silence() -> None:
    assert result.silence([answer(1), answer(60)], "keystone", 61).longest == 0


def test_a_silence_until_the_end_counts() -> None:
    found = result.silence([answer(1), answer(2, "refused")], "keystone", 12)
    assert found == Silence(2, 1, 11, ((1, 12),), {"refused": 1})


def test_an_api_that_never_answers_is_silent_from_its_first_request() -> None:
    assert result.silence([answer(1, "refused"), answer(2, "refused")], "keystone", 5).spans == ((1, 5),)


def test_other_apis_do_not_count() -> None:
    assert result.silence([answer(1), answer(2, "refused", "glance-api")], "keystone", 3).failed == 0


def test_members_are_counted_when_they_change() -> None:
    events = [count(1, mysqld=["a", "b", "c"]), count(2, mysqld=["a", "b", "c"]), count(3, mysqld=["a"]), count(4)]
    assert result.members(events, "mysqld", 3).counts == ((1, 3), (3, 1), (4, 0))


def test_a_count_without_the_quorum_is_unknown_and_not_zero() -> None:
    events = [count(1, mysqld=["a"]), count(2, complete=False, etcd=["m"])]
    assert result.members(events, "mysqld", 1).counts == ((1, 1),)


def test_acknowledged_writes_that_are_missing_are_lost() -> None:
    tried = [(1.0, 1, None), (2.0, 2, "ServiceUnavailable"), (3.0, 3, None), (4.0, 4, None)]
    assert result.writes(tried, {1, 2, 4}, 5) == Writes(4, 3, (3,), 2.0, {"ServiceUnavailable": 1})


def test_a_drill_without_losses_passes() -> None:
    assert drill().problems() == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"writes": {"networks": Writes(50, 48, (7,), 7.0)}}, "networks: acknowledged writes were lost: 7"),
        (
            {"quorums": {"mysqld": Members(3, ((100.0, 3), (115.0, 1), (250.0, 3)))}},
            "mysqld: 1 of 3 members were ready, and a majority is 2",
        ),
        ({"writes": {"networks": Writes(0, 0, (), 0.0)}}, "networks: no write was acknowledged"),
        ({"failures": ("master1 was not drained",)}, "master1 was not drained"),
    ],
)
def test_what_a_drill_fails_for(changed: dict[str, Any], problem: str) -> None:
    assert drill(**changed).problems() == [problem]


@pytest.mark.parametrize(
    ("program", "limit", "message"),
    [
        ("raise SystemExit('no login')", 60.0, "has ended:\nno login"),
        ("import time; time.sleep(60)", 2.0, "has reported nothing within 2 s"),
    ],
)
def test_a_process_that_reports_nothing_stops_the_drill(
    program: str, limit: float, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "in_switch", list)
    monkeypatch.setattr(load, "STARTING", limit)
    with (
        load.Reporting("A client", [sys.executable, "-c", program], {}) as client,
        pytest.raises(UserError, match=f"A client {message}"),
    ):
        client.wait_for_report()


def test_a_blackout_may_take_every_majority() -> None:
    lost = {"mysqld": Members(3, ((100.0, 3), (115.0, 0), (250.0, 3)))}
    assert drill(quorums=lost, keeps_majority=False).problems() == []


def test_a_donor_is_not_ready_beside_the_member_that_gets_its_data() -> None:
    for least, problems in ((1, 0), (0, 1)):
        lost = {name: Members(3, ((100.0, 3), (115.0, least), (250.0, 3))) for name in ("mysqld", "rabbitmq")}
        found = drill(quorums=lost, donating=["mysqld"]).problems()
        assert len(found) == 1 + problems, "one member of rabbitmq is always too few"


def test_a_quorum_of_one_member_has_no_majority_to_keep() -> None:
    for total, problems in ((1, 0), (2, 1), (3, 1)):
        lost = {"mysqld": Members(total, ((100.0, total), (115.0, 0), (250.0, total)))}
        assert len(drill(quorums=lost).problems()) == problems


def test_what_is_incomplete_by_the_last_count() -> None:
    events = [count(1, mysqld=["a"]), answer(2, "refused"), count(3, mysqld=["a", "b"], etcd=["m"])]
    assert readiness.incomplete(events, {"mysqld": 3, "etcd": 1}) == ["mysqld: 2 of 3", "an answer of keystone"]
    assert readiness.incomplete([*events, answer(4)], {"mysqld": 2}) == []


def test_a_count_without_kubernetes_is_none() -> None:
    assert readiness.incomplete([count(1, complete=False, etcd=["m"])], {"etcd": 1}) == ["a count of members"]


def test_the_report_has_the_verdict_and_times_since_the_disturbance_began(tmp_path: Path) -> None:
    drill_report.write([drill()], tmp_path)
    document = json.loads((tmp_path / drill_report.JSON).read_text(encoding="utf-8"))
    assert document["verdict"] == "passed"
    (found,) = document["drills"]
    assert found["whole"] == 150
    assert found["quorums"]["mysqld"] == {
        "members": 3, "least": 2, "wholeAgain": 140.0, "counts": [[-10.0, 3], [5.0, 2], [140.0, 3]],
    }  # fmt: skip
    assert found["apis"]["keystone"] == {
        "requests": 160, "failed": 4, "longestSilence": 6.5, "silences": [[1.0, 7.5]], "reasons": {"status 503": 4},
    }  # fmt: skip
    page = (tmp_path / drill_report.PAGE).read_text(encoding="utf-8")
    assert "2 of 3 members ready for 135 s" in page
    assert "6.5 s between two answers" in page
    assert "status 503 (4)" in page
    assert "ConflictException (2)" in page


def test_a_picture_covers_the_drill_without_gaps() -> None:
    for row in drill_report.picture(drill()).rows:
        assert row.bars[0].x == drill_report.LEFT
        assert row.bars[-1].x + row.bars[-1].width == pytest.approx(drill_report.WIDTH, abs=0.5)
        for one, next_one in zip(row.bars, row.bars[1:], strict=False):
            assert one.x + one.width == pytest.approx(next_one.x, abs=0.2)


@pytest.mark.parametrize(
    ("minutes", "labels"),
    [
        (0, ["0 min"]),
        (2.5, ["0 min", "1 min", "2 min"]),
        (14, ["0 min", "5 min", "10 min"]),
        (63, ["0 min", "5 min", "60 min"]),
        (190, ["0 min", "30 min", "180 min"]),
        (600, ["0 min", "60 min", "600 min"]),
    ],
)
def test_the_time_scale_has_room_for_its_numbers(minutes: float, labels: list[str]) -> None:
    shown = [label for _, label in drill_report.picture(drill(over=110.0, ended=110.0 + 60 * minutes)).ticks]
    assert [*shown[:2], *shown[2:][-1:]] == labels
    assert len(shown) <= drill_report.MARKS


def test_names_are_escaped(tmp_path: Path) -> None:
    drill_report.write([drill(title="<b>")], tmp_path)
    assert "<b>" not in (tmp_path / drill_report.PAGE).read_text(encoding="utf-8")


def test_clients_use_services_with_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def service(title: str, address: str, port: str) -> dict[str, Any]:
        spec = {"clusterIP": address, "ports": [{"name": port, "port": 9093}]}
        return {"metadata": {"name": title}, "spec": spec}

    found = [
        service("a", "172.24.0.7", "http"),
        service("a-members", "None", "http"),
        service("db", "172.24.0.8", "sql"),
    ]

    def services(_lab: Lab, _kinds: str) -> list[dict[str, Any]]:
        return found

    monkeypatch.setattr(workloads, "of_openstack", services)
    assert workloads.apis(LAB) == {"a": "http://a.openstack.svc:9093/"}


def test_the_observer_uses_a_kubeconfig_that_was_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def content(path: Path) -> str:
        return path.read_text(encoding="utf-8")

    monkeypatch.setattr(observer, "read_kubeconfig", content)
    file = tmp_path / "kubeconfig"
    atomic.write_private(file, "first")
    administrator = observer.Administrator(file)
    first = administrator.api()
    assert administrator.api() is first
    atomic.write_private(file, "second")
    assert [first.access, administrator.api().access] == ["first", "second"]


def test_pods_that_are_deleted_or_not_ready_do_not_count() -> None:
    def pod(name: str, ready: str = "True", **metadata: str) -> dict[str, Any]:
        labels = {"app.kubernetes.io/name": "mysqld"}
        conditions = [{"type": "Ready", "status": ready}]
        return {"metadata": {"name": name, "labels": labels, **metadata}, "status": {"conditions": conditions}}

    pods = [pod("a"), pod("b", "False"), pod("c", deletionTimestamp="2026-11-23T00:00:00Z")]
    assert observer.ready(pods) == {"mysqld": ["a"]}


@pytest.mark.parametrize(
    ("fails", "expected"),
    [(None, [{"mysqld"}, {"a", "b"}, {"c"}]), (2, [{"mysqld"}, {"a", "b"}])],
    ids=["all is ready each time", "something is missing after the second turn"],
)
def test_pods_are_replaced_only_while_everything_is_ready(
    fails: int | None, expected: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns: list[set[str]] = [set()]

    def kubectl(_lab: Lab, *words: str, timeout: float = 0) -> subprocess.CompletedProcess[str]:
        del timeout
        turns[-1].add(words[2].partition("/")[2])
        return subprocess.CompletedProcess(words, 0, "", "")

    def wait() -> list[str]:
        turns.append(set())
        return ["mysqld: 2 of 3"] if len(turns) - 1 == fails else []

    def expected_workloads(_lab: Lab) -> list[DrilledWorkload]:
        return [DrilledWorkload(f"deployment/{name}", name, 3) for name in ("a", "b", "mysqld", "c")]

    monkeypatch.setattr(workloads, "expected", expected_workloads)
    monkeypatch.setattr(masters, "kubectl", kubectl)
    problems = disturbances.rollout(LAB, {"mysqld": 3}).act(wait, print)
    assert turns == [*expected, set()]
    assert bool(problems) == bool(fails)
