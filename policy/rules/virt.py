"""Virtual machines as control-plane nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from policy.facts.components import Cloud, VirtHost
from policy.facts.kubernetes.node import MACHINE_TYPES
from policy.facts.libvirt import Domain
from policy.facts.machine import Machine
from policy.facts.quorums import voting_nodes
from policy.facts.stack import PRODUCTION, Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names, pluralize

FEATURE = "reduced-footprint"
MIXED_WITH = "compute"
HYPERVISORS = ("kvm", "lxc", "container")
LEAST_VOTERS = 3
"""Virtual machines that are alike, from which they may be members of a quorum."""
RESERVE = 4
"""GiB of a virt host that its own system and libvirt keep. Not measured (as in blueprint/stackfile/inventory.py)."""
DISCLAIMERS = ("performance", "security")
ISOLATION = "isolation"
"""Acknowledged where the hypervisor shares its kernel with its guests."""

FOOTPRINT = Source("000", "Proposed change", 1)


@rule(
    id="virt-mixes-with-compute-only",
    title="Virt hosts carry only the roles virt and compute",
    severity=Severity.HIGH,
    rationale="Virtual machines separate the control plane's resources from the other workloads of a server. A "
    "controller or a master on the virt host itself removes that separation.",
    sources=(
        Source("000", "Proposed change", 7),
        Source("000", "Proposed change", 34),
    ),
    remediation="Give the server the roles virt and compute, and run every other role in a virtual machine on it.",
    subjects=lambda facts: facts.virt_hosts,
    not_applicable_reason="the stack has no virt host",
    parameters={"mixes with": MIXED_WITH},
    since="0.2.0",
)
def virt_mixes_with_compute_only(facts: Facts, host: VirtHost) -> Iterator[Problem]:
    """By the host's own facts, and by the machine that runs on the same server without being one of its guests."""
    others = set(host.roles) - {"virt", MIXED_WITH}
    for machine in facts.machines:
        if machine.single and machine.node == host.server:
            others |= set(machine.roles) - {"virt", MIXED_WITH}
    if others:
        yield Problem(f"roles are {join_names({*host.roles, *others})}", f"virt, or virt and {MIXED_WITH}")


@rule(
    id="one-role-per-machine",
    title="Compute machines carry only the roles compute and virt",
    severity=Severity.HIGH,
    rationale="Tenants' virtual machines and the control plane in one operating system compete for memory and CPU, "
    "and an attacker who escapes from a tenant's virtual machine reaches the control plane.",
    sources=(
        Source("000", "Proposed change", 34),
        Source("000", "Security impact", 2),
    ),
    remediation="Give each machine one role; run the other role in a virtual machine (roles: [virt, compute]).",
    subjects=lambda facts: facts.machines,
    applies=lambda _facts, machine: MIXED_WITH in machine.roles,
    not_applicable_reason="no machine of the stack is a compute",
    since="0.2.0",
    single=MACHINE_TYPES,
)
def one_role_per_machine(_facts: Facts, machine: Machine) -> Iterator[Problem]:
    """A virt host that is a compute as well is fine: its virtual machines are machines of their own."""
    others = set(machine.roles) - {"virt", MIXED_WITH}
    if others:
        yield Problem(f"roles are {join_names(machine.roles)}", "compute, or compute and virt")


def _clouds_with_guests(facts: Facts) -> Iterable[Cloud]:
    """The Clouds of a stack with virtual machines as nodes."""
    return facts.clouds if any(host.guests for host in facts.virt_hosts) else ()


@rule(
    id="virt-is-asked-for",
    title="Virtual machine nodes require the feature reduced-footprint",
    severity=Severity.MEDIUM,
    rationale="The reduced footprint is for advanced users. It must not result from a mistake in a list of roles.",
    sources=(Source("000", "Proposed change", 8),),
    remediation="Add reduced-footprint to quorate:features, or remove the virt hosts.",
    subjects=_clouds_with_guests,
    not_applicable_reason="the stack has no Cloud, or no virtual machine is a node of it",
    parameters={"feature": FEATURE},
    since="0.2.0",
)
def virt_is_asked_for(_facts: Facts, cloud: Cloud) -> Iterator[Problem]:
    """See the rationale."""
    if FEATURE not in cloud.features:
        yield Problem(f"quorate:features is {join_names(cloud.features) or 'empty'}", FEATURE)


@rule(
    id="virt-disclaimers-acknowledged",
    title="Production stacks with virtual machine nodes acknowledge the known risks",
    severity=Severity.HIGH,
    rationale="All services on few servers perform badly, tenants' virtual machines take resources from the control "
    "plane, and controllers run beside tenants' virtual machines. Containers share a kernel with all of them.",
    sources=(
        Source("000", "Performance Impact", 1),
        Source("000", "Security impact", 2),
        Source("000", "Documentation Impact", 2),
        Source("002", "Security Impact", 5),
    ),
    remediation="Read the rationale, then set quorate:acknowledged: [performance, security]; add isolation if a "
    "virt host uses lxc or container.",
    subjects=_clouds_with_guests,
    applies=lambda facts, _cloud: facts.profile == PRODUCTION,
    not_applicable_reason="the stack is a lab, or no virtual machine is a node of its Cloud",
    parameters={"disclaimers": ", ".join(DISCLAIMERS), "without a kernel of their own": ISOLATION},
    since="0.2.0",
)
def virt_disclaimers_acknowledged(facts: Facts, cloud: Cloud) -> Iterator[Problem]:
    """Each by its name: what a person has read, a person can write down."""
    wanted: set[str] = set(DISCLAIMERS)
    if any(host.guests and host.hypervisor != "kvm" for host in facts.virt_hosts):
        wanted.add(ISOLATION)
    if missing := wanted - set(cloud.acknowledged):
        yield Problem(f"{join_names(missing)} not acknowledged", f"quorate:acknowledged: [{', '.join(sorted(wanted))}]")


def _carriers(facts: Facts) -> Iterator[VirtHost | Domain]:
    """Virt hosts, and libvirt domains including hand-written ones."""
    yield from facts.virt_hosts
    yield from facts.domains


def _tier(facts: Facts, domain: Domain) -> list[Domain]:
    """Domains whose names differ in numbers only: ctl-1, ctl-2, ctl-3."""
    return [each for each in facts.domains if _unnumbered(each.name) == _unnumbered(domain.name)]


def _unnumbered(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _may_vote(facts: Facts, carrier: VirtHost | Domain) -> bool:
    """Whether it may carry members of a quorum. In a stack without nodes, three domains that are alike may."""
    if isinstance(carrier, VirtHost) or carrier.name in voting_nodes(facts):
        return True
    return not facts.nodes and len(_tier(facts, carrier)) >= LEAST_VOTERS


@rule(
    id="hypervisor-known",
    title="Virtual machines run under kvm, lxc or container",
    severity=Severity.HIGH,
    rationale="The sources were designed for kvm, lxc and a container with a full init. Plain qemu emulates every "
    "instruction, so that a quorum member on it misses its deadlines.",
    sources=(
        Source("000", "Proposed change", 1),
        Source("002", "Proposed Change", 3),
    ),
    remediation="Set hypervisor: kvm (or lxc, container) on the server, or type='kvm' in the libvirt domain.",
    subjects=_carriers,
    not_applicable_reason="the stack has neither a virt host nor a libvirt domain",
    parameters={"hypervisors": ", ".join(HYPERVISORS)},
    since="0.2.0",
)
def hypervisor_known(facts: Facts, carrier: VirtHost | Domain) -> Iterator[Problem]:
    """A guest's own domain says the same as its host."""
    if carrier.hypervisor not in HYPERVISORS:
        yield Problem(f"hypervisor is {carrier.hypervisor or 'not set'}", "kvm, lxc or container")
    if isinstance(carrier, VirtHost):
        for machine in _guests(facts, carrier):
            own = _root(machine)
            if own is not None and own.get("type") != carrier.hypervisor:
                yield Problem(f"domain of {machine.node} has type {own.get('type')}", f"{carrier.hypervisor}")


@rule(
    id="virt-host-is-protected",
    title="Production virt hosts and libvirt domains are protected from deletion",
    severity=Severity.HIGH,
    rationale="A virt host that is removed from the stack file is deleted together with every virtual machine on it.",
    sources=(
        Source("000", "Acceptance criteria", 3),
        Source("project", "Quorums", 4),
    ),
    remediation="Set protect=True. Before a planned removal, empty the host and run `pulumi state unprotect <urn>`.",
    subjects=_carriers,
    applies=lambda facts, carrier: facts.profile == PRODUCTION and _may_vote(facts, carrier),
    not_applicable_reason="the stack is a lab, or no virt host and no libvirt domain of it may carry a quorum member",
    since="0.2.0",
)
def virt_host_is_protected(_facts: Facts, carrier: VirtHost | Domain) -> Iterator[Problem]:
    """Checks the resource option: the engine then refuses every deletion."""
    if not carrier.resource.protected:
        yield Problem("not protected", "the resource option protect=True")


@rule(
    id="controllers-on-different-servers",
    title="Virtual machines of one pool run on distinct physical hosts",
    severity=Severity.CRITICAL,
    rationale="The nodes of a pool run the instances of the same services. Two nodes on one server fail together.",
    sources=(Source("000", "Problem description", 3),),
    remediation="Spread the virtual machines of a pool over as many servers as it has nodes.",
    subjects=lambda facts: facts.virt_hosts,
    applies=lambda _facts, host: bool(host.guests),
    not_applicable_reason="the stack has no virt host that carries a virtual machine",
    since="0.2.0",
)
def controllers_on_different_servers(facts: Facts, host: VirtHost) -> Iterator[Problem]:
    """By the pool that each machine's label names."""
    pools: dict[str, set[str]] = {}
    for node in facts.nodes:
        if node.name in host.guests and node.pool:
            pools.setdefault(node.pool, set()).add(node.name)
    for pool, names in pools.items():
        if len(names) > 1:
            yield Problem(f"carries {join_names(names)} of pool {pool}", "one node of a pool per host")


@rule(
    id="domains-on-different-hypervisors",
    title="Virtual machines of one tier run on distinct hypervisors",
    severity=Severity.CRITICAL,
    rationale="Three libvirt domains of one provider are on one physical host and fail together. Without nodes in the "
    "stack no label tells so.",
    sources=(Source("000", "Problem description", 3),),
    remediation="Give each domain a provider with the uri of another hypervisor, or describe the nodes and their "
    "physical hosts (quorate.io/server).",
    subjects=lambda facts: facts.domains,
    applies=lambda facts, domain: not facts.nodes and _may_vote(facts, domain),
    not_applicable_reason="the stack describes nodes, or has no 3 libvirt domains whose names differ in numbers only",
    parameters={"tier": f"{LEAST_VOTERS} or more domains whose names differ in numbers only"},
    since="0.4.0",
)
def domains_on_different_hypervisors(facts: Facts, domain: Domain) -> Iterator[Problem]:
    """By the connection of the provider. Where the stack has nodes, server-label-is-true judges their labels."""
    beside = {each.name for each in _tier(facts, domain) if each.host == domain.host} - {domain.name}
    if beside:
        yield Problem(f"shares its hypervisor with {join_names(beside)}", "a hypervisor for each")


@rule(
    id="vms-fit-their-host",
    title="Virtual machines fit their host's CPUs and its memory less the reserve",
    severity=Severity.HIGH,
    rationale="A host that overcommits memory kills a virtual machine under load. One that overcommits CPUs makes "
    "the control plane compete with tenants.",
    sources=(
        Source("000", "Performance Impact", 2),
        Source("project", "Capacity", 5),
    ),
    remediation="Remove virtual machines, make them smaller, or use a larger server.",
    subjects=lambda facts: facts.virt_hosts,
    applies=lambda _facts, host: bool(host.guests),
    not_applicable_reason="the stack has no virt host that carries a virtual machine",
    parameters={"reserve": f"{RESERVE} GiB"},
    since="0.2.0",
    single=(VirtHost.TYPE,),
)
def vms_fit_their_host(_facts: Facts, host: VirtHost) -> Iterator[Problem]:
    """Memory with the reserve; CPUs without overcommitment."""
    memory = sum(vm.memory for vm in host.vms)
    cpu = sum(vm.cpu for vm in host.vms)
    if memory + RESERVE > host.memory:
        yield Problem(f"virtual machines take {memory} GiB of {host.memory}", f"at most {host.memory - RESERVE} GiB")
    if cpu > host.cpu:
        yield Problem(f"virtual machines take {pluralize(cpu, 'CPU')} of {host.cpu}", f"at most {host.cpu}")


DOMAIN = "domain.xml"


def _guests(facts: Facts, host: VirtHost) -> Iterator[Machine]:
    return (machine for machine in facts.machines if machine.single and machine.node in host.guests)


def _root(machine: Machine) -> ElementTree.Element | None:
    """Its libvirt domain; None if it has no domain or an unreadable one."""
    if DOMAIN not in machine.definition:
        return None
    try:
        return ElementTree.fromstring(machine.definition[DOMAIN])  # noqa: S314 - a file of the stack's own
    except ElementTree.ParseError:
        return None


_GIB = {"b": 2**-30, "kib": 2**-20, "mib": 2**-10, "gib": 1, "tib": 2**10, "k": 2**-20, "m": 2**-10, "g": 1, "t": 2**10}


@rule(
    id="domain-gives-what-is-said",
    title="libvirt domains match the declared name, CPUs and memory",
    severity=Severity.HIGH,
    rationale="Placement uses the sizes in the stack file. If a template omits one, libvirt applies its own "
    "default, and what fits in the plan does not fit in the machine.",
    sources=(
        Source("000", "Data model impact", 6),
        Source("000", "Data model impact", 13),
    ),
    remediation="Use {name}, {cpu} and {ram} in the template that quorate:template names.",
    subjects=lambda facts: facts.machines,
    applies=lambda _facts, machine: DOMAIN in machine.definition,
    not_applicable_reason="no machine of the stack has a libvirt domain",
    since="0.2.0",
    single=MACHINE_TYPES,
)
def domain_gives_what_is_said(_facts: Facts, machine: Machine) -> Iterator[Problem]:
    """libvirt's unit is KiB where none is written."""
    root = _root(machine)
    if root is None:
        yield Problem("domain.xml is not valid XML", "a libvirt domain")
        return
    props = machine.resource.props
    name, cpu = (root.findtext("name") or "").strip(), (root.findtext("vcpu") or "").strip()
    if name != machine.node:
        yield Problem(f"domain name is {name or 'empty'}", machine.node)
    if cpu != str(props.at("cpu").number(0)):
        actual = f"domain has {cpu} CPUs" if cpu else "domain sets no CPU count"
        yield Problem(actual, f"{props.at('cpu').number(0)}")
    memory = root.find("memory")
    size = (memory.text or "").strip() if memory is not None else ""
    unit = memory.get("unit", "KiB").lower() if memory is not None else ""
    given = int(size) * _GIB.get(unit, 0) if re.fullmatch(r"\d+", size) else 0
    if given != props.at("memory").number(0):
        yield Problem(f"domain has {given:g} GiB of memory", f"{props.at('memory').number(0)} GiB")
