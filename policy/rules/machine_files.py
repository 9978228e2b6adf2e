"""Configuration files of machines: they exist, and agree with the machine's properties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import contract
from contract import RACK, SERVER, ZONE
from policy.facts.kubernetes.node import MACHINE_TYPES
from policy.facts.machines.etcd_files import runs_etcd
from policy.facts.machines.machine import MachineFacts
from policy.facts.machines.registration import JOINING, KUBELET, joins_as_master, registrations
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.shell.syntax import is_known
from policy.wording import join_names


def _is_node(machine: MachineFacts) -> bool:
    return bool(machine.resource.props.at("pool").text())


def _is_member(facts: Facts, machine: MachineFacts) -> bool:
    return machine.single and any(member.node == machine.node for etcd in facts.etcds for member in etcd.members)


def _is_set_up(facts: Facts, machine: MachineFacts) -> bool:
    """Whether the stack sets the machine up as a node, or as a member of etcd that is not a node."""
    if machine.is_existing:
        return False
    return _is_node(machine) or (not machine.is_placed and _is_member(facts, machine))


@rule(
    id="machine-has-its-files",
    title="Every machine has the files that make it a node, a master or an etcd member",
    severity=Severity.CRITICAL,
    rationale="A machine without kubeadm's and kubelet's configuration does not join the cluster, and a member without "
    "etcd's unit does not start. Rules on the contents of a file cannot evaluate a missing file.",
    sources=(
        RuleSource("project", "Machines", 1),
        RuleSource("004", "5.5.9", 4),
    ),
    remediation="Give the machine a kubeadm configuration and a KubeletConfiguration, and every etcd member a unit or "
    "a static pod that runs etcd.",
    subjects=lambda facts: facts.machines,
    applies=_is_set_up,
    not_applicable_reason="the stack has no machine that is a node or an etcd member",
    reads_machine_files=True,
    since="0.2.0",
)
def machine_has_its_files(facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Requires of a node kubeadm's and kubelet's configuration, of an etcd member a file that runs etcd."""
    kinds = {each.get("kind") for each in machine.documents}
    if _is_node(machine) and not kinds & set(JOINING):
        yield RuleProblem("no kubeadm configuration", f"a document of kind {' or '.join(JOINING)}")
    if _is_node(machine) and KUBELET not in kinds:
        yield RuleProblem("no kubelet configuration", f"a document of kind {KUBELET}")
    if _is_member(facts, machine) and not runs_etcd(machine.files):
        yield RuleProblem("nothing runs etcd", "a systemd unit or a static pod for the member")


def _is_described(_facts: Facts, machine: MachineFacts) -> bool:
    """Whether a machine has files, and labels to compare them with.

    A host on which the stack only places files has the labels of the Node object with its name, if there is one.
    """
    return bool(machine.files) and (not machine.is_placed or machine.resource.props.at("labels").given())


@rule(
    id="machine-facts-match-files",
    title="Labels, taints, name, address and role of a machine agree with its files",
    severity=Severity.CRITICAL,
    rationale="kubelet registers the node with the labels and taints of the files. If the machine's properties differ, "
    "rules on placement evaluate another cluster than the one that starts.",
    sources=(RuleSource("project", "Machines", 2),),
    remediation="Write the same labels, taints, name and address in the machine's properties, in kubeadm's "
    "nodeRegistration and in kubelet's configuration; of a host that commands configure, in its Node object.",
    subjects=lambda facts: facts.machines,
    applies=_is_described,
    not_applicable_reason="no machine of the stack has files, and properties or a Node to compare them with",
    reads_machine_files=True,
    since="0.2.0",
    single=MACHINE_TYPES,
)
def machine_facts_match_files(_facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Compares labels, taints, name, address and role of a machine with its kubeadm and kubelet files.

    A pool's files are templates with placeholders, such as ${node}, for values that differ by node.
    """
    if machine.is_placed:
        yield from _against_node(machine)
        return
    labels, taints = _labels(machine), _taints(machine)
    name = machine.node if machine.single else "${node}"
    for found in registrations(machine):
        if found.labels is not None:
            yield from _different_labels(found.source, found.labels, labels)
        if found.taints is not None and found.taints != taints:
            yield RuleProblem(
                f"taints are {join_names(found.taints) or 'none'} in {found.source} and "
                f"{join_names(taints) or 'none'} in the properties",
                "the same in both",
            )
        if found.name is not None and found.name != name:
            yield RuleProblem(
                f"name is {found.name} in {found.source} and {name} in the properties", "the same in both"
            )
        if machine.single and machine.address and found.address not in (None, machine.address):
            yield RuleProblem(
                f"address is {found.address} in {found.source} and {machine.address} in the properties",
                "the same in both",
            )
    joins = any(machine.of_kind("JoinConfiguration")) or any(machine.of_kind("InitConfiguration"))
    if joins and joins_as_master(machine) is not machine.is_master:
        roles = join_names(machine.roles) or "none"
        made = "a master" if joins_as_master(machine) else "a worker"
        yield RuleProblem(f"kubeadm makes it {made}, and its roles are {roles}", "the role master for masters only")


def _against_node(machine: MachineFacts) -> Iterator[RuleProblem]:
    """Compares labels and taints in a host's files with its Node object, which may have further labels and taints."""
    labels, taints = _labels(machine), _taints(machine)
    for found in registrations(machine):
        for key, value in (found.labels or {}).items():
            if is_known(value) and labels.get(key) != value:
                yield RuleProblem(
                    f"label {key} is {_value(value)} in {found.source} and {_value(labels.get(key))} in the Node",
                    "the same in both",
                )
        if missing := {taint for taint in found.taints or () if is_known(taint)} - taints:
            yield RuleProblem(
                f"{found.source} sets taints {join_names(missing)}, which the Node lacks", "the same in both"
            )


def _different_labels(source: str, written: Mapping[str, str], labels: Mapping[str, str]) -> Iterator[RuleProblem]:
    for key in sorted({*written, *labels}):
        one, other = written.get(key), labels.get(key)
        if one != other:
            yield RuleProblem(
                f"label {key} is {_value(one)} in {source} and {_value(other)} in the properties", "the same in both"
            )


def _value(value: str | None) -> str:
    return "missing" if value is None else value or "empty"


def _labels(machine: MachineFacts) -> dict[str, str]:
    """Returns the labels in the machine's properties. A pool has placeholders for labels that differ by node."""
    props = machine.resource.props
    labels = dict(props.at("labels").texts())
    if machine.resource.type == contract.MACHINE_POOL:
        labels[SERVER] = "${server}"
        if any(each.at("rack").text() for each in props.at("nodes").parsed().items()):
            labels |= {RACK: "${rack}", ZONE: "${rack}"}
    return labels


def _taints(machine: MachineFacts) -> frozenset[str]:
    """Returns the taints in the machine's properties, each as key=value:effect."""
    return frozenset(
        f"{pair if '=' in pair else f'{pair}='}:{effect}"
        for text in machine.resource.props.at("taints").words()
        for pair, _, effect in [text.rpartition(":")]
    )
