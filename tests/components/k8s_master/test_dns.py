"""CoreDNS, which kubeadm starts on the first master, is spread over the servers of the masters."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import dns
from tests.stacks import STACKS


def planned(stack: str) -> Plan:
    return plan(load_file(STACKS[stack]))


def pod_template(of: Plan) -> dict[str, Any]:
    """The pod template of the file that the first master applies to kubeadm's Deployment."""
    (file,) = dns.parts(of, of.masters[0]).files
    assert isinstance(file.content, str)
    return yaml.safe_load(file.content)["spec"]["template"]["spec"]


def test_only_the_first_master_changes_the_deployment() -> None:
    found = planned("dev")
    steps = {master.name: [step.name for step in dns.parts(found, master).steps] for master in found.masters}
    first, *others = steps.values()
    assert first == ["configure-dns"]
    assert others == [[], []]


@pytest.mark.parametrize(("stack", "domains"), [("dev", 2), ("ra1000", 3)])
def test_pods_wait_for_a_second_server(stack: str, domains: int) -> None:
    """Without minDomains, both pods would start on the first master before the others are Ready."""
    (constraint,) = pod_template(planned(stack))["topologySpreadConstraints"]
    assert constraint["topologyKey"] == "quorate.io/server"
    assert constraint["whenUnsatisfiable"] == "DoNotSchedule"
    assert constraint["minDomains"] == domains


def test_masters_on_one_server_keep_the_deployment_of_kubeadm() -> None:
    found = planned("one-server")
    assert dns.parts(found, found.masters[0]).files == ()
