"""Hosts that commands and cloud-init configure are machines to the rules. An unknown command has its own rule."""

from __future__ import annotations

import json

from policy.findings import Enforcement, Verdict
from policy.rule import Rule, S, evaluate
from policy.rules.kubernetes_programs import leader_election
from policy.rules.machine_files import machine_facts_match_files
from tests.policy.tables.commands import ssh
from tests.policy.world import SERVER, UNKNOWN, Given, facts, machine
from tests.sound.sound import node

KUBEADM = "kind: InitConfiguration\n---\nkind: ClusterConfiguration\nscheduler: {extraArgs: {leader-elect: 'false'}}\n"


def told(rule: Rule[S], *given: Given) -> list[str]:
    """Messages of what fails or is not evaluated."""
    return [each.message for each in evaluate(rule, facts(given), Enforcement.MANDATORY) if each.verdict.is_violation]


def flagged(server: str, more: str = "", host: object = "n1") -> Given:
    """A command that writes kubelet's flags."""
    return ssh("flags", f"echo KUBELET_EXTRA_ARGS=--node-labels={SERVER}={server}{more} > /etc/default/kubelet", host)


def kubeadm(host: object) -> Given:
    return ssh("init", f"cat > /etc/kubernetes/kubeadm.yaml <<'END'\n{KUBEADM}END\n", host)


def test_flags_agree_with_the_node() -> None:
    assert told(machine_facts_match_files, flagged("s1"), node("n1", "s1")) == []
    assert told(machine_facts_match_files, flagged("s1"), node("n1", "s2")) == [
        f"machine n1: label {SERVER} is s1 in /etc/default/kubelet and s2 in the Node; expected the same in both"
    ]
    (taint,) = told(
        machine_facts_match_files, flagged("s1", " --register-with-taints=a=b:NoSchedule"), node("n1", "s1")
    )
    assert "sets taints a=b:NoSchedule, which the Node lacks" in taint


def test_without_a_node_there_is_nothing_to_compare() -> None:
    found = evaluate(machine_facts_match_files, facts([flagged("s1")]), Enforcement.MANDATORY)
    assert [each.verdict for each in found] == [Verdict.NOT_APPLICABLE]


def test_kubeadm_on_a_known_and_on_an_unknown_host() -> None:
    for host in ("10.0.0.1", UNKNOWN):
        (message,) = told(leader_election, kubeadm(host))
        assert "scheduler has leader-elect=false; expected true" in message


def test_a_declared_machine_has_what_commands_write_and_is_not_read_twice() -> None:
    declared = machine("m1", "master", roles=["master"]).but(address="10.0.0.1")
    (message,) = told(leader_election, declared, kubeadm("10.0.0.1"))
    assert message.startswith("machine m1 with the files of init: scheduler has leader-elect=false")


def test_a_file_that_is_no_yaml_is_not_evaluated() -> None:
    (message,) = told(leader_election, ssh("init", "echo '{' > /etc/kubernetes/kubeadm.yaml", "10.0.0.1"))
    assert "is not valid YAML" in message


def test_cloud_init_writes_files_in_plain_text_and_base64() -> None:
    files = [{"path": "/etc/kubernetes/kubeadm.yaml", "encoding": "b64", "content": "a2luZDogeA=="}]
    data = "#cloud-config\n" + json.dumps({"hostname": "m1", "write_files": files})
    disk = Given("libvirt:index/cloudInitDisk:CloudInitDisk", "disk", {"userData": data})
    (placed,) = facts([disk]).machines
    assert placed.node == "m1"
    assert dict(placed.files) == {"/etc/kubernetes/kubeadm.yaml": "kind: x"}
