"""The policy pack on stacks of the real Fuel-CCP topologies, and of the sample of source 004 that has a plan (2.1.4).

The topologies place one member of most quorums, share nodes and leave rows out. The rules report this, and no other.
test_topology.py in tests/engine evaluates a topology on the real engine.
"""

from __future__ import annotations

from pathlib import Path

import pulumi
import pytest

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from components.cloud import Cloud, CloudArgs
from components.target.render import Render
from policy.catalogue import BY_ID
from policy.findings import Enforcement, Finding, Verdict
from policy.rule import evaluate
from tests.policy.world import Given, facts, stack
from tests.recording import record
from tests.stacks import ROOT, parsed, server
from tests.topologies import REAL

TABLE = {"instances-match-row", "every-row-has-workload", "dedicated-nodes-are-there"}
"""Rules that compare a stack with the whole architecture, of which each topology has a part."""
SINGLE = {"galera-size", "rabbitmq-size"}
SHARED = {"one-role-per-machine", "services-apart"}
"""Computes that are controllers too, and Horizon on a node of Keystone."""
AGENTS = {"network-agents-beside-server"}
"""Agents of Neutron that may run where neutron-server does not."""

VIOLATED = {
    "docs__monitoring_and_logging_1.yaml": TABLE | {"metrics-store-size"},
    "tests__3galera_1comp.yaml": TABLE | SINGLE | AGENTS | {"one-role-per-machine"},
    "topology-example.yaml": TABLE | SINGLE | SHARED,
    "topology-with-ceph-example.yaml": TABLE | SINGLE | SHARED,
    "topology-with-stacklight-example.yaml": TABLE | SINGLE | SHARED | {"metrics-store-size", "log-store-size"},
    "texts/2.1.4-environment.yaml": TABLE | SINGLE | SHARED | AGENTS,
}
"""The violated rules of each topology's stack, which has three nodes; the environments of 2.1.4 have nine."""


@pytest.fixture(autouse=True)
def _in_a_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def planned(file: Path) -> Plan:
    nodes = server(f"node[1-{9 if file.parent.name == 'texts' else 3}]", [], "10.20.1.1")
    servers = [server("master[1-3]", ["master"], "10.20.0.1"), nodes]
    topology = str(file.relative_to(ROOT))
    return plan(parsed({"profile": "lab", "architecture": "100", "topology": topology, "servers": servers}))


def findings(made: Plan) -> dict[str, list[Finding]]:
    def build() -> None:
        root = pulumi.Output.secret("the root secret of these tests")
        Cloud("cloud", CloudArgs(made, "test", Render("test"), root))

    given = [
        Given(each.type, each.name, each.inputs, after=tuple(each.depends_on), parent=each.parent)
        for each in record(build)
    ]
    evaluated = facts([stack(), *given], profile="lab")
    return {name: evaluate(rule, evaluated, Enforcement.ADVISORY) for name, rule in BY_ID.items()}


@pytest.mark.parametrize("name", VIOLATED)
def test_the_pack_evaluates_every_rule(name: str) -> None:
    found = findings(planned(REAL / name))
    verdicts = {rule: {finding.verdict for finding in each} for rule, each in found.items()}
    assert not [rule for rule, each in verdicts.items() if Verdict.NOT_EVALUATED in each]
    assert {rule for rule, each in verdicts.items() if Verdict.FAIL in each} == VIOLATED[name]


def test_every_real_topology_is_evaluated() -> None:
    files = {file.name for file in REAL.glob("*.yaml") if "golden" not in file.name}
    assert files == {name for name in VIOLATED if "/" not in name}
