"""A production stack broken in one way is caught by the policy pack, which names the rule and the resource.

The real engine previews each stack once and sends it to the pack. For every case, the resources of that request are
changed, or hand-written objects are added, and the pack evaluates it again. For one case of each kind, the whole
program runs on the engine, and the inputs are changed on their way to it (breakages.py): both ways must find the same.
cases/ lists the cases, each with the rules that must catch it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import pytest

from policy.catalogue import BY_ID
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Enforcement
from tests.broken.broken import Broken
from tests.broken.cases import BY_NAME
from tests.engine_settings import ENGINE_SETTINGS
from tests.policy.requests import Sent
from tests.shared import made_once
from tests.stacks import HALF_WRITTEN, ROOT, STACKS, copy_sources

OWN = Path(__file__).parent / "stacks"
"""Stacks that only these tests use, by name."""
RECORDING = ROOT / "tests" / "policy" / "packs" / "recording"
ON_THE_ENGINE = (
    "hand-written objects",
    "classic queues",
    "half of a quorum on one server",
    "computes without kubelet's configuration",
    "a master tier without etcd",
    "a further Galera of two",
    "virtual machines larger than their host",
    "API servers with the default limit at 1000 nodes",
)
"""Names of cases that run on the engine: every way to break a stack is among them."""


@dataclass(frozen=True)
class Project:
    """A copy of the program that breaks the stack as QUORATE_BREAK names, with a separate state."""

    path: Path

    @property
    def environment(self) -> dict[str, str]:
        state = (self.path / "state").as_uri()
        return {**os.environ, **ENGINE_SETTINGS, "PULUMI_BACKEND_URL": state}

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
    copy_sources(copy.path)
    shutil.copytree(ROOT / "tests", copy.path / "tests", ignore=HALF_WRITTEN)
    stacks = sorted({broken.stack for broken in BY_NAME.values()})
    for stack in stacks:
        shutil.copy(STACKS.get(stack, OWN / f"{stack}.yaml"), copy.path / f"Pulumi.{stack}.yaml")
    program = (ROOT / "__main__.py").read_text(encoding="utf-8")
    breaking = "import tests.broken.breakages\n\ntests.broken.breakages.install()\n"
    future = "from __future__ import annotations\n"
    broken = program.replace(future, future + breaking) + "\ntests.broken.breakages.add()\n"
    (copy.path / "__main__.py").write_text(broken, encoding="utf-8")
    (copy.path / "state").mkdir()
    for stack in stacks:
        made = copy.pulumi("stack", "init", stack)
        assert made.returncode == 0, made.stderr
    return copy


def violations(log: Path) -> dict[str, set[str]]:
    """Names of the resources that the engine names, by rule; at the level that the rule has in production."""
    found: dict[str, set[str]] = {}
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line).get("policyEvent")
        if event:
            rule = event["policyName"]
            assert event["enforcementLevel"] == BY_ID[rule].enforced(PRODUCTION), event
            found.setdefault(rule, set()).add(event["resourceUrn"].rpartition("::")[2])
    return found


@pytest.fixture(scope="module")
def sent(project: Project, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Sent]:
    """Returns a function that returns what the engine sends to the pack for a stack without a fault."""

    def preview(stack: str, directory: Path) -> None:
        options = ("--stack", stack, "--policy-pack", str(RECORDING))
        run = project.pulumi("preview", *options, QUORATE_REQUESTS=str(directory))
        assert run.returncode == 0, run.stdout[-3000:]

    @cache
    def get(stack: str) -> Sent:
        return Sent.read(made_once(tmp_path_factory, f"sent-{stack}", partial(preview, stack)))

    return get


@pytest.mark.parametrize("broken", BY_NAME.values(), ids=lambda broken: broken.name)
def test_the_pack_catches_it(sent: Callable[[str], Sent], broken: Broken) -> None:
    received = sent(broken.stack)
    for kind, name, change in broken.changes:
        received = received.changed(kind, name, change)
    found = received.with_objects(*broken.adds).violations()
    assert {rule: set(resources) for rule, resources in found.items()} == broken.expected
    for rule, resources in found.items():
        assert set(resources.values()) == {BY_ID[rule].enforced(PRODUCTION)}


@pytest.mark.parametrize("broken", [BY_NAME[name] for name in ON_THE_ENGINE], ids=lambda broken: broken.name)
def test_the_engine_stops_it(project: Project, tmp_path: Path, broken: Broken) -> None:
    log = tmp_path / "events.jsonl"
    options = ("--stack", broken.stack, "--policy-pack", "policy", "--event-log", str(log))
    run = project.pulumi("preview", *options, QUORATE_BREAK=broken.name)
    assert violations(log) == broken.expected, run.stdout[-3000:]
    stops = any(BY_ID[rule].enforced(PRODUCTION) is Enforcement.MANDATORY for rule in broken.expected)
    assert (run.returncode != 0) == stops
    for rule, resources in broken.expected.items():
        assert rule in run.stdout
        assert all(resource in run.stdout for resource in resources)
