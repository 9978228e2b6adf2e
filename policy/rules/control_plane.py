"""What the masters run: where it stands, what it may write, and a copy of its data."""

from __future__ import annotations

import re
from collections.abc import Iterator

from image_reference import parse
from policy.facts.components import Etcd
from policy.facts.kubernetes.workload import Workload
from policy.facts.machine import Machine
from policy.facts.pods import Pods, pods
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
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
    title="Pods of the Kubernetes control plane are in kube-system",
    severity=Severity.MEDIUM,
    rationale="Who may touch pods is decided for a namespace. Control plane among other pods is open to whoever may "
    "change those.",
    sources=(
        Source("004", "5.5.7", "all control-plane related Pods must be started in separate namespace kube-system"),
    ),
    remediation="Set metadata.namespace to kube-system.",
    subjects=pods,
    applies=_is_control_plane,
    not_applicable_reason="the stack makes no pod of the Kubernetes control plane; kubeadm puts its own in kube-system",
    parameters={"namespace": NAMESPACE, "parts": ", ".join(PARTS) + ", static pods"},
    since="0.2.0",
)
def control_plane_namespace(_facts: Facts, each: Pods) -> Iterator[Problem]:
    """Static pods are the control plane's: nothing else needs to run without an API server."""
    if each.namespace != NAMESPACE:
        yield Problem(f"its namespace is {each.namespace}", NAMESPACE)


def _guarded(each: Pods) -> dict[str, str]:
    """Volumes with directories of the host that hold certificates, keys or manifests, and their paths."""
    found: dict[str, str] = {}
    for volume in each.spec.at("volumes").items():
        path = volume.at("hostPath", "path").text().rstrip("/")
        if any(path == guard or path.startswith(f"{guard}/") for guard in GUARDED):
            found[volume.at("name").text()] = path
    return found


@rule(
    id="certificates-read-only",
    title="Pods see certificates, keys and manifests of the host read-only",
    severity=Severity.HIGH,
    rationale="Whoever can write a certificate authority or a static pod's manifest is the master of the cluster. A "
    "container that is broken into must not be.",
    sources=(
        Source("004", "5.5.7", "manifests for static Pods should be mounted (read only) from host system"),
        Source("004", "5.5.7", "SSL certificates and any secrets should be mounted (read only) from host system"),
    ),
    remediation="Write readOnly: true in each volumeMount of such a hostPath.",
    subjects=pods,
    applies=lambda _facts, each: bool(_guarded(each)),
    not_applicable_reason="no pod sees such a directory of its host",
    parameters={"directories": ", ".join(GUARDED)},
    since="0.2.0",
)
def certificates_read_only(_facts: Facts, each: Pods) -> Iterator[Problem]:
    """A mount without a word may be written to."""
    guarded = _guarded(each)
    for container in each.containers():
        for mount in container.at("volumeMounts").items():
            volume = mount.at("name").text()
            if volume in guarded and not mount.at("readOnly").flag():
                yield Problem(
                    f"container {container.at('name').text()} may write to {guarded[volume]} of its host",
                    "readOnly: true",
                )


@rule(
    id="cluster-has-etcd",
    title="A master tier has its etcd",
    severity=Severity.CRITICAL,
    rationale="Without etcd there is no Kubernetes API; a master tier that names none has one that nobody judges.",
    sources=(
        Source("004", "5.5.9", "check that there are nodes with Master related services"),
        Source("004", "5.5.3", "it may be required to install etcd cluster members to dedicated nodes"),
    ),
    remediation="Name the members of etcd in the stack: on the masters, on nodes of their own, or as a StatefulSet.",
    subjects=lambda facts: facts.master_tiers,
    not_applicable_reason="the stack has no master tier",
    since="0.2.0",
)
def cluster_has_etcd(facts: Facts, _tier: object) -> Iterator[Problem]:
    """On machines, or in pods."""
    members = [member for etcd in facts.etcds for member in etcd.members]
    if not members and not any(_runs_etcd(workload) for workload in facts.workloads):
        yield Problem("no etcd in the stack", "its members")


def _runs_etcd(workload: Workload) -> bool:
    return any(parse(image).name == "etcd" for image in workload.images)


def _machines_of(facts: Facts, etcd: Etcd) -> list[Machine]:
    names = {member.node for member in etcd.members}
    return [machine for machine in facts.machines if machine.single and machine.node in names and machine.files]


@rule(
    id="etcd-is-backed-up",
    title="Every member of etcd has a job that copies its data",
    severity=Severity.HIGH,
    rationale="etcd holds all of Kubernetes. The first action before any update is a backup, and the one that is there "
    "when something breaks unannounced is the one that a timer made.",
    sources=(
        Source(
            "004",
            "5.5.10",
            "first action which has to be run prior to update is backup of Kubernetes related stateful services (etcd)",
        ),
    ),
    remediation="Give each member a systemd service with a timer, or the cluster a CronJob, that runs "
    "`etcdctl snapshot save`.",
    subjects=lambda facts: facts.etcds,
    applies=lambda facts, etcd: bool(_machines_of(facts, etcd)),
    not_applicable_reason="no machine of the stack carries etcd",
    since="0.2.0",
)
def etcd_is_backed_up(facts: Facts, etcd: Etcd) -> Iterator[Problem]:
    """A CronJob of the stack serves all members; a service without a timer starts by nobody's hand."""
    if any(workload.kind == "CronJob" and _SNAPSHOT.search(_command(workload)) for workload in facts.workloads):
        return
    without: set[str] = set()
    for machine in _machines_of(facts, etcd):
        units = {path: machine.files[path] for path in machine.files if path.endswith((".service", ".timer"))}
        saving = {path.removesuffix(".service") for path, text in units.items() if _SNAPSHOT.search(text)}
        if not any(f"{name}.timer" in units for name in saving):
            without.add(machine.node)
    if without:
        yield Problem(f"{join_names(without)} has no timer that saves a snapshot", "one on every member, or a CronJob")


def _command(workload: Workload) -> str:
    containers = workload.pod.at("containers").items()
    return "\n".join(" ".join([*each.at("command").words(), *each.at("args").words()]) for each in containers)
