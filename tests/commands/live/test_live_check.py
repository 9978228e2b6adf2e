"""Tests of the text about a failed Job: the last lines of its newest pod's log, or why there are none."""

from __future__ import annotations

from typing import Any, cast

import pytest

from blueprint.plan.planner import plan
from cluster.api import Api, ApiError, Reply
from commands.live.live_check import show_failing
from operations.live_cluster import LiveCluster
from policy.engine.events import Event
from tests.commands.run.events import started
from tests.stacks import full_size, parsed

PLAN = plan(parsed(full_size("100")))


class Answers:
    """An API server that answers with these objects by path, and with a log."""

    def __init__(self, log: Reply, **lists: list[dict[str, Any]]) -> None:
        self.log, self.lists = log, lists
        self.asked: list[str] = []

    def ask(self, method: str, path: str, *, query: dict[str, str] | None = None) -> dict[str, Any]:
        assert method == "GET"
        if query is None:
            self.asked.append(f"{method} {path}")
            return {"spec": {"selector": {"matchLabels": {"app": "nova", "component": "api"}}}}
        self.asked += [f"{method} {path} {query}"] if "app=" in query["labelSelector"] else []
        kind = path.rpartition("/")[2]
        if kind not in self.lists:
            raise ApiError(403, "Forbidden", f"{kind} are not yours")
        return {"items": self.lists[kind]}

    def call(self, method: str, path: str, *, query: dict[str, str]) -> Reply:
        self.asked.append(f"{method} {path} {query}")
        return self.log


def shown(answers: Answers, capsys: pytest.CaptureFixture[str], *failing: Event) -> str:
    steps = [step for event in failing if (step := event.step)]
    show_failing(LiveCluster(cast("Api", answers), PLAN, "lab", ()), steps)
    return capsys.readouterr().out


def job(name: str, **status: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "openstack"}, "status": status}


def pod(name: str, created: str) -> dict[str, Any]:
    ended = {"containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}
    return {"metadata": {"name": name, "creationTimestamp": created}, "status": ended}


JOBS = [job("sound", succeeded=1, failed=2), job("waiting"), job("keystone-db-sync", failed=2)]
PODS = [pod("one", "2026-01-01T00:00:00Z"), pod("two", "2026-01-01T00:01:00Z")]


def test_the_last_lines_of_the_newest_pod_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    log = Reply(200, {}, text="".join(f"line {number}\n" for number in range(50)) + "bad \x1b[31m word\n")
    answers = Answers(log, jobs=JOBS, pods=PODS)
    said = shown(answers, capsys)
    assert said.startswith("Job openstack/keystone-db-sync has failed (exit code 3). The last lines of pod two:\n")
    assert "line 49" in said
    assert "line 20" not in said
    assert "bad \\x1b[31m word" in said
    assert "sound" not in said
    assert answers.asked == ["GET /api/v1/namespaces/openstack/pods/two/log {'tailLines': '20'}"]


def test_a_log_of_one_json_line_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    log = Reply(200, {"level": "error"}, text='{"level": "error"}\n')
    assert '    {"level": "error"}' in shown(Answers(log, jobs=JOBS, pods=PODS), capsys)


def test_what_cannot_be_read_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    refused = Reply(502, {"message": "no kubelet"}, text="{}")
    assert "The log of pod two cannot be read: no kubelet" in shown(Answers(refused, jobs=JOBS, pods=PODS), capsys)
    assert "its pods are gone" in shown(Answers(refused, jobs=JOBS, pods=[]), capsys)
    assert "could not be read: 403 Forbidden: jobs are not yours" in shown(Answers(refused), capsys)


def test_a_workload_that_does_not_get_ready_shows_its_newest_pod_that_is_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def member(name: str, created: str, ready: str) -> dict[str, Any]:
        waits = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}}
        status = {"conditions": [{"type": "Ready", "status": ready}], "containerStatuses": [waits]}
        return {"metadata": {"name": name, "creationTimestamp": created}, "status": status}

    pods = [member("old", "1", "False"), member("broken", "2", "False"), member("ready", "3", "True")]
    answers = Answers(Reply(200, {}, text="no database\n"), jobs=[], pods=pods)
    events = [started("update", f"kubernetes:{kind}", "cloud-api") for kind in ("apps/v1:Deployment", "core/v1:Secret")]
    said = shown(answers, capsys, *events)
    assert said == (
        "Deployment nova/api is not ready (CrashLoopBackOff). The last lines of pod broken:\n    no database\n"
    )
    assert answers.asked == [
        "GET /apis/apps/v1/namespaces/nova/deployments/api",
        "GET /api/v1/namespaces/nova/pods {'labelSelector': 'app=nova,component=api'}",
        "GET /api/v1/namespaces/nova/pods/broken/log {'tailLines': '20'}",
    ]
    none = Answers(Reply(200, {}, text=""), jobs=[], pods=[member("ready", "3", "True")])
    assert "Deployment nova/api is not ready; it has no pod that is not ready." in shown(none, capsys, *events)
