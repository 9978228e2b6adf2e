"""Replacements in a drill, of machines and of an authority: how `quorate` is run, and in which order."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import contract
from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from console.errors import UserError
from tests.stacks import STACKS
from trials.cloud import bring_up, disks, masters, network, nspawn, power, ssh_access
from trials.cloud.drill import another_authority as drill_of_authority
from trials.cloud.drill import lost_majority as lost_majority_drill
from trials.cloud.drill import replaced_machine, workloads
from trials.cloud.drill.another_authority import another_authority
from trials.cloud.drill.lost_majority import lost_majority
from trials.cloud.drill.operator import Operator
from trials.cloud.lab_machines import Lab, lab_of

PROGRAM = """
import os, pathlib, sys, time
words = " ".join(sys.argv[1:])
with pathlib.Path("called").open("a") as calls: calls.write(words + "\\n")
if "--plan" in words: sys.exit(3 if pathlib.Path("called").read_text().count("--plan") == 1 else 0)
if "--dead" in words:
    print("  2. rabbitmq-1: remove the others", flush=True); print(" 2. rabbitmq-1: remove the others", flush=True)
    print(" 5. remove rabbitmq-1", flush=True); print(" 6. delete node controller2, and its pods", flush=True)
    if words in pathlib.Path("called").read_text().splitlines()[:-1]: sys.exit(0)
    time.sleep(60)
updates = pathlib.Path("called").read_text().count("up --stack") if words.startswith("up") else 0
if updates == 2 and "REFUSED" in os.environ: sys.exit(os.environ["REFUSED"])
if updates == (3 if "REFUSED" in os.environ else 2):
    print("waiting for 1: Command cloud-virt1-master1-apply", flush=True)
    time.sleep(60)
if "fails" in words: print("it says why"); sys.exit(1)
if "plans" in words: print("  2. a step of the plan"); sys.exit(0)
"""
"""What `quorate` is in these tests: the first plan has a reason against it; the first removal and the second update do
not end. With REFUSED, the second update says that and fails, and the third does not end."""


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return lab_of("dev", plan(load_file(STACKS["dev"])), tmp_path)


@pytest.fixture
def operator(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Operator:
    @contextmanager
    def agent() -> Generator[dict[str, str]]:
        yield {"SSH_AUTH_SOCK": "here"}

    @contextmanager
    def prepared(_lab: Lab) -> Generator[None]:
        yield

    monkeypatch.setattr(ssh_access, "agent", agent)
    monkeypatch.setattr(disks, "prepared", prepared)
    monkeypatch.chdir(tmp_path)
    return Operator(lab, [sys.executable, "-c", PROGRAM], "dev-cloud", {})


def quiet(_message: str) -> None:
    """Takes what is said."""


def called() -> list[str]:
    return Path("called").read_text(encoding="utf-8").splitlines()


def test_a_command_that_fails_is_an_error_with_what_it_said(operator: Operator) -> None:
    with pytest.raises(UserError, match=r"`quorate replace fails` failed:\nit says why"):
        operator.runs("replace", "fails", say=quiet)


def test_a_command_that_ends_before_it_is_killed_is_an_error(operator: Operator) -> None:
    with pytest.raises(UserError, match="`quorate status` ended before it could be killed"):
        operator.is_killed("status", at="delete node", say=quiet)


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done to machines, in its order. Nothing is done."""
    found: list[str] = []

    def note(title: str) -> Any:
        def noted(*_arguments: object, **values: object) -> None:
            found.append(f"{title} {values}" if values else title)

        return noted

    def host_key(_machine: object) -> str:
        return "ssh-ed25519 AAAA"

    monkeypatch.setattr(network, "set_connected", note("cables"))
    monkeypatch.setattr(nspawn, "cut_power", note("power cut"))
    monkeypatch.setattr(bring_up, "replace_disk", note("empty disk"))
    monkeypatch.setattr(disks, "discard", note("empty OSD"))
    monkeypatch.setattr(power, "switch_on", note("power on"))
    monkeypatch.setattr(ssh_access, "host_key", host_key)
    monkeypatch.setattr(replaced_machine, "PERIOD", 0)
    return found


def test_a_restoration_is_not_killed_while_it_says_its_plan(operator: Operator) -> None:
    with pytest.raises(UserError, match="ended before it could be killed"):
        operator.is_killed("restore", "plans", at=lost_majority_drill.KILLED_AT, say=quiet)


def test_a_machine_dies_is_removed_twice_comes_and_is_whole(lab: Lab, operator: Operator, done: list[str]) -> None:
    def evacuate() -> str:
        done.append("evacuated")
        return "2 instances, 40 s"

    disturbance = replaced_machine.replacement(lab, "storage2", operator, ["mysqld"], evacuate)
    assert disturbance.machines == ("storage2",)
    assert disturbance.donating == ["mysqld"]
    assert "storage2" not in {each.name for each in disturbance.witnesses}
    assert disturbance.act(list, quiet) == ()
    assert done == [
        "cables {'on': False}", "power cut", "empty disk", "empty OSD", "evacuated", "cables {'on': True}", "power on",
    ]  # fmt: skip
    removal = "replace storage2 --dead --host-key ssh-ed25519 AAAA --stack dev-cloud"
    assert called() == [
        *["replace storage2 --plan --stack dev-cloud"] * 2,
        *[removal] * 2,
        "up --stack dev-cloud",
        "replace storage2 --end --stack dev-cloud",
    ]


def test_quorums_without_a_majority_go_on_before_machines_are_replaced(
    lab: Lab, operator: Operator, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_openstack(_lab: Lab, _kinds: str) -> list[dict[str, Any]]:
        return [
            {"metadata": {"labels": {contract.NAME: quorum}}, "spec": {"nodeName": node}}
            for quorum, nodes in {
                "rabbitmq": ("database1", "database2", "database3"),
                "ceph-mon": ("database1", "database2", "storage1"),
                "keystone": ("database2", "database3", "database2"),
                "ovn-nb": ("database2",),
            }.items()
            for node in nodes
        ]

    monkeypatch.setattr(workloads, "of_openstack", of_openstack)
    quorums = {"rabbitmq": 3, "ceph-mon": 3, "ovn-nb": 1}
    disturbance = lost_majority(lab, ["database2", "database3"], operator, quorums, ["mysqld"])
    assert not disturbance.keeps_majority
    assert {*disturbance.machines} == {"database2", "database3"}
    assert not {*disturbance.machines} & {each.name for each in disturbance.witnesses}
    assert disturbance.act(list, quiet) == ()
    dead = ["cables {'on': False}", "power cut"] * 2 + ["empty disk"] * 2
    assert done == [*dead, *["cables {'on': True}", "power on"] * 2], "these have no disk of an OSD"
    of = "restore rabbitmq --dead database2 --dead database3"
    replaced = [
        [
            f"replace {name} --plan --stack dev-cloud",
            *[f"replace {name} --dead --host-key ssh-ed25519 AAAA --stack dev-cloud"] * 2,
            "up --stack dev-cloud",
            f"replace {name} --end --stack dev-cloud",
        ]
        for name in ("database2", "database3")
    ]
    assert called() == [
        *[f"{of} --plan --stack dev-cloud"] * 2,
        *[f"{of} --confirm dev-cloud --stack dev-cloud"] * 2,
        *replaced[0],
        *replaced[1],
    ]


def test_nothing_is_replaced_if_a_quorum_does_not_go_on(
    lab: Lab, operator: Operator, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pods = [{"metadata": {"labels": {contract.NAME: "fails"}}, "spec": {"nodeName": "database2"}}] * 2

    def of_openstack(_lab: Lab, _kinds: str) -> list[dict[str, Any]]:
        return pods

    monkeypatch.setattr(workloads, "of_openstack", of_openstack)
    monkeypatch.setattr(lost_majority_drill, "KILLED_AT", "never")
    problems = lost_majority(lab, ["database2", "database3"], operator, {"fails": 3}, []).act(list, quiet)
    assert "`quorate restore fails` ended before it could be killed" in problems[0]
    assert "power on" not in done
    assert not any(each.startswith("replace") for each in called())


def test_masters_are_not_lost_at_once(lab: Lab, operator: Operator) -> None:
    with pytest.raises(UserError, match="master1, master2: write machines that are no masters"):
        lost_majority(lab, ["database1", "master1", "master2"], operator, {}, [])


def test_the_only_master_is_not_replaced(tmp_path: Path, operator: Operator) -> None:
    single = lab_of("two-computes", plan(load_file(STACKS["two-computes"])), tmp_path)
    with pytest.raises(UserError, match="master1 is the only master"):
        replaced_machine.replacement(single, "master1", operator, ["mysqld"])


def test_etcd_s_authority_is_replaced_in_three_deployments(lab: Lab, operator: Operator) -> None:
    deployed: list[tuple[object, object, int]] = []

    def deploy(generations: Mapping[str, Any]) -> None:
        before = len(called()) if Path("called").exists() else 0
        deployed.append((generations["uses"], generations["trusts"], before))

    assert another_authority(lab, operator, "etcd", 3, deploy).act(list, quiet) == ()
    assert deployed == [(3, [3, 4], 0), (4, [3, 4], 1), (4, [4], 3)], "generations, and updates before each"
    assert called() == ["up --stack dev-cloud"] * 4, "the second deployment was killed once"


def restarted(lab: Lab, operator: Operator, refused: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[str]]:
    """Replaces Kubernetes' authority, of which `up` refuses the second deployment. Returns problems and restarts."""
    restarts: list[str] = []

    def kubectl(_lab: Lab, *words: str, timeout: float = 0) -> subprocess.CompletedProcess[str]:
        restarts.append(" ".join(words))
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(masters, "kubectl", kubectl)
    monkeypatch.setattr(drill_of_authority, "SPREADS", 0)
    operator = replace(operator, environment={"REFUSED": refused})
    return another_authority(lab, operator, "kubernetes", 1, lambda _generations: None).act(list, quiet), restarts


def test_pods_restart_before_another_authority_of_kubernetes_signs(
    lab: Lab, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = (
        "read: kube-system:DaemonSet/kube-proxy kube-system:ReplicaSet/coredns-5f7. Restart them (rollout restart …)"
    )
    problems, restarts = restarted(lab, operator, refused, monkeypatch)
    assert problems == ()
    of = "--namespace=kube-system"
    assert restarts == [
        f"rollout restart daemonset/kube-proxy {of}", f"rollout status daemonset/kube-proxy {of} --timeout=900s",
        f"rollout restart deployment/coredns {of}", f"rollout status deployment/coredns {of} --timeout=900s",
    ]  # fmt: skip
    assert called() == ["up --stack dev-cloud"] * 5, "the second deployment was refused, killed, and went on"


def test_only_kubernetes_authority_ends_the_access_of_the_observer(lab: Lab, operator: Operator) -> None:
    ends = {
        each: another_authority(lab, operator, each, 1, lambda _: None).ends_access for each in ("kubernetes", "etcd")
    }
    assert ends == {"kubernetes": True, "etcd": False}


def test_a_second_deployment_that_names_no_pods_fails_the_drill(
    lab: Lab, operator: Operator, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems, restarts = restarted(lab, operator, "no API server answers", monkeypatch)
    assert "named no pods that must restart before the new authority signs:\nno API server answers" in problems[0]
    assert restarts == []


def test_a_deployment_of_etcd_s_authority_waits_for_the_one_before(lab: Lab, operator: Operator) -> None:
    problems = another_authority(lab, operator, "etcd", 1, lambda _generations: None).act(
        lambda: ["etcd on master2"], quiet
    )
    assert problems == ["not ready when both authorities are trusted: etcd on master2"]
    assert called() == ["up --stack dev-cloud"]
