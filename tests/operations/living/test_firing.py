"""The alerts that fire, as a real Prometheus told them: a Galera's member was killed, and no other quorum was there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from cluster.api import Api
from cluster.objects import Object
from operations.living import asking, beside_quorums, firing, status_text
from operations.living.answers import Answer
from operations.living.firing import FiringAlert, LivingAlerts
from tests.operations.living.living_cloud import living
from tests.operations.living.recorded_answers import answers
from tests.stacks import full_size, parsed

PLAN = plan(parsed(full_size("100")))
LOST = firing.told(answers("prometheus-one-lost"))
WITHOUT = {"influxdb-grafana-0": Answer(problem="its pod is Pending")}


def answer(document: Any) -> dict[str, Answer]:
    return {"influxdb-grafana-0": Answer({firing.ALERTS: json.dumps(document)})}


def alert(name: str, severity: str = "warning", quorum: str = "", ago: int = 5, summary: str = "x") -> FiringAlert:
    return FiringAlert(name, severity, summary, datetime.now(UTC) - timedelta(minutes=ago, seconds=5), quorum)


def without(service: str) -> Plan:
    return replace(PLAN, services=tuple(each for each in PLAN.services if each.name != service))


def lines(*found: FiringAlert, lost: Mapping[str, str] | None = None, **other: Any) -> list[str]:
    alerts = LivingAlerts("influxdb-grafana-1", found, **other)
    return list(beside_quorums.alerts(living(PLAN, lost, alerts=alerts)))


def test_what_prometheus_tells() -> None:
    assert (LOST.asked, LOST.unsent, LOST.problem) == ("influxdb-grafana-0", (), "")
    quorums = {each.quorum for each in LOST.firing}
    assert quorums == {"galera", "rabbitmq", "ceph-mon", "elasticsearch-kibana", "etcd"}
    galera = [each for each in LOST.firing if each.quorum == "galera"]
    summary = "galera: 2 of 3 members are left, 2 are needed; lost: mysqld-0"
    since = datetime(2026, 11, 30, 14, 40, 24, 361963, UTC)
    assert galera == [
        FiringAlert("QuorumMemberLost", "critical", summary, since, "galera"),
        FiringAlert("QuorumMemberSilent", "info", summary, since, "galera"),
    ]


def test_one_whose_condition_holds_for_too_short_a_time_does_not_fire() -> None:
    assert '"state":"pending"' in answers("prometheus-one-lost")["influxdb-grafana-0"].parts[firing.ALERTS]
    assert "GaleraSizeDiffers" not in {each.name for each in LOST.firing}


def test_the_most_urgent_come_first_and_of_these_the_oldest() -> None:
    def told(name: str, severity: str, minute: int) -> Object:
        labels = {"alertname": name, **({"severity": severity} if severity else {})}
        return {"labels": labels, "annotations": {}, "state": "firing", "activeAt": f"2026-11-30T14:{minute}:00Z"}

    entries = [
        told("E", "", 10),
        told("D", "info", 10),
        told("C", "warning", 10),
        told("B", "critical", 30),
        told("A", "critical", 20),
    ]
    found = firing.told(answer({"status": "success", "data": {"alerts": entries}}))
    assert "".join(each.name for each in found.firing) == "ABCDE"


def test_a_prometheus_whose_alerts_nobody_takes() -> None:
    unsent = firing.told(answers("prometheus-unsent"))
    assert unsent.unsent == ("influxdb-grafana-0",)
    said = lines(unsent=unsent.unsent)[-1]
    assert said.endswith("no Alertmanager takes the alerts of influxdb-grafana-0, which reach no receiver")


def test_the_first_that_answers_suffices() -> None:
    found = firing.told({**WITHOUT, **{f"{name}x": each for name, each in answers("prometheus-one-lost").items()}})
    assert (found.asked, found.firing) == ("influxdb-grafana-0x", LOST.firing)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (WITHOUT, "its pod is Pending"),
        ({"influxdb-grafana-0": Answer({firing.ALERTS: "<html>"})}, "not JSON"),
        (answer({"status": "error", "error": "query timed out"}), "it refuses to tell its alerts: query timed out"),
        (
            answer({"status": "success", "data": {"alerts": [{"state": "firing", "activeAt": "yesterday"}]}}),
            "it does not tell since when an alert fires",
        ),
    ],
)
def test_no_prometheus_answers(found: Mapping[str, Answer], said: str) -> None:
    alerts = firing.told(found)
    assert alerts.problem.startswith("influxdb-grafana-0: ")
    assert said in alerts.problem
    cloud = living(PLAN, alerts=alerts)
    assert list(beside_quorums.alerts(cloud)) == [
        f"NO PROMETHEUS ANSWERS, so that no alert is raised: {alerts.problem}"
    ]
    assert status_text.document(cloud, ())["unasked"] == [alerts.problem]
    assert status_text.exit_code(cloud) == 0


def test_without_alerts_that_is_said_and_without_prometheus_nothing() -> None:
    assert lines() == ["No alerts fire, as influxdb-grafana-1 tells."]
    assert list(beside_quorums.alerts(living(PLAN))) == []


def test_each_alert_is_a_line() -> None:
    found = lines(alert("EtcdDiskSlow", quorum="etcd", summary="etcd: master2 takes 312ms to sync its log"))
    assert found == [
        "1 alert fires, as influxdb-grafana-1 tells.",
        "          - warning EtcdDiskSlow for 5 min: etcd: master2 takes 312ms to sync its log",
    ]


def test_a_slow_disk_is_a_line_with_its_node_and_the_services_there() -> None:
    """The summary as the rendered Prometheus told it of a real disk."""
    said = (
        "messaging1: the disk loop9p1 completes 4.9 requests in a second in which it is busy; on this node may be data "
        "of lma-aggregator, rabbitmq"
    )
    (_, line) = lines(alert("DiskSlow", "info", ago=1, summary=said))
    assert line == f"          - info DiskSlow for 1 min: {said}"


def test_a_quorum_whose_line_says_the_same_is_not_repeated() -> None:
    silent, member, lost = (
        alert(name, "critical", "galera") for name in ("QuorumMemberSilent", "QuorumMemberLost", "QuorumLost")
    )
    assert lines(silent, member, lost=dict.fromkeys(["mysqld-1"], "killed")) == [
        "2 alerts fire, as influxdb-grafana-1 tells; 2 of them say what a quorum above does."
    ]
    # The quorum has its majority by its own word, or has no lost member.
    assert "critical QuorumLost" in lines(lost, lost=dict.fromkeys(["mysqld-1"], "killed"))[1]
    assert "critical QuorumMemberLost" in lines(member)[1]
    other = alert("GaleraMemberAside", "info", "galera")
    assert len(lines(other, lost=dict.fromkeys(["mysqld-1"], "killed"))) == 2


def test_a_thousand_alerts_are_not_a_thousand_lines_and_a_long_summary_is_cut() -> None:
    many = [alert("AgentSilent", summary="x" * 999) for _ in range(1000)]
    found = lines(*many, alert("EtcdDiskSlow"), alert("EtcdDiskSlow"))
    assert len([line for line in found if "warning AgentSilent" in line]) == beside_quorums.ALIKE
    assert len([line for line in found if "warning EtcdDiskSlow" in line]) == 2, "no other is hidden"
    assert found[-1] == "          - and more, which --json names: 995 AgentSilent"
    assert max(map(len, found)) < 300
    found = lines(*(alert(f"Own{number}") for number in range(100)))
    assert len(found) == beside_quorums.SHOWN + 2


def test_json_has_them_all() -> None:
    cloud = living(PLAN, {"mysqld-0": "killed"}, alerts=LOST)
    document = json.loads(json.dumps(status_text.document(cloud, ())))["alerts"]
    assert (document["asked"], document["unsent"]) == ("influxdb-grafana-0", [])
    assert len(document["firing"]) == len(LOST.firing)
    assert {key: document["firing"][0][key] for key in ("name", "severity", "since")} == {
        "name": "QuorumLost",
        "severity": "critical",
        "since": "2026-11-30T14:40:18.228094+00:00",
    }


class Pods:
    """An API server that lists the pods of Prometheus."""

    def ask(self, method: str, path: str, *, query: Mapping[str, str]) -> Object:
        assert (method, path) == ("GET", "/api/v1/namespaces/openstack/pods")
        assert query == {"labelSelector": "app.kubernetes.io/name=influxdb-grafana"}
        return {"items": [{"metadata": {"name": "influxdb-grafana-1"}}]}


@pytest.mark.parametrize("has_manager", [True, False])
def test_each_instance_is_asked_in_its_pod(monkeypatch: pytest.MonkeyPatch, has_manager: bool) -> None:
    asked: dict[str, tuple[str, ...]] = {}

    def in_pod(_api: Api, pod: Object | None, container: str, questions: Mapping[str, str]) -> Answer:
        if pod is None:
            return Answer(problem="it has no pod")
        assert container == "prometheus-server"
        asked[pod["metadata"]["name"]] = tuple(questions)
        return answers("prometheus-one-lost")["influxdb-grafana-0"]

    monkeypatch.setattr(asking, "in_pod", in_pod)
    found = firing.read(cast("Api", Pods()), PLAN if has_manager else without("nagios"))
    assert (found.asked, found.firing) == ("influxdb-grafana-1", LOST.firing)
    assert asked == {"influxdb-grafana-1": ("alerts", "unsent") if has_manager else ("alerts",)}


def test_a_stack_without_prometheus_is_not_asked() -> None:
    assert firing.read(cast("Api", None), without("influxdb-grafana")) == LivingAlerts()
