"""The alerts that fire, as the cloud's own Prometheus tells them, and whether it could send them.

All instances have the same rules, so that one that answers suffices. It is asked in its pod: its port is closed to
everything but its own project.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from urllib.parse import quote

import contract
from blueprint.plan.plan import Plan
from cluster.api import Api
from cluster.objects import Object, listed, mapping, name, text, texts
from openstack.config import ports
from openstack.config.wiring import ENVIRONMENT
from openstack.monitoring.quorums import galera_job
from operations.living import asking
from operations.living.answers import Answer, Unanswered
from operations.living.quorum import LivingQuorum, Standing

PROCESS, CONTAINER = "influxdb-grafana", "prometheus-server"
"""The process that runs Prometheus, by the name of the architecture's row, and its container."""
ALERTS, UNSENT = "alerts", "unsent"
_MANAGER = "nagios"
"""The process that runs Alertmanager, by the name of the architecture's row."""
_URGENCY = ("critical", "warning", "info")
_SAID: Mapping[str, tuple[Standing, ...]] = {
    "QuorumMemberSilent": ("reduced", "lost"),
    "QuorumMemberLost": ("reduced", "lost"),
    "QuorumLost": ("lost",),
}
"""The standings of a quorum whose line says what an alert about it says."""

# Python is in each of Kolla's images. `dropped` counts the alerts that no Alertmanager has taken; those that fire are
# sent again every minute.
_PRINT = "import sys, urllib.request as web; print(web.urlopen(sys.argv[1], timeout=8).read().decode())"
_GET = f"python3 -c '{_PRINT}' 'http://127.0.0.1:{ports.PROMETHEUS}/api/v1/{{}}'"
_NOT_TAKEN = (
    "prometheus_notifications_alertmanagers_discovered == 0 or increase(prometheus_notifications_dropped_total[3m]) > 0"
)
QUESTIONS = {ALERTS: _GET.format("alerts"), UNSENT: _GET.format(f"query?query={quote(_NOT_TAKEN)}")}
"""The second one is asked only in a stack with Alertmanager."""


@dataclass(frozen=True)
class FiringAlert:
    """An alert that fires."""

    name: str
    severity: str
    summary: str
    since: datetime
    """Since when its condition holds, which is before it fires."""
    quorum: str = ""
    """The quorum that it is about, as its rule names it; "" for none."""

    def repeats(self, quorums: Sequence[LivingQuorum]) -> bool:
        """Whether the line of a quorum among `quorums` says the same."""
        said = _SAID.get(self.name, ())
        return any(each.standing in said for each in quorums if galera_job(each.name) == self.quorum)


@dataclass(frozen=True)
class LivingAlerts:
    """The alerts that fire, as one Prometheus tells them."""

    asked: str = ""
    """The Prometheus that answered; "" if none did, was asked, or is in the stack."""
    firing: tuple[FiringAlert, ...] = ()
    """The most urgent first, and of these those that last longest."""
    unsent: tuple[str, ...] = ()
    """The instances of Prometheus whose alerts no Alertmanager takes."""
    problem: str = ""
    """Why no Prometheus answered; "" if one did, or none was asked."""


def read(api: Api, plan: Plan) -> LivingAlerts:
    """Asks the instances of Prometheus of a plan, all at the same time. Changes nothing.

    Raises ApiError or Unreachable if the API server refuses to list their pods, or ends to answer.
    """
    service = next((each for each in plan.processes if each.process == PROCESS and each.instances), None)
    if service is None:
        return LivingAlerts()
    query = {"labelSelector": f"{contract.NAME}={service.name}"}
    pods = {
        name(pod): pod for pod in listed(api.ask("GET", f"/api/v1/namespaces/{ENVIRONMENT}/pods", query=query), "items")
    }
    has_manager = any(each.process == _MANAGER and each.instances for each in plan.processes)
    questions = QUESTIONS if has_manager else {ALERTS: QUESTIONS[ALERTS]}
    members = [f"{service.name}-{number}" for number in range(service.instances)]
    asks = {(PROCESS, each): partial(asking.in_pod, api, pods.get(each), CONTAINER, questions) for each in members}
    return told({member: answer for (_, member), answer in asking.ask_all(asks).items()})


def told(answers: Mapping[str, Answer]) -> LivingAlerts:
    """Returns what the first Prometheus says that answers. `answers`: those of the instances, by the names of pods."""
    problems: list[str] = []
    for member, answer in answers.items():
        try:
            firing = sorted(_firing(_data(answer, ALERTS)), key=_order)
            series = listed(_data(answer, UNSENT), "result") if UNSENT in answer.parts else []
            unsent = {_instance(each) for each in series}
            return LivingAlerts(member, tuple(firing), tuple(sorted(unsent)))
        except Unanswered as reason:
            problems.append(f"{member}: {reason}")
    return LivingAlerts(problem=problems[0])


def _data(answer: Answer, question: str) -> Object:
    found = answer.document(question)
    if found.get("status") != "success":
        raise Unanswered(f"it refuses to tell its {question}: {text(found, 'error')[:100]}")
    return mapping(found, "data")


def _firing(data: Object) -> Iterator[FiringAlert]:
    """Yields the alerts that fire, without those whose condition must hold for a while longer."""
    for each in listed(data, "alerts"):
        if each.get("state") == "firing":
            labels, annotations = texts(each, "labels"), texts(each, "annotations")
            summary = " ".join(annotations.get("summary", "").split())
            yield FiringAlert(
                labels.get("alertname", ""), labels.get("severity", ""), summary, _since(each), labels.get("quorum", "")
            )


def _since(alert: Object) -> datetime:
    try:
        return datetime.fromisoformat(text(alert, "activeAt")).astimezone(UTC)
    except ValueError:
        raise Unanswered("it does not tell since when an alert fires") from None


def _instance(series: Object) -> str:
    labels = texts(series, "metric")
    return labels.get("member") or labels.get("instance", "")


def _order(alert: FiringAlert) -> tuple[int, datetime, str, str]:
    urgency = _URGENCY.index(alert.severity) if alert.severity in _URGENCY else len(_URGENCY)
    return urgency, alert.since, alert.name, alert.summary
