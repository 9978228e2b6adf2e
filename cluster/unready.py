"""Why a pod is not ready, in the words that Kubernetes gives for its containers and its scheduling, and since when."""

from __future__ import annotations

from datetime import UTC, datetime

from cluster.objects import Object, holds, listed, mapping, number, text
from text.plural import pluralize

DELETED = "is being deleted"
MESSAGE = 160
"""Characters of a message of Kubernetes. Project figure."""
_OF_IMAGE = ("ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName")
"""Reasons that are about the image, which is then named."""


def why(pod: Object) -> str:
    """Returns why a pod is not ready, such as `CrashLoopBackOff (exit code 1, 7 restarts)`; "" if it is."""
    if text(pod, "metadata", "deletionTimestamp"):
        return DELETED
    if holds(pod, "Ready"):
        return ""
    if not text(pod, "spec", "nodeName"):
        return _unscheduled(pod)
    for each in listed(pod, "status", "initContainerStatuses"):
        if not each.get("ready"):
            return f"init container {text(each, 'name')}: {of_container(each)}"
    said = (of_container(each) for each in listed(pod, "status", "containerStatuses"))
    return next(filter(None, said), "") or _state(pod)


def since(pod: Object) -> datetime | None:
    """Returns since when a pod that is not ready has been so; None if it does not say."""
    conditions = {text(each, "type"): each for each in listed(pod, "status", "conditions")}
    changed = (text(conditions.get(each, {}), "lastTransitionTime") for each in ("Ready", "PodScheduled"))
    try:
        return datetime.fromisoformat(next(filter(None, changed), "")).astimezone(UTC)
    except ValueError:
        return None


def of_container(status: Object) -> str:
    """Returns why a container is not ready, by its status in a pod; "" if it is."""
    state = mapping(status, "state")
    if "waiting" in state:
        reason = text(state, "waiting", "reason") or "waits"
        return f"{reason} of {text(status, 'image')}" if reason in _OF_IMAGE else reason + _restarts(status)
    if "terminated" in state:
        return _end(mapping(state, "terminated"))
    return "" if status.get("ready") else f"runs, is not ready{_restarts(status)}"


def _restarts(status: Object) -> str:
    """Returns how often a container was restarted, and how it ended the last time; "" if it was not."""
    ended = mapping(status, "lastState", "terminated")
    if not ended:
        return ""
    return f" ({_end(ended)}, {pluralize(number(status, 'restartCount'), 'restart')})"


def _end(ended: Object) -> str:
    reason, code = text(ended, "reason"), f"exit code {number(ended, 'exitCode')}"
    return code if reason in ("", "Error", "Completed") else f"{reason}, {code}"


def _unscheduled(pod: Object) -> str:
    """Returns why a pod has no node, without what the scheduler says about preemption."""
    conditions = listed(pod, "status", "conditions")
    scheduled = next((each for each in conditions if each.get("type") == "PodScheduled"), Object())
    message = text(scheduled, "message").partition(" preemption:")[0].rstrip(".")
    return ": ".join(filter(None, (text(scheduled, "reason") or "has no node", message[:MESSAGE])))


def _state(pod: Object) -> str:
    """Returns what a pod says of which no container is known that is not ready."""
    if listed(pod, "status", "containerStatuses"):
        return "its containers were ready when its node last told"
    reason, message = text(pod, "status", "reason"), text(pod, "status", "message")
    state = reason or f"is {text(pod, 'status', 'phase') or 'unknown'}"
    return ": ".join(filter(None, (state, message[:MESSAGE])))
