"""Which connections a lab's NetworkPolicies must admit, and what is reported of those that they do not."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

import contract
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from tests.projects import RECORDS
from tests.stacks import STACKS
from tests.trials.cloud.test_drill import LAB
from trials.cloud import connections, masters, network
from trials.cloud.connections import ConnectionClient, ConnectionTarget, admitted
from trials.cloud.drill import workloads

STRANGER = ConnectionClient("a stranger", "stranger", "elsewhere")
OUTSIDE = ConnectionClient("a host outside of the cloud")
NOVA = ConnectionClient("a pod of nova-scheduler", "nova-scheduler-0", process="nova-scheduler", project="nova")
MEMBER = ConnectionClient("a pod of mysqld", "mysqld-0", process="mysqld", project="mariadb")
PROMETHEUS = ConnectionClient(
    "a pod of influxdb-grafana", "prometheus-0", process="influxdb-grafana", project="prometheus"
)
COMPUTE = ConnectionClient(
    "a pod of nova-compute", "nova-compute-a", process="nova-compute", project="nova", node="cmp1"
)


def target(process: str, port: str, needing: tuple[str, ...] = ("nova",)) -> ConnectionTarget:
    found = RECORDS.processes[process]
    (named,) = (each for each in found.ports if each.name == port)
    return ConnectionTarget(found, "172.16.1.5", named.number, "controller1", named.clients, needing)


@pytest.mark.parametrize(
    ("process", "port", "clients"),
    [
        ("keystone", "api", {STRANGER, OUTSIDE, NOVA, MEMBER, PROMETHEUS, COMPUTE}),
        ("rabbitmq", "amqp", {NOVA, COMPUTE}),
        ("rabbitmq", "distribution", set[ConnectionClient]()),
        ("rabbitmq", "metrics", {PROMETHEUS}),
        ("mysqld", "mysql", {MEMBER}),
        ("mysqld", "wsrep", {MEMBER}),
        ("proxysql", "proxysql", {NOVA}),
        ("nova-api", "metadata", {COMPUTE}),
    ],
)
def test_a_port_admits_the_clients_of_its_record(process: str, port: str, clients: set[ConnectionClient]) -> None:
    known = {STRANGER, OUTSIDE, NOVA, MEMBER, PROMETHEUS, COMPUTE}
    assert {each for each in known if admitted(target(process, port), each)} == clients


def test_a_connection_that_is_not_as_it_must_be_is_a_problem() -> None:
    targets = (target("keystone", "api"), target("rabbitmq", "amqp"))
    right = {"172.16.1.5:5000": "answers", "172.16.1.5:5672": "silent"}
    assert not list(connections.problems(STRANGER, targets, right))
    wrong = {"172.16.1.5:5000": "silent", "172.16.1.5:5672": "answers"}
    assert list(connections.problems(STRANGER, targets, wrong)) == [
        "  a stranger to keystone, port 5000: silent, must be: answers",
        "  a stranger to rabbitmq, port 5672: answers, must be: silent",
    ]
    assert len(list(connections.problems(STRANGER, targets, {}))) == 2


def test_what_a_node_runs_itself_is_left_out() -> None:
    here = replace(target("rabbitmq", "distribution"), node="cmp1")
    assert not list(connections.problems(COMPUTE, [here], {here.endpoint: "answers"}))


def pod(process: str, address: str, node: str, *, member: int = 0, **spec: Any) -> dict[str, Any]:
    record = RECORDS.processes[process]
    return {
        "metadata": {
            "name": f"{process}-{member}",
            "labels": {contract.NAME: process, contract.COMPONENT: record.project},
        },
        "spec": {"nodeName": node, "containers": [{"image": "image"}], **spec},
        "status": {"phase": "Running", "podIP": address},
    }


PODS = [
    pod("keystone", "172.16.1.2", "controller1"),
    pod("rabbitmq", "172.16.1.3", "controller1"),
    pod("rabbitmq", "172.16.1.5", "controller2", member=1),
    pod("nova-scheduler", "172.16.1.4", "controller1"),
    pod("nova-compute", "10.20.0.61", "cmp1", hostNetwork=True),
]


def test_every_client_of_a_lab_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    answers = {"172.16.1.2:5000"}

    def said(endpoints: Sequence[str], also: set[str]) -> str:
        lines = (f"{each} {'answers' if each in answers | also else 'silent'}" for each in endpoints)
        return "\n".join(lines)

    def kubectl(_lab: object, *words: str, **_more: object) -> subprocess.CompletedProcess[str]:
        asked.append(list(words))
        if words[0] != "exec":
            return subprocess.CompletedProcess(words, 0, "", "")
        endpoints = words[words.index("try") + 1 :]
        reaches: set[str] = {"172.16.1.3:5672"} if words[1].startswith("nova") else set()
        reaches |= {"172.16.1.3:15672"} if words[1].startswith("nova-scheduler") else set()
        among = ("172.16.1.3:15672", "172.16.1.3:25672", "172.16.1.3:4369", "172.16.1.3:5672")
        reaches |= {*among, "172.16.1.3:6000", "172.16.1.3:6500"} if words[1] == "rabbitmq-1" else set()
        return subprocess.CompletedProcess(words, 0, said(endpoints, reaches), "")

    def outside(command: Sequence[str], **_more: object) -> subprocess.CompletedProcess[str]:
        endpoints = command[command.index(str(network.OUTSIDE.ip)) + 1 :]
        return subprocess.CompletedProcess(command, 0, said(endpoints, set()), "")

    def of_openstack(_lab: object, _kinds: str) -> list[dict[str, Any]]:
        return PODS

    monkeypatch.setattr(masters, "kubectl", kubectl)
    monkeypatch.setattr(workloads, "of_openstack", of_openstack)
    monkeypatch.setattr(connections.subprocess, "run", outside)
    made = plan(load_file(STACKS["dev"]))
    text = connections.try_all(LAB, made)
    assert text.splitlines() == [
        "a host outside of the cloud: 7 of 8 ports refused; admitted by keystone",
        "a pod of nova-scheduler: 5 of 8 ports refused; admitted by keystone, rabbitmq",
        "a pod of keystone: 7 of 8 ports refused; admitted by keystone",
        "a pod of nova-compute: 6 of 8 ports refused; admitted by keystone, rabbitmq",
        "another member of rabbitmq: 1 of 8 ports refused; admitted by keystone, rabbitmq",
        "a pod with Keystone's labels in another namespace: 7 of 8 ports refused; admitted by keystone",
    ]
    assert asked[-1][:3] == ["delete", "namespace", connections.STRANGER]
    answers.add("172.16.1.3:25672")
    with pytest.raises(UserError, match="outside of the cloud to rabbitmq, port 25672: answers, must be: silent"):
        connections.try_all(LAB, made)
