"""A production stack broken in one way is stopped by the real engine, which names the rule and the resource.

The whole program runs; only the inputs of one resource are changed on their way to the engine (breakages.py).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.broken.breakages import BREAKAGES
from tests.stacks import ROOT, STACKS

EXPECTED: dict[str, dict[str, set[str]]] = {
    "an instance less than the row": {"instances-match-row": {"cloud-glance-api"}},
    "Galera of two": {
        "instances-match-row": {"cloud-mysqld"},
        "galera-size": {"cloud-mysqld"},
        "budget-keeps-majority": {"cloud-mysqld"},
    },
    "RabbitMQ of four": {
        "instances-match-row": {"cloud-rabbitmq"},
        "rabbitmq-size": {"cloud-rabbitmq"},
        "replicas-fit-nodes": {"cloud-rabbitmq"},
        "one-member-per-server": {"cloud-rabbitmq"},
    },
    "two instances may share a node": {"one-instance-per-node": {"cloud-keystone"}},
    "two members may share a server": {"one-member-per-server": {"cloud-mysqld"}},
    "horizon on keystone's nodes": {"services-apart": {"cloud-horizon", "cloud-keystone"}},
    "a service beside an OSD": {"nothing-beside-osd": {"cloud-nagios"}},
    "a guest that RabbitMQ's nodes do not admit": {"dedicated-nodes-admit-guests": {"cloud-nova-conductor"}},
    "the L2 agent away from computes": {
        "everywhere-rows-are-daemons": {"cloud-neutron-l2-agent"},
        "l2-agent-goes-along": {"cloud-nova-compute"},
    },
    "a budget that selects nothing": {
        "quorum-has-budget": {"cloud-rabbitmq"},
        "budget-guards-one-workload": {"cloud-rabbitmq"},
    },
    "a budget that gives the majority away": {"budget-keeps-majority": {"cloud-mysqld"}},
    "a budget that no drain can pass": {"drain-can-finish": {"cloud-ceph-mon"}},
    "a surge into a full pool": {"rollout-can-finish": {"cloud-keystone"}},
    "a Service in front of nothing": {"load-balanced-row-has-service": {"cloud-glance-api"}},
    "a dedicated node that lets everybody in": {"dedicated-nodes-are-there": {"cloud"}},
    "two masters on one server": {"masters-apart": {"cloud-masters", "cloud-masters-etcd"}},
}


@dataclass(frozen=True)
class Project:
    """A copy of the program that breaks what QUORATE_BREAK names, with a state of its own."""

    path: Path

    @property
    def environment(self) -> dict[str, str]:
        state = (self.path / "state").as_uri()
        return {
            **os.environ,
            "PULUMI_BACKEND_URL": state,
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_DEBUG_COMMANDS": "true",
        }

    def pulumi(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        command = ["pulumi", *arguments, "--non-interactive"]
        return subprocess.run(
            command, cwd=self.path, env=self.environment | environment, capture_output=True, text=True, check=False
        )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    if shutil.which("pulumi") is None:
        pytest.skip("the engine is not on PATH: `make setup`, then `. .venv/bin/activate`")
    copy = Project(tmp_path_factory.mktemp("broken"))
    for folder in ("blueprint", "components", "policy", "tests"):
        shutil.copytree(ROOT / folder, copy.path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Pulumi.yaml", copy.path)
    shutil.copy(STACKS["prod"], copy.path / "Pulumi.prod.yaml")
    program = (ROOT / "__main__.py").read_text(encoding="utf-8")
    breaking = "import tests.broken.breakages\n\ntests.broken.breakages.install()\n"
    future = "from __future__ import annotations\n"
    (copy.path / "__main__.py").write_text(program.replace(future, future + breaking), encoding="utf-8")
    (copy.path / "state").mkdir()
    made = copy.pulumi("stack", "init", "prod")
    assert made.returncode == 0, made.stderr
    return copy


def violations(log: Path) -> dict[str, set[str]]:
    """Names of the resources that the engine says a mandatory rule stopped, by rule."""
    found: dict[str, set[str]] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line).get("policyEvent")
        if event:
            assert event["enforcementLevel"] == "mandatory", event
            found.setdefault(event["policyName"], set()).add(event["resourceUrn"].rpartition("::")[2])
    return found


@pytest.mark.parametrize("name", BREAKAGES)
def test_the_engine_stops_it(project: Project, tmp_path: Path, name: str) -> None:
    log = tmp_path / "events.jsonl"
    options = ("--stack", "prod", "--policy-pack", "policy", "--event-log", str(log))
    run = project.pulumi("preview", *options, QUORATE_BREAK=name)
    assert run.returncode != 0
    assert violations(log) == EXPECTED[name], run.stdout[-3000:]
    for rule, resources in EXPECTED[name].items():
        assert rule in run.stdout
        assert all(resource in run.stdout for resource in resources)
