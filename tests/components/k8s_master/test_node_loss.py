"""A node that is down is noticed soon, by settings that agree with each other, except in very large clouds."""

from __future__ import annotations

from typing import Any

import yaml

from blueprint.plan.plan import Plan
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files
from components.k8s_master import kubeadm, node_loss
from tests.blueprint.stackfile.placeholders import CERTIFICATES
from tests.stacks import STACKS

LEASE_RENEWALS = 4
"""How often kubelet renews its node's Lease while it lasts (Kubernetes' nodeLeaseRenewIntervalFraction: 0.25)."""


def planned(stack: str) -> Plan:
    return plan(load_file(STACKS[stack]))


def arguments(program: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in program["extraArgs"]}


def test_a_connection_to_a_dead_api_server_is_left_before_the_node_is_not_ready() -> None:
    assert node_loss.IDLE + node_loss.PING + node_loss.LEASE / LEASE_RENEWALS < node_loss.GRACE


def test_three_renewals_may_fail() -> None:
    assert node_loss.GRACE >= node_loss.LEASE


def test_every_machine_has_kubelets_variables() -> None:
    for node in planned("dev").nodes:
        files = machine_files.parts(planned("dev"), node, CERTIFICATES).files
        (drop_in,) = (each for each in files if "kubelet.service.d" in each.path)
        assert "Environment=HTTP2_READ_IDLE_TIMEOUT_SECONDS=5\n" in str(drop_in.content)
        assert drop_in.restarts is not None
        assert drop_in.restarts.disrupts is None


def test_the_masters_programs_have_them_too() -> None:
    cluster = kubeadm.cluster_configuration(planned("dev"))
    assert arguments(cluster["controllerManager"])["node-monitor-grace-period"] == "25s"
    for program in ("controllerManager", "scheduler"):
        names = [each["name"] for each in cluster[program]["extraEnvs"]]
        assert names == ["HTTP2_READ_IDLE_TIMEOUT_SECONDS", "HTTP2_PING_TIMEOUT_SECONDS"]


def test_all_kubelets_have_the_shorter_lease() -> None:
    dev = planned("dev")
    (file,) = (
        each for each in kubeadm.parts(dev, dev.masters[0], CERTIFICATES).files if each.path.endswith("kubeadm.yaml")
    )
    documents = {each["kind"]: each for each in yaml.safe_load_all(str(file.content))}
    assert documents["KubeletConfiguration"]["nodeLeaseDurationSeconds"] == node_loss.LEASE


def test_a_thousand_nodes_keep_the_defaults() -> None:
    large = planned("ra1000")
    cluster = kubeadm.cluster_configuration(large)
    assert "node-monitor-grace-period" not in arguments(cluster["controllerManager"])
    assert "extraEnvs" not in cluster["scheduler"]
    assert node_loss.parts(large).files == ()
