"""Computes: what Nova keeps from tenants of a node, and how virtual machines move between nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache

from policy.facts.kubernetes.configuration import flat, read_by, sections
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.kubernetes.quantity import GIB, MIB, PodResources
from policy.facts.kubernetes.workload import Workload
from policy.facts.quorums.quorum_state import DOMAIN_FILE, pins
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.properties import Malformed
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_COMPUTE, _FILE, _LIBVIRTD = "nova-compute", "nova.conf", "libvirtd.conf"
_MEMORY, _CPU = 512, 0
"""Nova's defaults: MiB of reserved_host_memory_mb, and cores of reserved_host_cpus."""
_SMALLEST = 1
"""GiB and cores that the plan leaves tenants of a node that its own pods fill (blueprint/plan/host_reserves.py)."""
_TRUE = ("true", "1", "on", "yes")
"""Texts that oslo.config reads as true."""
_RANGE = re.compile(r"\^?([0-9]+)(?:-([0-9]+))?")


def _files(facts: Facts, workload: Workload) -> Mapping[str, str]:
    maps = read_by(workload, facts.config_maps)
    return {key: text for each in maps for key, text in each.files.items() if key.endswith(".conf")}


def _offers_nodes(facts: Facts, workload: Workload) -> bool:
    if facts.service(workload) != _COMPUTE or workload.kind != "DaemonSet":
        return False
    is_sized = any(node.room is not None and _size(node) is not None for node in facts.eligible(workload))
    return is_sized and any(_FILE in each.files for each in read_by(workload, facts.config_maps))


@rule(
    id="nova-reserves-host",
    title="Nova keeps from tenants what its node needs for itself",
    severity=Severity.HIGH,
    rationale="Nova offers all memory and CPU of a compute less its reserve, by default 512 MiB and no core. Tenants "
    "fill the rest: the kernel or kubelet then ends agents, libvirt, or virtual machines of the control plane.",
    sources=(RuleSource("project", "Capacity", 6),),
    remediation="Set reserved_host_memory_mb and reserved_host_cpus in section [DEFAULT] of nova.conf, or "
    "cpu_shared_set in [compute], to what kubelet reserves on the node and its DaemonSets request. On a host of pinned "
    "virtual machines, set cpu_shared_set to CPUs that none of them has.",
    subjects=lambda facts: facts.workloads,
    applies=_offers_nodes,
    not_applicable_reason="no nova-compute runs on nodes whose size is known",
    since="0.7.0",
)
def nova_reserves_host(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares the options of each node with the memory and CPU that kubelet reserves and DaemonSets request there.

    A set of CPUs for tenants counts as a reserve of the others. It may have no CPU to which a virtual machine of the
    node is pinned. The operating system's own share is not compared.
    """
    files, requests, pinned = _files(facts, workload), _requests(facts), _pinned(facts)
    common = files.get(_FILE, "")
    short: dict[tuple[str, str], list[str]] = {}
    for node in facts.eligible(workload):
        size = _size(node)
        if node.room is None or size is None:
            continue
        needed = _needed(size, size - node.room + requests.get(node.name, PodResources()))
        own = files.get(f"{node.name}.conf", "")
        kept = _kept(common, own, size)
        if kept.memory < needed.memory:
            found = f"reserves {kept.memory / MIB:.0f} MiB of memory", f"{needed.memory / MIB:.0f} MiB or more"
            short.setdefault(found, []).append(node.name)
        if kept.cpu < needed.cpu:
            found = f"reserves {kept.cpu:.1f} cores", f"{needed.cpu:.1f} or more"
            short.setdefault(found, []).append(node.name)
        tenants = _union(_named(common, own)) or frozenset(range(int(size.cpu)))
        if guests := [name for name, cpus in pinned.get(node.name, {}).items() if cpus & tenants]:
            found = f"gives tenants CPUs to which {join_names(guests)} is pinned", "cpu_shared_set without these CPUs"
            short.setdefault(found, []).append(node.name)
    for (actual, expected), names in short.items():
        yield RuleProblem(f"{actual} on {join_names(names)}", expected)


def _size(node: NodeFacts) -> PodResources | None:
    """Returns all cores and memory of a node's machine; None if they are not known."""
    cpu, memory = node.resource.props.at("cpu"), node.resource.props.at("memory")
    if not cpu.given() or not memory.given():
        return None
    return PodResources(Decimal(str(cpu.real())), Decimal(str(memory.real())) * GIB)


@lru_cache(maxsize=1)
def _requests(facts: Facts) -> Mapping[str, PodResources]:
    """Returns the requests of all DaemonSets together on each node, by the node's name."""
    found: dict[str, PodResources] = {}
    for daemon in facts.workloads:
        if daemon.kind == "DaemonSet":
            for node in facts.eligible(daemon):
                found[node.name] = found.get(node.name, PodResources()) + daemon.requests
    return found


def _needed(size: PodResources, used: PodResources) -> PodResources:
    """Returns what a node needs beside tenants, as far as it leaves room for them."""
    return PodResources(min(used.cpu, size.cpu - _SMALLEST), min(used.memory, size.memory - _SMALLEST * GIB))


@lru_cache(maxsize=256)  # most nodes have the same size and no file of their own
def _kept(common: str, own: str, size: PodResources) -> PodResources:
    """Returns what Nova keeps from tenants of a node. `own`: the node's file, which overrides nova.conf (`common`)."""
    options = sections(f"{common}\n{own}")
    memory = _number(options.get("DEFAULT", "reserved_host_memory_mb", fallback=str(_MEMORY)))
    cpu = _number(options.get("DEFAULT", "reserved_host_cpus", fallback=str(_CPU)))
    if tenants := _union(_named(common, own)):
        cpu = size.cpu - len(tenants)
    return PodResources(cpu, memory * MIB)


@lru_cache(maxsize=256)
def _named(common: str, own: str) -> tuple[str, ...]:
    """Returns the sets of CPUs that are named for tenants."""
    options = sections(f"{common}\n{own}")
    sets = (options.get("compute", name, fallback="") or "" for name in ("cpu_shared_set", "cpu_dedicated_set"))
    return tuple(each for each in sets if each.strip())


def _union(sets: Iterable[str]) -> frozenset[int]:
    return frozenset[int]().union(*map(_cpus, sets))


@lru_cache(maxsize=1)
def _pinned(facts: Facts) -> Mapping[str, Mapping[str, frozenset[int]]]:
    """Returns the CPUs to which libvirt pins each virtual machine, by its host and its name."""
    found: dict[str, dict[str, frozenset[int]]] = {}
    for machine in facts.machines:
        if machine.single and (cpus := _union(pins(machine.definition.get(DOMAIN_FILE, "")))):
            found.setdefault(machine.resource.props.at("server").text(), {})[machine.node] = cpus
    return found


def _cpus(written: str) -> frozenset[int]:
    """Returns the CPUs in a set such as 2-15,^8."""
    found: set[int] = set()
    without: set[int] = set()
    for part in written.replace('"', "").split(","):
        match = _RANGE.fullmatch(part.strip())
        if not match:
            raise Malformed(f"'{written}' is not a set of CPUs")
        (without if part.strip().startswith("^") else found).update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found - without)


def _number(written: str | None) -> Decimal:
    if not written or not written.isdecimal():
        raise Malformed(f"a reserve of nova-compute is '{written}', not a whole number")
    return Decimal(written)


def _moves_guests(facts: Facts, workload: Workload) -> bool:
    """Whether a workload reads the configuration of libvirtd, or Nova's with a transport of migrations."""
    files = _files(facts, workload)
    return _LIBVIRTD in files or any(_migration(files.get(_FILE, "")))


def _migration(text: str) -> tuple[str, str, str]:
    """Returns scheme and URI of migrations, and whether QEMU encrypts; "" for an option that is not set."""
    options = sections(text)
    names = ("live_migration_scheme", "live_migration_uri", "live_migration_with_native_tls")
    scheme, uri, native = (options.get("libvirt", name, fallback="") or "" for name in names)
    return scheme.strip(), uri.strip(), native.strip().lower()


@rule(
    id="migrations-are-encrypted",
    title="Virtual machines migrate over TLS only",
    severity=Severity.CRITICAL,
    rationale="Whoever reaches libvirt's TCP port controls every virtual machine of the node. A migration without TLS "
    "shows the memory of a virtual machine, with its keys, to the network.",
    sources=(RuleSource("project", "Computes", 2),),
    remediation="In libvirtd.conf set listen_tcp = 0, and leave tls_no_verify_certificate out. In section [libvirt] of "
    "nova.conf set live_migration_scheme = tls and live_migration_with_native_tls = true, without live_migration_uri.",
    subjects=lambda facts: facts.workloads,
    applies=_moves_guests,
    not_applicable_reason="no workload reads a libvirtd.conf, or a nova.conf with a transport of migrations",
    since="0.7.0",
)
def migrations_are_encrypted(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Reads libvirtd.conf, and nova.conf if it names a transport. Nova's default is TCP, on which libvirtd must not be.

    Options of single nodes and environment variables are not read.
    """
    files = _files(facts, workload)
    daemon = {key: value.strip('"') for key, value in flat(files.get(_LIBVIRTD, "")).items()}
    if daemon.get("listen_tcp", "0") != "0":
        yield RuleProblem(f"{_LIBVIRTD} has listen_tcp = {daemon['listen_tcp']}", "0")
    if daemon.get("tls_no_verify_certificate", "0") != "0":
        yield RuleProblem(f"{_LIBVIRTD} accepts clients without a certificate", "tls_no_verify_certificate = 0")
    scheme, uri, native = _migration(files.get(_FILE, ""))
    transport = scheme or uri.partition("://")[0].rpartition("+")[2]
    if not transport:
        return
    if transport != "tls":
        yield RuleProblem(f"{_FILE} migrates by {transport}", "live_migration_scheme = tls")
    elif native not in _TRUE:
        yield RuleProblem(f"{_FILE} sends the memory of virtual machines without TLS", "live_migration_with_native_tls")
