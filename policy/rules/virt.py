"""Virtual machines as control-plane nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from blueprint.hypervisor_types import SYSTEM_CONTAINERS, VIRTUAL_MACHINES
from policy.facts.components import CloudFacts, VirtHostFacts
from policy.facts.kubernetes.node import MACHINE_TYPES
from policy.facts.machines.machine import MachineFacts
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize

FEATURE = "reduced-footprint"
MIXED_WITH = "compute"
RESERVE = 4
"""GiB of memory reserved for a virt host's own system; an estimate, as in blueprint/stackfile/server_checks.py."""
DISCLAIMERS = ("performance", "security")
ISOLATION = "isolation"
"""Disclaimer to acknowledge if virtual machines share the kernel of their host, as system containers do."""
_SHARING = " or ".join(SYSTEM_CONTAINERS)

FOOTPRINT = RuleSource("000", "Proposed change", 1)


@rule(
    id="virt-mixes-with-compute-only",
    title="Virt hosts carry only the roles virt and compute",
    severity=Severity.HIGH,
    rationale="Virtual machines separate the control plane's resources from the other workloads of a server. A "
    "controller or a master on the virt host itself removes that separation.",
    sources=(
        RuleSource("000", "Proposed change", 7),
        RuleSource("000", "Proposed change", 34),
    ),
    remediation="Give the server the roles virt and compute, and run every other role in a virtual machine on it.",
    subjects=lambda facts: facts.virt_hosts,
    not_applicable_reason="the stack has no virt host",
    parameters={"mixes with": MIXED_WITH},
    since="0.2.0",
)
def virt_mixes_with_compute_only(facts: Facts, host: VirtHostFacts) -> Iterator[RuleProblem]:
    """Checks the roles of the virt host, and of the Machine with the same name, which is the same server."""
    others = set(host.roles) - {"virt", MIXED_WITH}
    for machine in facts.machines:
        if machine.single and machine.node == host.server:
            others |= set(machine.roles) - {"virt", MIXED_WITH}
    if others:
        yield RuleProblem(f"roles are {join_names({*host.roles, *others})}", f"virt, or virt and {MIXED_WITH}")


@rule(
    id="one-role-per-machine",
    title="Compute machines carry only the roles compute and virt",
    severity=Severity.HIGH,
    rationale="Tenants' virtual machines and the control plane in one operating system compete for memory and CPU, "
    "and an attacker who escapes from a tenant's virtual machine reaches the control plane.",
    sources=(
        RuleSource("000", "Proposed change", 34),
        RuleSource("000", "Security impact", 2),
    ),
    remediation="Remove the other roles from the compute machine. To use its hardware for them too, give it the roles "
    "[virt, compute], and run the other roles in virtual machines on it.",
    subjects=lambda facts: facts.machines,
    applies=lambda _facts, machine: MIXED_WITH in machine.roles,
    not_applicable_reason="no machine of the stack is a compute",
    since="0.2.0",
    single=MACHINE_TYPES,
)
def one_role_per_machine(_facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Accepts a virt host that is also a compute, because its virtual machines are separate machines."""
    others = set(machine.roles) - {"virt", MIXED_WITH}
    if others:
        yield RuleProblem(f"roles are {join_names(machine.roles)}", "compute, or compute and virt")


def _clouds_with_guests(facts: Facts) -> Iterable[CloudFacts]:
    """Returns the Cloud of a stack that has virtual machines as nodes; () for other stacks."""
    return facts.clouds if any(host.guests for host in facts.virt_hosts) else ()


@rule(
    id="virt-is-asked-for",
    title="Virtual machine nodes require the feature reduced-footprint",
    severity=Severity.MEDIUM,
    rationale="A control plane in virtual machines (reduced footprint) is for advanced users. It must not result from "
    "a mistake in the roles of a server.",
    sources=(RuleSource("000", "Proposed change", 8),),
    remediation="Add reduced-footprint to quorate:features, or remove the virt hosts.",
    subjects=_clouds_with_guests,
    not_applicable_reason="the stack has no Cloud, or no virtual machine is a node of it",
    parameters={"feature": FEATURE},
    since="0.2.0",
)
def virt_is_asked_for(_facts: Facts, cloud: CloudFacts) -> Iterator[RuleProblem]:
    """Requires reduced-footprint in quorate:features if virtual machines are nodes."""
    if FEATURE not in cloud.features:
        yield RuleProblem(f"quorate:features is {join_names(cloud.features) or 'empty'}", FEATURE)


@rule(
    id="virt-disclaimers-acknowledged",
    title="Production stacks with virtual machine nodes acknowledge the known risks",
    severity=Severity.HIGH,
    rationale="All services on few servers perform badly, and tenants' virtual machines on the same servers take "
    f"resources from the controllers. With {' and '.join(SYSTEM_CONTAINERS)}, controllers and tenants share the host's "
    "kernel.",
    sources=(
        RuleSource("000", "Performance Impact", 1),
        RuleSource("000", "Security impact", 2),
        RuleSource("000", "Documentation Impact", 2),
        RuleSource("002", "Security Impact", 5),
    ),
    remediation="Read the rationale, then set quorate:acknowledged: [performance, security]; add isolation if a "
    f"virt host uses {_SHARING}.",
    subjects=_clouds_with_guests,
    applies=lambda facts, _cloud: facts.profile == PRODUCTION,
    not_applicable_reason="the stack is a lab, or no virtual machine is a node of its Cloud",
    parameters={"disclaimers": ", ".join(DISCLAIMERS), f"with {_SHARING}": ISOLATION},
    since="0.2.0",
)
def virt_disclaimers_acknowledged(facts: Facts, cloud: CloudFacts) -> Iterator[RuleProblem]:
    """Requires every disclaimer by name in quorate:acknowledged; `isolation` only if a hypervisor shares its kernel."""
    wanted: set[str] = set(DISCLAIMERS)
    if any(host.guests and host.hypervisor not in VIRTUAL_MACHINES for host in facts.virt_hosts):
        wanted.add(ISOLATION)
    if missing := wanted - set(cloud.acknowledged):
        yield RuleProblem(
            f"{join_names(missing)} not acknowledged", f"quorate:acknowledged: [{', '.join(sorted(wanted))}]"
        )


@rule(
    id="controllers-on-different-servers",
    title="Virtual machines of one pool run on distinct physical hosts",
    severity=Severity.CRITICAL,
    rationale="The nodes of a pool run the instances of the same services. Two nodes on one server fail together.",
    sources=(RuleSource("000", "Problem description", 3),),
    remediation="Spread the virtual machines of a pool over as many servers as it has nodes.",
    subjects=lambda facts: facts.virt_hosts,
    applies=lambda _facts, host: bool(host.guests),
    not_applicable_reason="the stack has no virt host that carries a virtual machine",
    since="0.2.0",
)
def controllers_on_different_servers(facts: Facts, host: VirtHostFacts) -> Iterator[RuleProblem]:
    """Reports virtual machines on one host whose nodes have the same pool label."""
    pools: dict[str, set[str]] = {}
    for node in facts.nodes:
        if node.name in host.guests and node.pool:
            pools.setdefault(node.pool, set()).add(node.name)
    for pool, names in pools.items():
        if len(names) > 1:
            yield RuleProblem(f"carries {join_names(names)} of pool {pool}", "one node of a pool per host")


@rule(
    id="vms-fit-their-host",
    title="Virtual machines fit their host's CPUs, and its memory less a reserve for the host",
    severity=Severity.HIGH,
    rationale="A host with overcommitted memory kills a virtual machine under load. On a host with overcommitted CPUs, "
    "the control plane competes with tenants.",
    sources=(
        RuleSource("000", "Performance Impact", 2),
        RuleSource("project", "Capacity", 5),
    ),
    remediation="Remove virtual machines, make them smaller, or use a larger server.",
    subjects=lambda facts: facts.virt_hosts,
    applies=lambda _facts, host: bool(host.guests),
    not_applicable_reason="the stack has no virt host that carries a virtual machine",
    parameters={"reserve": f"{RESERVE} GiB"},
    since="0.2.0",
    single=(VirtHostFacts.TYPE,),
)
def vms_fit_their_host(_facts: Facts, host: VirtHostFacts) -> Iterator[RuleProblem]:
    """Adds up CPUs and memory of the host's virtual machines, and compares them with the host's CPUs and memory."""
    memory = sum(vm.memory for vm in host.vms)
    cpu = sum(vm.cpu for vm in host.vms)
    if memory + RESERVE > host.memory:
        yield RuleProblem(
            f"virtual machines take {memory} GiB of {host.memory}", f"at most {host.memory - RESERVE} GiB"
        )
    if cpu > host.cpu:
        yield RuleProblem(f"virtual machines take {pluralize(cpu, 'CPU')} of {host.cpu}", f"at most {host.cpu}")
