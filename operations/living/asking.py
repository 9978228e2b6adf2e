"""Asks the members of quorums, all at the same time: in their pods by the Kubernetes API, or on machines over SSH."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import contract
from blueprint.plan.nodes import Node
from blueprint.stackfile.settings import Ssh
from cluster import unready
from cluster.api import Api, ApiError, Unreachable
from cluster.objects import Object, listed, mapping, name, text
from cluster.pod_exec import PodContainer, run_in_pod
from doctor import login
from openstack.config.wiring import ENVIRONMENT
from operations.living import etcd
from operations.living.answers import PATIENCE, Answer, late, parsed, script
from operations.living.etcd_status import HEALTH, METRICS

AT_ONCE = 32
"""Members that are asked at the same time. Project figure: a stack of any size has fewer."""
Ask = Callable[[], Answer]


def ask_all(questions: Mapping[tuple[str, str], Ask]) -> dict[tuple[str, str], Answer]:
    """Returns the answers by quorum and member. Takes as long as the slowest answer, or `PATIENCE`."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pending = {member: pool.submit(ask) for member, ask in questions.items()}
        return {member: future.result() for member, future in pending.items()}


def in_pod(api: Api, pod: Object | None, container: str, questions: Mapping[str, str]) -> Answer:
    """Asks in the container of a member's pod. `pod`: None for one that the cluster does not have."""
    if problem := not_running(pod, container):
        return Answer(problem=problem, is_down=pod is None or not _may_run(pod, container))
    command = ["timeout", str(2 * PATIENCE), "sh", "-c", script(questions)]
    try:
        said = run_in_pod(api.access, PodContainer(ENVIRONMENT, name(pod or {}), container), command, PATIENCE)
    except (ApiError, Unreachable) as error:
        return Answer(problem=f"its pod was not asked: {error}")
    return parsed(said.text, said.errors) if said.code is not None else late(said.text)


def not_running(pod: Object | None, container: str) -> str:
    """Returns why a container cannot be asked; "" if it runs."""
    if pod is None:
        return "it has no pod"
    if end := text(pod, "metadata", "deletionTimestamp"):
        return f"its pod is being deleted and has until {end} to end"
    status, state, reason = _state(pod, container)
    if state == "running":
        return ""
    if not status or reason == "PodInitializing":  # what is to prepare the pod has the reason
        why = unready.why(pod)
        return f"its pod is {text(pod, 'status', 'phase') or 'unknown'}" + (f" ({why})" if why else "")
    why = unready.of_container(status)
    return f"its container is {state}" + (f" ({why})" if why else "")


def _may_run(pod: Object, container: str) -> bool:
    """Whether a container that cannot be asked may run: its pod is being deleted, or its state is not known."""
    status, state, reason = _state(pod, container)
    known = state if status else text(pod, "status", "phase") or "unknown"
    return bool(text(pod, "metadata", "deletionTimestamp")) or "unknown" in f"{known} {reason}".lower()


def _state(pod: Object, container: str) -> tuple[Object, str, str]:
    """Returns the status of a container, its state and the state's reason; {} and the state unknown without one."""
    statuses = (each for each in listed(pod, "status", "containerStatuses") if each.get("name") == container)
    status = next(statuses, Object())
    state = next(iter(mapping(status, "state")), "unknown")
    return status, state, text(status, "state", state, "reason")


def by_metrics(api: Api, node: str) -> Answer:
    """Asks the member of etcd on a node of the cluster by the metrics that it serves without a login."""
    quick = Api(api.access, PATIENCE)
    parts: dict[str, str] = {}
    for question in (METRICS, HEALTH):
        path = f"/api/v1/nodes/http:{node}:{contract.ETCD_METRICS_PORT}/proxy/{question}"
        try:
            said = quick.call("GET", path)
        except Unreachable as error:
            return Answer(problem=f"its metrics were not read: {error}")
        # A member without a majority answers with its health, and a status of 503.
        if said.status >= 300 and "health" not in said.body:
            return Answer(problem=f"its metrics were not read: {said.body.get('message', said.status)}")
        parts[question] = said.text
    return Answer(parts)


def on_machine(node: Node, ssh: Ssh, known_hosts: Path) -> Answer:
    """Asks the member of etcd on a machine over SSH. `known_hosts`: the file with the machines' host keys."""
    if node.machine.host_key is None:
        return Answer(problem="the stack file has no hostKey of its machine, which is asked over SSH")
    try:
        done = subprocess.run(
            login.command(node.machine, ssh, known_hosts),
            input=script(etcd.questions_as_root(node.address)),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        # The output is bytes although the program's is text: https://github.com/python/cpython/issues/87597
        return late((error.stdout or b"").decode(errors="replace"))
    except FileNotFoundError:
        return Answer(problem="this host has no ssh; install the OpenSSH client")
    if done.returncode == login.FAILED:
        error = login.login_error(done.stderr, node.machine, ssh)
        return Answer(problem=f"its machine was not asked: {error.problem}")
    return parsed(done.stdout, done.stderr)
