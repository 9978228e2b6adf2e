"""libvirt domains: hypervisors, protection from deletion, names and sizes of virtual machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from blueprint.hypervisor_types import EMULATED, HYPERVISOR_TYPES
from policy.facts.components import VirtHostFacts
from policy.facts.kubernetes.node import MACHINE_TYPES
from policy.facts.machines.libvirt import LibvirtDomain
from policy.facts.machines.machine import MachineFacts
from policy.facts.quorums.quorums import voting_nodes
from policy.facts.stack import Facts
from policy.facts.stack_configuration import PRODUCTION
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_FOR_ALL = tuple(name for name in HYPERVISOR_TYPES if name not in EMULATED)
"""Hypervisors that a production stack may use."""
_KNOWN = f"{', '.join(_FOR_ALL[:-1])} or {_FOR_ALL[-1]}"
KERNEL_SHARE, KERNEL_GIB = 32, 0.5
"""How much more memory than declared a domain may have, for the guest's kernel: one byte of 32, and half a GiB."""
LEAST_VOTERS = 3
"""If at least so many virtual machines have names that differ only in numbers, they may be quorum members."""
DOMAIN = "domain.xml"
_ACTION = re.compile(r"<on_(reboot|crash)>\s*([a-z-]+)\s*</on_")
_RESTARTS = {"restart", "coredump-restart"}
"""Actions after which the domain runs again (libvirt, Domain XML format, Events configuration)."""
_GIB = {"b": 2**-30, "kib": 2**-20, "mib": 2**-10, "gib": 1, "tib": 2**10, "k": 2**-20, "m": 2**-10, "g": 1, "t": 2**10}


def _carriers(facts: Facts) -> Iterator[VirtHostFacts | LibvirtDomain]:
    """Yields the VirtHost components, and the hand-written libvirt domains."""
    yield from facts.virt_hosts
    yield from facts.domains


def _tier(facts: Facts, domain: LibvirtDomain) -> list[LibvirtDomain]:
    """Returns the domains whose names differ only in numbers, such as ctl-1, ctl-2, ctl-3."""
    return [each for each in facts.domains if _unnumbered(each.name) == _unnumbered(domain.name)]


def _unnumbered(name: str) -> str:
    return re.sub(r"\d+", "#", name)


def _may_vote(facts: Facts, carrier: VirtHostFacts | LibvirtDomain) -> bool:
    """Whether a virt host or a libvirt domain may run quorum members.

    In a stack without nodes, a domain may if at least three domains have names that differ only in numbers.
    """
    if isinstance(carrier, VirtHostFacts) or carrier.name in voting_nodes(facts):
        return True
    return not facts.nodes and len(_tier(facts, carrier)) >= LEAST_VOTERS


@rule(
    id="hypervisor-known",
    title=f"Virtual machines run under {_KNOWN}; in a lab also under {' or '.join(EMULATED)}",
    severity=Severity.HIGH,
    rationale="The source documents support kvm, lxc and containers with a full init. Plain qemu emulates every "
    "instruction, so that a quorum member in its virtual machines answers too late.",
    sources=(
        RuleSource("000", "Proposed change", 1),
        RuleSource("002", "Proposed Change", 3),
    ),
    remediation="Set hypervisor: kvm (or lxc, container) on the server, or type='kvm' in the libvirt domain.",
    subjects=_carriers,
    not_applicable_reason="the stack has neither a virt host nor a libvirt domain",
    parameters={"hypervisors": ", ".join(_FOR_ALL), "in a lab": ", ".join(EMULATED)},
    since="0.2.0",
)
def hypervisor_known(facts: Facts, carrier: VirtHostFacts | LibvirtDomain) -> Iterator[RuleProblem]:
    """Checks the host's hypervisor, and that the libvirt domains of its guests have the same type."""
    emulated = facts.profile != PRODUCTION and carrier.hypervisor in EMULATED
    if carrier.hypervisor not in _FOR_ALL and not emulated:
        yield RuleProblem(f"hypervisor is {carrier.hypervisor or 'not set'}", _KNOWN)
    if isinstance(carrier, VirtHostFacts):
        for machine in _guests(facts, carrier):
            own = _root(machine)
            if own is not None and own.get("type") != carrier.hypervisor:
                yield RuleProblem(f"domain of {machine.node} has type {own.get('type')}", f"{carrier.hypervisor}")


@rule(
    id="virt-host-is-protected",
    title="Production virt hosts and libvirt domains are protected from deletion",
    severity=Severity.HIGH,
    rationale="A virt host that is removed from the stack file is deleted together with every virtual machine on it.",
    sources=(
        RuleSource("000", "Acceptance criteria", 3),
        RuleSource("project", "Quorums", 4),
    ),
    remediation="Set protect=True. Before a planned removal, empty the host and run `pulumi state unprotect <urn>`.",
    subjects=_carriers,
    applies=lambda facts, carrier: facts.profile == PRODUCTION and _may_vote(facts, carrier),
    not_applicable_reason="the stack is a lab, or no virt host and no libvirt domain of it may carry a quorum member",
    since="0.2.0",
)
def virt_host_is_protected(_facts: Facts, carrier: VirtHostFacts | LibvirtDomain) -> Iterator[RuleProblem]:
    """Checks the resource option `protect`: Pulumi refuses to delete a protected resource."""
    if not carrier.resource.protected:
        yield RuleProblem("not protected", "the resource option protect=True")


@rule(
    id="domains-on-different-hypervisors",
    title="Virtual machines of one tier run on distinct hypervisors",
    severity=Severity.CRITICAL,
    rationale="Three libvirt domains of one provider are on one physical host and fail together. If the stack "
    "describes no nodes, no label shows on which host a domain runs.",
    sources=(RuleSource("000", "Problem description", 3),),
    remediation="Give each domain a provider with the uri of another hypervisor, or describe the nodes and their "
    "physical hosts (quorate.io/server).",
    subjects=lambda facts: facts.domains,
    applies=lambda facts, domain: not facts.nodes and _may_vote(facts, domain),
    not_applicable_reason="the stack describes nodes, or has no 3 libvirt domains whose names differ in numbers only",
    parameters={"tier": f"{LEAST_VOTERS} or more domains whose names differ in numbers only"},
    since="0.4.0",
)
def domains_on_different_hypervisors(facts: Facts, domain: LibvirtDomain) -> Iterator[RuleProblem]:
    """Compares the Pulumi providers of the domains of one tier. In a stack with nodes, server-label-is-true applies."""
    beside = {each.name for each in _tier(facts, domain) if each.host == domain.host} - {domain.name}
    if beside:
        yield RuleProblem(f"shares its hypervisor with {join_names(beside)}", "a hypervisor for each")


@rule(
    id="virtual-voters-come-back",
    title="Virtual machines of quorum members start with their host, and again after a reboot or a crash",
    severity=Severity.HIGH,
    rationale="libvirt starts no domain by itself. After a power failure, the members on such domains stay away: one "
    "after the failure of a host, all after one of the site. Templates of installers destroy a domain that reboots.",
    sources=(RuleSource("project", "Machines", 4),),
    remediation="Set autostart=True, and <on_reboot>restart</on_reboot> and <on_crash>restart</on_crash>.",
    subjects=lambda facts: facts.domains,
    applies=_may_vote,
    not_applicable_reason="no libvirt domain of the stack may carry a quorum member",
    parameters={"after a reboot or a crash": ", ".join(sorted(_RESTARTS))},
    since="0.7.0",
)
def virtual_voters_come_back(_facts: Facts, domain: LibvirtDomain) -> Iterator[RuleProblem]:
    """Checks `autostart`, and the actions that the domain's XSLT sets. libvirt's default for both is to restart."""
    if not domain.autostart:
        yield RuleProblem("autostart is off", "autostart=True")
    for event, action in _ACTION.findall(domain.transformation):
        if action not in _RESTARTS:
            yield RuleProblem(f"on_{event} is {action}", join_names(_RESTARTS))


def _guests(facts: Facts, host: VirtHostFacts) -> Iterator[MachineFacts]:
    return (machine for machine in facts.machines if machine.single and machine.node in host.guests)


def _root(machine: MachineFacts) -> ElementTree.Element | None:
    """Returns the root element of the machine's libvirt domain; None if it has no domain, or its XML is invalid."""
    if DOMAIN not in machine.definition:
        return None
    try:
        return ElementTree.fromstring(machine.definition[DOMAIN])  # noqa: S314 - a file of the stack's own
    except ElementTree.ParseError:
        return None


@rule(
    id="domain-gives-what-is-said",
    title="libvirt domains match the declared name and CPUs, and have at least the declared memory",
    severity=Severity.HIGH,
    rationale="Quorate assigns pods to nodes by the sizes in the stack file. If a domain template omits a size, "
    "libvirt applies its own default, and the assigned pods may not fit in the virtual machine.",
    sources=(
        RuleSource("000", "Data model impact", 6),
        RuleSource("000", "Data model impact", 13),
    ),
    remediation="Use {name}, {cpu}, and {ram} or {memory} in the template that quorate:template names.",
    subjects=lambda facts: facts.machines,
    applies=lambda _facts, machine: DOMAIN in machine.definition,
    not_applicable_reason="no machine of the stack has a libvirt domain",
    reads_machine_files=True,
    since="0.2.0",
    single=MACHINE_TYPES,
)
def domain_gives_what_is_said(_facts: Facts, machine: MachineFacts) -> Iterator[RuleProblem]:
    """Compares name, CPUs and memory in domain.xml with the machine's properties. libvirt's default unit is KiB.

    A domain may have a little more memory than declared, which the guest's kernel takes.
    """
    root = _root(machine)
    if root is None:
        yield RuleProblem("domain.xml is not valid XML", "a libvirt domain")
        return
    props = machine.resource.props
    name, cpu = (root.findtext("name") or "").strip(), (root.findtext("vcpu") or "").strip()
    if name != machine.node:
        yield RuleProblem(f"domain name is {name or 'empty'}", machine.node)
    if cpu != str(props.at("cpu").number(0)):
        actual = f"domain has {cpu} CPUs" if cpu else "domain sets no CPU count"
        yield RuleProblem(actual, f"{props.at('cpu').number(0)}")
    memory = root.find("memory")
    size = (memory.text or "").strip() if memory is not None else ""
    unit = memory.get("unit", "KiB").lower() if memory is not None else ""
    given = int(size) * _GIB.get(unit, 0) if re.fullmatch(r"\d+", size) else 0
    declared = props.at("memory").number(0)
    if not declared <= given <= declared + declared / KERNEL_SHARE + KERNEL_GIB:
        yield RuleProblem(f"domain has {given:g} GiB of memory", f"{declared} GiB")
