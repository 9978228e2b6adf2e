"""CoreDNS, which kubeadm starts on the first master, is spread over the servers of the masters."""

from __future__ import annotations

from typing import Any

import yaml

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import dns
from components.machine import Parts
from tests.stacks import STACKS


def of_first_master(stack: str) -> Parts:
    planned = plan(load_file(STACKS[stack]))
    return dns.parts(planned, planned.masters[0])


def deployment(stack: str) -> dict[str, Any]:
    (file,) = of_first_master(stack).files
    return yaml.safe_load(str(file.content))


def test_two_pods_are_never_on_one_server() -> None:
    """The second pod waits for a second master: minDomains counts servers that no node has yet."""
    (constraint,) = deployment("dev")["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert constraint["topologyKey"] == "quorate.io/server"
    assert constraint["whenUnsatisfiable"] == "DoNotSchedule"
    assert (constraint["maxSkew"], constraint["minDomains"]) == (1, 2)
    assert constraint["labelSelector"] == {"matchLabels": {"k8s-app": "kube-dns"}}


def test_six_pods_are_spread_over_all_masters() -> None:
    (constraint,) = deployment("ra1000")["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert constraint["minDomains"] == 3


def test_masters_on_one_server_keep_kubeadms_deployment() -> None:
    assert of_first_master("one-server") == Parts()
