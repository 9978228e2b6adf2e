"""Why Jobs and workloads of a cluster failed: exit codes, reasons, and the last lines of their pods' logs."""

from __future__ import annotations

from collections.abc import Mapping

from cluster.api import Api
from cluster.objects import Object, holds, listed, mapping, name, newest, number, text
from text.quoting import printable

WORKLOADS = {"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets"}
"""Kinds of workloads that wait for their pods, with their plurals in the API."""
LINES = 20
"""Number of lines shown from the end of a failed pod's log."""


def failed_job(api: Api, job: Object) -> str:
    """Returns a text for a failed Job: the exit code and the last log lines of its newest pod."""
    namespace = text(job, "metadata", "namespace")
    pods = _pods(api, namespace, {"batch.kubernetes.io/job-name": name(job)})
    title = f"Job {namespace}/{name(job)} has failed"
    if not pods:
        return f"{title}; its pods are gone, and their logs with them."
    last = newest(pods)
    codes = [number(each, "state", "terminated", "exitCode") for each in listed(last, "status", "containerStatuses")]
    ended = f" (exit code {codes[0]})" if codes and codes[0] else ""
    return f"{title}{ended}. {_last_lines(api, namespace, last)}"


def failing_workload(api: Api, kind: str, namespace: str, called: str) -> str:
    """Returns a text for a workload that is not ready: the reason and the last log lines of its newest unready pod."""
    title = f"{kind} {namespace}/{called} is not ready"
    path = f"/apis/apps/v1/namespaces/{namespace}/{WORKLOADS[kind]}/{called}"
    labels = mapping(api.ask("GET", path), "spec", "selector", "matchLabels")
    pods = [pod for pod in _pods(api, namespace, labels) if not holds(pod, "Ready")]
    if not pods:
        return f"{title}; it has no pod that is not ready."
    last = newest(pods)
    statuses = listed(last, "status", "containerStatuses")
    reasons = [text(each, "state", "waiting", "reason") for each in statuses]
    reason = next((f" ({each})" for each in reasons if each), "")
    return f"{title}{reason}. {_last_lines(api, namespace, last)}"


def _pods(api: Api, namespace: str, labels: Mapping[str, str]) -> list[Object]:
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    return api.ask("GET", f"/api/v1/namespaces/{namespace}/pods", query=query)["items"]


def _last_lines(api: Api, namespace: str, pod: Object) -> str:
    """Returns a text with the last lines of a pod's log, or with the reason why it cannot be read."""
    path = f"/api/v1/namespaces/{namespace}/pods/{name(pod)}/log"
    reply = api.call("GET", path, query={"tailLines": str(LINES)})
    if reply.status >= 300:
        return f"The log of pod {name(pod)} cannot be read: {text(reply.body, 'message')}"
    lines = "\n".join(f"    {printable(line)}" for line in reply.text.splitlines()[-LINES:])
    return f"The last lines of pod {name(pod)}:\n{lines}"
