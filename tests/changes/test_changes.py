"""Tests of each type of change that `quorate diff` reports: its kind, resources, phase and level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from changes.change import Change, ChangeKind, Phase, Risk
from policy.findings import resource_name
from tests.changes.worlds import CLOUD, DOMAIN, compared, edited, replaced, vm, without
from tests.policy.world import (
    HOST,
    SERVER,
    UNKNOWN,
    Given,
    budget,
    daemons,
    etcd,
    etcd_machines,
    machine,
    machine_pool,
    machines,
    master_tier,
    quorum,
    service,
    workload,
)

Expected = tuple[ChangeKind, str, Phase, Risk]
"""Kind, names of the resources with spaces between them, phase, level."""


@dataclass(frozen=True)
class Case:
    about: str
    before: Sequence[Given]
    after: Sequence[Given]
    expected: Sequence[Expected]
    """All changes of the kinds that are named here, and no other of these kinds."""
    says: str = ""
    """Part of the first one's text, steps and risk included."""


PLAIN, RISKY, FORBIDDEN = Risk.PLAIN, Risk.RISKY, Risk.FORBIDDEN
DATABASES = [vm(f"mysqld-{number}", "mysqld", f"virt{number}") for number in (1, 2, 3)]
OWN_ETCD = [*replaced(CLOUD, etcd("e1", "e2", "e3")), *etcd_machines("e1", "e2", "e3")]
"""The cloud with three machines of etcd, beside its masters."""
VIRTUAL = [*without(CLOUD, "mysqld-1", "mysqld-2", "mysqld-3"), *DATABASES]
BESIDE_MYSQLD = ("mysqld", "ceph-mon", "elasticsearch-kibana")
"""Quorums on the nodes of mysqld; instances of Prometheus do not vote."""
POD = "spec__template__spec"
OTHER_DISK = DOMAIN.format(image="other", cdrom="seed")
MASTERS_OF_FIVE = [f"master-{number}" for number in range(1, 6)]
CONFIG = Given("kubernetes:core/v1:ConfigMap", "keystone-kolla", {"metadata": {"name": "kolla"}, "data": {"a": "1"}})
VOLUME = Given("kubernetes:core/v1:PersistentVolume", "data-1", {"spec": {"capacity": {"storage": "10Gi"}}})
DISK = Given("libvirt:index/volume:Volume", "disk-1", {"size": 10})
READS = edited(CLOUD, "keystone", "Deployment", **{f"{POD}__volumes": [{"configMap": {"name": "kolla"}}]})
JOB, OTHER_JOB = workload("sync", "Job", replicas=None), workload("users", "Job", replicas=None)
TAGGED = [
    *edited(CLOUD, "keystone", "Deployment", **{f"{POD}__containers": [{"name": "main", "image": "k:1"}]}),
    workload("nova-api", image="n:1"),
]

SWITCHED = [
    *CLOUD,
    daemons("switch", image="mirror/openvswitch-vswitchd:1"),
    daemons("libvirt", image="mirror/nova-libvirt:1"),
    daemons("l2", image="mirror/neutron-openvswitch-agent:1"),
]

CASES = [
    Case(
        "the switch stops the packets of its node",
        SWITCHED,
        edited(SWITCHED, "switch", "DaemonSet", **{f"{POD}__hostNetwork": True}),
        [(ChangeKind.SERVICE_ROLLED, "switch", Phase.ROLL, RISKY)],
        says="the packets of virtual machines stop while the switch restarts",
    ),
    Case(
        "guests may end with libvirtd",
        SWITCHED,
        edited(SWITCHED, "libvirt", "DaemonSet", **{f"{POD}__hostNetwork": True}),
        [(ChangeKind.SERVICE_ROLLED, "libvirt", Phase.ROLL, RISKY)],
        says="virtual machines end with libvirtd's pod",
    ),
    Case(
        "the agent of a switch stops no packets",
        SWITCHED,
        edited(SWITCHED, "l2", "DaemonSet", **{f"{POD}__hostNetwork": True}),
        [(ChangeKind.SERVICE_ROLLED, "l2", Phase.ROLL, PLAIN)],
    ),
    Case(
        "a Secret that the engine hides as a whole",
        CLOUD,
        [*CLOUD, Given("kubernetes:core/v1:Secret", "key", {"metadata": {"name": "key"}, "stringData": "[secret]"})],
        [(ChangeKind.CONFIG_CHANGED, "key", Phase.PREPARE, PLAIN)],
        says="adds Secret key",
    ),
    Case(
        "an image rolls a service",
        CLOUD,
        edited(CLOUD, "keystone", "Deployment", **{f"{POD}__containers": [{"name": "main", "image": "app:2"}]}),
        [(ChangeKind.SERVICE_ROLLED, "keystone", Phase.ROLL, PLAIN)],
        says="image registry/app:1 to app:2",
    ),
    Case(
        "an image rolls a quorum, alone and one after another",
        CLOUD,
        edited(CLOUD, "rabbitmq", "StatefulSet", **{f"{POD}__containers": [{"name": "main", "image": "app:2"}]}),
        [(ChangeKind.MEMBERS_ROLLED, "rabbitmq", Phase.ROLL, RISKY)],
        says="While one restarts, 2 of 3 are up; a majority is 2.",
    ),
    Case(
        "a count comes from a row, and the stack file says otherwise",
        CLOUD,
        edited(CLOUD, "keystone", "Deployment", spec__replicas=2),
        [(ChangeKind.COUNT_CHANGED, "keystone", Phase.SHRINK, PLAIN)],
        says="row keystone-all says 3",
    ),
    Case(
        "a count that grows comes with the other additions",
        CLOUD,
        edited(CLOUD, "keystone", "Deployment", spec__replicas=5),
        [(ChangeKind.COUNT_CHANGED, "keystone", Phase.ADD, PLAIN)],
    ),
    Case(
        "a quorum grows one at a time",
        CLOUD,
        edited(CLOUD, "rabbitmq", "StatefulSet", spec__replicas=5),
        [
            (ChangeKind.COUNT_CHANGED, "rabbitmq", Phase.ADD, PLAIN),
            (ChangeKind.MEMBERS_JOIN, "rabbitmq", Phase.JOIN, RISKY),
        ],
    ),
    Case(
        "a replica less",
        edited(CLOUD, "rabbitmq", "StatefulSet", spec__replicas=5),
        edited(CLOUD, "rabbitmq", "StatefulSet", spec__replicas=4),
        [(ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.SHRINK, RISKY)],
    ),
    Case(
        "two replicas less are too many, as they are for the rule one-member-at-a-time",
        edited(CLOUD, "rabbitmq", "StatefulSet", spec__replicas=5),
        CLOUD,
        [(ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.SHRINK, FORBIDDEN)],
        says="Split this into changes that remove the members of one server each.",
    ),
    Case(
        "two servers, each with members of other quorums",
        CLOUD,
        without(CLOUD, "mysqld-3", "rabbitmq-3"),
        [(ChangeKind.MEMBERS_LEAVE, name, Phase.REMOVE, FORBIDDEN) for name in (*BESIDE_MYSQLD, "rabbitmq")],
        says="Members on 2 physical hosts leave in this change, of all quorums together; at most 1 may.",
    ),
    Case(
        "a node at another address under its old name is another member",
        edited(CLOUD, "rabbitmq-3", "Machine", address="10.0.0.3"),
        edited(CLOUD, "rabbitmq-3", "Machine", address="10.0.0.9"),
        [(ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.MOVE, RISKY)],
        says="removes 1 member from StatefulSet rabbitmq: rabbitmq-3 at another address",
    ),
    Case(
        "a node that changes pool leaves one quorum for another",
        CLOUD,
        replaced(CLOUD, machine("mysqld-3", "rabbitmq"), machine("rabbitmq-3", "mysqld")),
        [
            (ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.MOVE, FORBIDDEN),
            *((ChangeKind.MEMBERS_LEAVE, name, Phase.MOVE, FORBIDDEN) for name in BESIDE_MYSQLD),
        ],
        says="mysqld-3 no longer among its nodes",
    ),
    Case(
        "one of three is not a majority",
        CLOUD,
        edited(CLOUD, "rabbitmq", "StatefulSet", spec__replicas=1),
        [(ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.SHRINK, FORBIDDEN)],
        says="1 member of 3 would stay; a majority is 2.",
    ),
    Case(
        "a quorum is removed",
        CLOUD,
        [each for each in CLOUD if not each.urn.endswith("StatefulSet::rabbitmq")],
        [(ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.REMOVE, FORBIDDEN)],
    ),
    Case(
        "machines come before anything relies on them",
        CLOUD,
        replaced(CLOUD, machine_pool("compute", 7)),
        [(ChangeKind.MACHINE_ADDED, "computes", Phase.ADD, PLAIN)],
        says="adds 2 machines to pool compute: compute-6, compute-7",
    ),
    Case(
        "a machine without members goes last",
        CLOUD,
        replaced(CLOUD, machine_pool("compute", 4)),
        [(ChangeKind.MACHINE_REMOVED, "computes", Phase.REMOVE, RISKY)],
        says="compute-5",
    ),
    Case(
        "a machine takes the members of all its quorums along",
        CLOUD,
        without(CLOUD, "mysqld-3"),
        [
            (ChangeKind.MACHINE_REMOVED, "mysqld-3", Phase.REMOVE, RISKY),
            *((ChangeKind.MEMBERS_LEAVE, name, Phase.REMOVE, RISKY) for name in BESIDE_MYSQLD),
        ],
        says="StatefulSet mysqld: all 3 members up",
    ),
    Case(
        "two machines of one quorum at once are too many",
        CLOUD,
        without(CLOUD, "rabbitmq-2", "rabbitmq-3"),
        [(ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.REMOVE, FORBIDDEN)],
    ),
    Case(
        "an etcd member leaves",
        CLOUD,
        replaced(CLOUD, etcd("master-1", "master-2")),
        [(ChangeKind.MEMBERS_LEAVE, "etcd", Phase.MOVE, RISKY)],
    ),
    Case(
        "two etcd members become others",
        CLOUD,
        [*replaced(CLOUD, etcd("master-1", "other-2", "other-3")), *machines("other", 3)],
        [
            (ChangeKind.MEMBERS_LEAVE, "etcd", Phase.MOVE, FORBIDDEN),
            (ChangeKind.MEMBERS_JOIN, "etcd", Phase.JOIN, RISKY),
        ],
    ),
    Case(
        "masters come, one at a time",
        CLOUD,
        [
            *replaced(CLOUD, etcd(*MASTERS_OF_FIVE), master_tier(*MASTERS_OF_FIVE)),
            *(machine(name, "master", roles=["master"]) for name in MASTERS_OF_FIVE[3:]),
        ],
        [
            (ChangeKind.MACHINE_ADDED, "master-4 master-5", Phase.ADD, PLAIN),
            (ChangeKind.MEMBERS_JOIN, "etcd", Phase.JOIN, RISKY),
        ],
        says="as master and etcd member, one at a time",
    ),
    Case(
        "machines of etcd come",
        OWN_ETCD,
        [*replaced(CLOUD, etcd("e1", "e2", "e3", "e4", "e5")), *etcd_machines("e1", "e2", "e3", "e4", "e5")],
        [(ChangeKind.MACHINE_ADDED, "e4 e5", Phase.ADD, PLAIN), (ChangeKind.MEMBERS_JOIN, "etcd", Phase.JOIN, RISKY)],
        says="Let them join etcd one at a time, and wait until each has a vote.",
    ),
    Case(
        "a machine of etcd goes",
        OWN_ETCD,
        [*replaced(CLOUD, etcd("e1", "e2")), *etcd_machines("e1", "e2")],
        [
            (ChangeKind.MACHINE_REMOVED, "e3", Phase.REMOVE, RISKY),
            (ChangeKind.MEMBERS_LEAVE, "etcd", Phase.REMOVE, RISKY),
        ],
        says="Run `leave` on e3.",
    ),
    Case(
        "a virtual machine of etcd is resized",
        edited(OWN_ETCD, "e1", virtual=True, allocatable={"cpu": 2, "memory": 4}),
        edited(OWN_ETCD, "e1", virtual=True, allocatable={"cpu": 2, "memory": 8}),
        [(ChangeKind.MACHINE_RESIZED, "e1", Phase.ROLL, RISKY)],
        says="Restart with its new size e1.",
    ),
    Case(
        "a machine of etcd under another name",
        OWN_ETCD,
        [*replaced(CLOUD, etcd("e1", "e2", "f3")), *etcd_machines("e1", "e2", "f3")],
        [
            (ChangeKind.MACHINE_RENAMED, "e3 f3", Phase.REMOVE, RISKY),
            (ChangeKind.MEMBERS_LEAVE, "etcd", Phase.REMOVE, RISKY),
            (ChangeKind.MEMBERS_JOIN, "etcd", Phase.JOIN, RISKY),
        ],
        says="Let it join etcd again as f3.",
    ),
    Case(
        "a master comes beside machines of etcd",
        OWN_ETCD,
        [
            *replaced(CLOUD, etcd("e1", "e2", "e3"), master_tier(*MASTERS_OF_FIVE[:4])),
            *etcd_machines("e1", "e2", "e3"),
            machine("master-4", "master", roles=["master"]),
        ],
        [(ChangeKind.MACHINE_ADDED, "master-4", Phase.ADD, PLAIN)],
        says="Join it to the cluster as master, one at a time, and wait until it is Ready.",
    ),
    Case(
        "etcd moves to machines of its own",
        CLOUD,
        OWN_ETCD,
        [
            (ChangeKind.MEMBERS_LEAVE, "etcd", Phase.MOVE, FORBIDDEN),
            (ChangeKind.MEMBERS_JOIN, "etcd", Phase.JOIN, RISKY),
        ],
    ),
    Case(
        "a disk of one member's machine",
        VIRTUAL,
        edited(VIRTUAL, "mysqld-1", "Machine", definition={"domain.xml": OTHER_DISK}),
        [
            (ChangeKind.DISK_REPLACED, "mysqld-1", Phase.ROLL, RISKY),
            *((ChangeKind.MEMBERS_LEAVE, name, Phase.MOVE, RISKY) for name in BESIDE_MYSQLD),
        ],
        says="The data on the disk is lost",
    ),
    Case(
        "disks of two members' machines",
        VIRTUAL,
        replaced(
            VIRTUAL, *(vm(f"mysqld-{n}", "mysqld", f"virt{n}", definition={"domain.xml": OTHER_DISK}) for n in (1, 2))
        ),
        [
            (ChangeKind.DISK_REPLACED, "mysqld-1 mysqld-2", Phase.ROLL, RISKY),
            *((ChangeKind.MEMBERS_LEAVE, name, Phase.MOVE, FORBIDDEN) for name in BESIDE_MYSQLD),
        ],
        says="one machine at a time: mysqld-1, mysqld-2",
    ),
    Case(
        "another CD in the drive is no other disk",
        VIRTUAL,
        edited(VIRTUAL, "mysqld-1", "Machine", definition={"domain.xml": DOMAIN.format(image="mysqld-1", cdrom="x")}),
        [(ChangeKind.MACHINE_CONFIGURED, "mysqld-1", Phase.ROLL, RISKY)],
        says="domain.xml",
    ),
    Case(
        "a virtual machine on another server leaves its disk behind",
        VIRTUAL,
        replaced(VIRTUAL, vm("mysqld-1", "mysqld", "virt9")),
        [
            (ChangeKind.VM_MOVED, "mysqld-1", Phase.MOVE, RISKY),
            *((ChangeKind.MEMBERS_LEAVE, name, Phase.MOVE, RISKY) for name in BESIDE_MYSQLD),
        ],
        says="from server virt1 to virt9",
    ),
    Case(
        "virtual machines are resized one at a time",
        VIRTUAL,
        replaced(
            VIRTUAL, *(vm(f"mysqld-{n}", "mysqld", f"virt{n}", allocatable={"cpu": 4, "memory": 16}) for n in (1, 2, 3))
        ),
        [(ChangeKind.MACHINE_RESIZED, "mysqld-1 mysqld-2 mysqld-3", Phase.ROLL, RISKY)],
        says="from 4 cores, 8 GiB to 4 cores, 16 GiB",
    ),
    Case(
        "a server leaves less to its pods",
        replaced(CLOUD, machine_pool("compute", 5, allocatable={"cpu": 24, "memory": 256})),
        replaced(CLOUD, machine_pool("compute", 5, allocatable={"cpu": 24, "memory": 240})),
        [(ChangeKind.CAPACITY_CHANGED, "computes", Phase.ROLL, PLAIN)],
    ),
    Case(
        "files of masters are etcd's",
        CLOUD,
        edited(
            edited(CLOUD, "master-1", files={"/etc/etcd/etcd.env": "1"}), "master-2", files={"/etc/etcd/etcd.env": "1"}
        ),
        [(ChangeKind.MACHINE_CONFIGURED, "master-1 master-2", Phase.ROLL, RISKY)],
        says="If all are down at once, etcd loses its majority (2 of 3).",
    ),
    Case(
        "a taint and a label",
        CLOUD,
        replaced(CLOUD, machine_pool("compute", 5, taints=[], labels={"quorate.io/pool": "compute", "x": "y"})),
        [(ChangeKind.NODE_MARKED, "computes", Phase.MARK, PLAIN)],
        says="new label x=y; removed taint quorate.io/dedicated=compute:NoSchedule",
    ),
    Case(
        "a machine in another pool",
        CLOUD,
        replaced(CLOUD, machine("rabbitmq-3", "mysqld")),
        [
            (ChangeKind.MACHINE_REPOOLED, "rabbitmq-3", Phase.MOVE, RISKY),
            (ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.MOVE, RISKY),
        ],
        says="from pool rabbitmq to mysqld",
    ),
    Case(
        "a machine under another name",
        VIRTUAL,
        [*without(VIRTUAL, "mysqld-3"), vm("db-3", "mysqld", "virt3")],
        [(ChangeKind.MACHINE_RENAMED, "db-3 mysqld-3", Phase.REMOVE, RISKY)],
        says="renames machine mysqld-3 to db-3",
    ),
    Case(
        "a service goes to another pool",
        CLOUD,
        replaced(CLOUD, workload("horizon", pools=["rabbitmq"], row="horizon", apart=(HOST,))),
        [(ChangeKind.SERVICE_MOVED, "horizon", Phase.MOVE, PLAIN)],
        says="from pool mysqld to pool rabbitmq",
    ),
    Case(
        "a quorum goes to another pool, all members at once",
        CLOUD,
        replaced(CLOUD, quorum("rabbitmq", pools=["mysqld"])),
        [
            (ChangeKind.SERVICE_MOVED, "rabbitmq", Phase.MOVE, RISKY),
            (ChangeKind.MEMBERS_LEAVE, "rabbitmq", Phase.MOVE, FORBIDDEN),
        ],
    ),
    Case(
        "a service comes",
        CLOUD,
        [*CLOUD, workload("barbican", pools=["mysqld"])],
        [(ChangeKind.SERVICE_ADDED, "barbican", Phase.ADD, PLAIN)],
        says="on pool mysqld, 3 instances",
    ),
    Case(
        "a service goes",
        CLOUD,
        without(CLOUD, "horizon"),
        [(ChangeKind.SERVICE_REMOVED, "horizon", Phase.SHRINK, PLAIN)],
    ),
    Case(
        "a service under another name",
        [*CLOUD, workload("one")],
        [*CLOUD, workload("two")],
        [(ChangeKind.SERVICE_RENAMED, "one two", Phase.MOVE, RISKY)],
    ),
    Case(
        "a quorum under another name starts empty",
        CLOUD,
        [*(each for each in CLOUD if not each.urn.endswith("StatefulSet::rabbitmq")), quorum("rabbit")],
        [(ChangeKind.SERVICE_RENAMED, "rabbit rabbitmq", Phase.MOVE, FORBIDDEN)],
    ),
    Case(
        "the same object under another resource is deleted first",
        CLOUD,
        [
            *(each for each in CLOUD if not each.urn.endswith("StatefulSet::rabbitmq")),
            Given("kubernetes:apps/v1:StatefulSet", "renamed", quorum().props),
        ],
        [(ChangeKind.SERVICE_REPLACED, "renamed", Phase.ROLL, FORBIDDEN)],
        says="Give the resource an alias",
    ),
    Case(
        "a field that cannot be changed in place",
        CLOUD,
        edited(CLOUD, "rabbitmq", "StatefulSet", spec__serviceName="other"),
        [(ChangeKind.SERVICE_REPLACED, "rabbitmq", Phase.ROLL, FORBIDDEN)],
        says="serviceName cannot be changed in place",
    ),
    Case(
        "a rollout by other rules",
        CLOUD,
        edited(CLOUD, "keystone", "Deployment", spec__strategy={"type": "Recreate"}),
        [(ChangeKind.STRATEGY_CHANGED, "keystone", Phase.PREPARE, PLAIN)],
    ),
    Case(
        "a job's new template",
        [*CLOUD, JOB],
        [*CLOUD, JOB.but(**{f"{POD}__containers": [{"name": "main", "image": "app:2"}]})],
        [(ChangeKind.JOB_RUNS, "sync", Phase.ROLL, PLAIN)],
    ),
    Case(
        "Jobs that are named after their content run again",
        [*CLOUD, JOB, OTHER_JOB],
        [*CLOUD, JOB.but(metadata__name="sync-2"), OTHER_JOB.but(metadata__name="users-2")],
        [(ChangeKind.JOB_RUNS, "sync users", Phase.ROLL, PLAIN)],
        says="runs 2 Jobs again, because what they run has changed: sync-2, users-2",
    ),
    Case(
        "Jobs that come and go",
        [*CLOUD, JOB],
        [*CLOUD, OTHER_JOB],
        [
            (ChangeKind.JOB_ADDED, "users", Phase.ADD, PLAIN),
            (ChangeKind.JOB_REMOVED, "sync", Phase.SHRINK, PLAIN),
        ],
    ),
    Case(
        "the same tag for two services is one change",
        TAGGED,
        edited(
            edited(TAGGED, "keystone", "Deployment", **{f"{POD}__containers": [{"name": "main", "image": "k:2"}]}),
            "nova-api",
            "Deployment",
            **{f"{POD}__containers": [{"name": "main", "image": "n:2"}]},
        ),
        [(ChangeKind.SERVICE_ROLLED, "keystone nova-api", Phase.ROLL, PLAIN)],
        says="rolls 2 workloads: images from 1 to 2: Deployment keystone, Deployment nova-api",
    ),
    Case(
        "a release that is skipped",
        edited(CLOUD, "cloud", release="2025.2"),
        edited(CLOUD, "cloud", release="2026.2"),
        [(ChangeKind.VERSION_REFUSED, "cloud", Phase.PREPARE, FORBIDDEN)],
        says="Expected 2026.1 next",
    ),
    Case(
        "a budget that lets more go",
        CLOUD,
        replaced(CLOUD, budget("rabbitmq", limit={"maxUnavailable": 2})),
        [(ChangeKind.BUDGET_CHANGED, "rabbitmq-budget", Phase.PREPARE, RISKY)],
        says="StatefulSet rabbitmq: maxUnavailable 1 to maxUnavailable 2",
    ),
    Case(
        "a budget that lets fewer go",
        replaced(CLOUD, budget("rabbitmq", limit={"maxUnavailable": 2})),
        CLOUD,
        [(ChangeKind.BUDGET_CHANGED, "rabbitmq-budget", Phase.PREPARE, PLAIN)],
    ),
    Case(
        "a budget that goes",
        CLOUD,
        without(CLOUD, "rabbitmq-budget"),
        [(ChangeKind.BUDGET_CHANGED, "rabbitmq-budget", Phase.SHRINK, RISKY)],
    ),
    Case(
        "configuration without a rollout",
        [*READS, CONFIG],
        [*READS, CONFIG.but(data={"a": "2"})],
        [(ChangeKind.CONFIG_CHANGED, "keystone-kolla", Phase.PREPARE, RISKY)],
        says="Deployment keystone reads it and is not rolled",
    ),
    Case(
        "a volume",
        [*CLOUD, VOLUME],
        [*CLOUD, VOLUME.but(spec__capacity__storage="20Gi")],
        [(ChangeKind.VOLUME_CHANGED, "data-1", Phase.ROLL, RISKY)],
        says="capacity",
    ),
    Case(
        "a libvirt disk that somebody wrote by hand",
        [*CLOUD, DISK],
        [*CLOUD, DISK.but(size=20)],
        [(ChangeKind.DISK_REPLACED, "disk-1", Phase.ROLL, RISKY)],
    ),
    Case(
        "a production stack becomes a lab",
        CLOUD,
        edited(CLOUD, "cloud", profile="lab"),
        [(ChangeKind.CLOUD_CHANGED, "cloud", Phase.PREPARE, RISKY)],
        says="profile from production to lab",
    ),
    Case(
        "whatever else differs",
        CLOUD,
        replaced(CLOUD, service("keystone", ports=[{"port": 81}])),
        [(ChangeKind.OTHER, "keystone-service", Phase.ROLL, PLAIN)],
        says="changes Service keystone-service",
    ),
]


def told(change: Change) -> Expected:
    names = " ".join(sorted(resource_name(each) for each in change.resources))
    return change.kind, names, change.phase, change.level


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.about)
def test_the_right_change(case: Case) -> None:
    found = compared(case.before, case.after)
    kinds = {kind for kind, *_ in case.expected}
    assert {told(each) for each in found if each.kind in kinds} == set(case.expected), found
    first = next(each for each in found if each.kind is case.expected[0][0])
    assert case.says in " ".join([first.says, *first.checks, *first.steps, first.risk, first.row])


def test_every_type_has_a_case() -> None:
    assert {kind for case in CASES for kind, *_ in case.expected} == set(ChangeKind)


def test_grown_before_moved_before_drained() -> None:
    """The machines of a pool are replaced: new ones join and run the service before the old ones are removed."""
    new = [machine(f"fresh-{number}", "fresh") for number in (1, 2, 3)]
    after = [*without(replaced(CLOUD, quorum(pools=["fresh"])), *(f"rabbitmq-{n}" for n in (1, 2, 3))), *new]
    meant = {"fresh-1 fresh-2 fresh-3", "rabbitmq", "rabbitmq-1 rabbitmq-2 rabbitmq-3"}
    told_of = [(each.kind, told(each)[1]) for each in compared(CLOUD, after)]
    assert [kind for kind, names in told_of if names in meant] == [
        ChangeKind.MACHINE_ADDED,
        ChangeKind.SERVICE_MOVED,
        ChangeKind.MEMBERS_ROLLED,
        ChangeKind.MEMBERS_LEAVE,
        ChangeKind.MACHINE_REMOVED,
    ]


def test_a_quorum_that_cannot_be_counted_is_no_safe_change() -> None:
    """The quorum's size is unknown before the update, so a majority may not remain."""
    found = compared(CLOUD, edited(CLOUD, "rabbitmq", "StatefulSet", spec__replicas=UNKNOWN))
    (untold,) = [each for each in found if each.says.startswith("the changes of quorums are not completely known")]
    assert untold.level is Risk.FORBIDDEN
    assert "replicas of rabbitmq" in untold.says


def test_the_server_of_a_node_is_read_from_its_label() -> None:
    """A label that is reported as a move is not also reported as a mark."""
    found = compared(VIRTUAL, replaced(VIRTUAL, vm("mysqld-1", "mysqld", "virt9")))
    assert not [each for each in found if each.kind is ChangeKind.NODE_MARKED]
    assert SERVER not in " ".join(each.says for each in found)
