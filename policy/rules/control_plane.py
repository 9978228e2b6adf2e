"""The Kubernetes control plane: namespace, host files and etcd backups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from formats.image_reference import parse
from policy.facts.components import EtcdFacts
from policy.facts.kubernetes.workload import Workload
from policy.facts.machines.machine import MachineFacts
from policy.facts.pods import POD_TYPES, Pods, pods
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

NAMESPACE = "kube-system"
PARTS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kube-proxy", "coredns")
GUARDED = (
    "/etc/kubernetes",
    "/etc/etcd",
    "/etc/ssl",
    "/etc/pki",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
)
_SNAPSHOT = re.compile(r"etcd(ctl|utl)\b.*\bsnapshot\s+save|etcdctl\s+backup\b|\bvelero\b.*etcd", re.S)


def _is_control_plane(_facts: Facts, each: Pods) -> bool:
    if each.names & set(PARTS):
        return True
    return each.workload is None


@rule(
    id="control-plane-namespace",
    title="Kubernetes control-plane pods run in namespace kube-system",
    severity=Severity.MEDIUM,
    rationale="Access to pods is granted per namespace. In a shared namespace, everyone who may change other pods "
    "may change the control plane.",
    sources=(RuleSource("004", "5.5.7", 31),),
    remediation="Set metadata.namespace to kube-system.",
    subjects=pods,
    applies=_is_control_plane,
    not_applicable_reason="the stack makes no pod of the Kubernetes control plane; kubeadm puts its own in kube-system",
    reads_machine_files=True,
    parameters={"namespace": NAMESPACE, "parts": ", ".join(PARTS) + ", static pods"},
    since="0.2.0",
    single=POD_TYPES,
)
def control_plane_namespace(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Also evaluates static pods, because only pods of the control plane need to run without an API server."""
    if each.namespace != NAMESPACE:
        yield RuleProblem(f"namespace is {each.namespace}", NAMESPACE)


def _guarded(each: Pods) -> dict[str, str]:
    """Returns the host directories with certificates, keys or manifests that pods mount, by name of the volume."""
    found: dict[str, str] = {}
    for volume in each.spec.at("volumes").items():
        path = volume.at("hostPath", "path").text().rstrip("/")
        if any(path == guard or path.startswith(f"{guard}/") for guard in GUARDED):
            found[volume.at("name").text()] = path
    return found


@rule(
    id="certificates-read-only",
    title="Pods mount host certificates, keys and manifests read-only",
    severity=Severity.HIGH,
    rationale="A process that can write a certificate authority or the manifest of a static pod controls the "
    "cluster. A compromised container must not get this control.",
    sources=(
        RuleSource("004", "5.5.7", 24),
        RuleSource("004", "5.5.7", 25),
    ),
    remediation="Set readOnly: true in each volumeMount of a hostPath that contains certificates, keys or manifests.",
    subjects=pods,
    applies=lambda _facts, each: bool(_guarded(each)),
    not_applicable_reason="no pod mounts a directory of its host with certificates, keys or manifests",
    reads_machine_files=True,
    parameters={"directories": ", ".join(GUARDED)},
    since="0.2.0",
    single=POD_TYPES,
)
def certificates_read_only(_facts: Facts, each: Pods) -> Iterator[RuleProblem]:
    """Reports each volumeMount of such a host directory that does not set readOnly, because the default is writable."""
    guarded = _guarded(each)
    for container in each.containers():
        for mount in container.at("volumeMounts").items():
            volume = mount.at("name").text()
            if volume in guarded and not mount.at("readOnly").flag():
                yield RuleProblem(
                    f"container {container.at('name').text()} mounts {guarded[volume]} of the host writable",
                    "readOnly: true",
                )


@rule(
    id="cluster-has-etcd",
    title="Every master tier has etcd members in the stack",
    severity=Severity.CRITICAL,
    rationale="Without etcd there is no Kubernetes API. If a master tier lists no etcd members, no rule evaluates "
    "its etcd.",
    sources=(
        RuleSource("004", "5.5.9", 4),
        RuleSource("004", "5.5.3", 6),
    ),
    remediation="Declare the members of etcd in the stack: on the masters, on dedicated nodes, or as a StatefulSet.",
    subjects=lambda facts: facts.master_tiers,
    not_applicable_reason="the stack has no master tier",
    since="0.2.0",
)
def cluster_has_etcd(facts: Facts, _tier: object) -> Iterator[RuleProblem]:
    """Accepts etcd members on machines, and workloads that run etcd."""
    members = [member for etcd in facts.etcds for member in etcd.members]
    if not members and not any(_runs_etcd(workload) for workload in facts.workloads):
        yield RuleProblem("no etcd members in the stack", "members on machines, or a workload that runs etcd")


def _runs_etcd(workload: Workload) -> bool:
    return any(parse(image).name == "etcd" for image in workload.images)


def _machines_of(facts: Facts, etcd: EtcdFacts) -> list[MachineFacts]:
    names = {member.node for member in etcd.members}
    return [machine for machine in facts.machines if machine.single and machine.node in names and machine.files]


@rule(
    id="etcd-is-backed-up",
    title="Every etcd member has a scheduled snapshot job",
    severity=Severity.HIGH,
    rationale="etcd holds the state of Kubernetes. The first action before any update is a backup; after an "
    "unplanned failure, the only backup is the last scheduled one.",
    sources=(
        RuleSource("004", "5.5.10", 12),
        RuleSource("project", "Backups", 1),
    ),
    remediation="Give each member a systemd service with a timer, or the cluster a CronJob, that runs "
    "`etcdctl snapshot save`.",
    subjects=lambda facts: facts.etcds,
    applies=lambda facts, etcd: bool(_machines_of(facts, etcd)),
    not_applicable_reason="no machine of the stack is an etcd member",
    reads_machine_files=True,
    since="0.2.0",
)
def etcd_is_backed_up(facts: Facts, etcd: EtcdFacts) -> Iterator[RuleProblem]:
    """Accepts a CronJob for all members, or a systemd service with a timer on every member.

    A service without a timer does not count, because nothing starts it.
    """
    if any(workload.kind == "CronJob" and _SNAPSHOT.search(_command(workload)) for workload in facts.workloads):
        return
    without: set[str] = set()
    for machine in _machines_of(facts, etcd):
        units = {path: machine.files[path] for path in machine.files if path.endswith((".service", ".timer"))}
        saving = {path.removesuffix(".service") for path, text in units.items() if _SNAPSHOT.search(text)}
        if not any(f"{name}.timer" in units for name in saving):
            without.add(machine.node)
    if without:
        yield RuleProblem(
            f"no snapshot timer on {join_names(without)}", "a service with a timer on every member, or a CronJob"
        )


def _command(workload: Workload) -> str:
    containers = workload.pod.at("containers").items()
    return "\n".join(" ".join([*each.at("command").words(), *each.at("args").words()]) for each in containers)
