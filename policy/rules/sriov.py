"""Virtual functions of network cards (SR-IOV): what Neutron and Nova's scheduler need on a stack that gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from policy.facts.kubernetes.configuration import read_by, sections
from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_COMPUTE, _SERVER, _SCHEDULER = "nova-compute", "neutron-server", "nova-scheduler"
_NOVA, _ML2 = "nova.conf", "ml2_conf.ini"
_SPEC = re.compile(r"^\s*device_spec\s*=.*\bphysical_network\b", re.MULTILINE)
"""An entry of Nova's list of PCI devices that is for ports of Neutron."""
_DRIVER, _FILTER = "sriovnicswitch", "PciPassthroughFilter"
_DEFAULT = "those by default"
_TYPES = ("project_network_types", "tenant_network_types")
"""The types of projects' networks: the option's name since 2026.1, and the one before."""


def _files(facts: Facts, workload: Workload) -> dict[str, str]:
    """Returns the files that a workload reads, by name; those of single nodes are <node>.conf."""
    return {key: text for each in read_by(workload, facts.config_maps) for key, text in each.files.items()}


def _is_compute(facts: Facts, workload: Workload) -> bool:
    return workload.is_long_running and facts.service(workload) == _COMPUTE


def _gives_functions(facts: Facts, workload: Workload) -> bool:
    return _is_compute(facts, workload) and any(map(_SPEC.search, _files(facts, workload).values()))


@rule(
    id="sriov-devices-have-agents",
    title="With SR-IOV, every compute that gives functions of network cards has Neutron's agent",
    severity=Severity.HIGH,
    rationale="Neutron binds a port that is a virtual function only on a host whose agent of SR-IOV runs and names a "
    "card of the port's network, and only with its mechanism driver. Without the filter, the scheduler chooses hosts "
    "without a free function. A function carries no tunnel: if projects have tunnels only, no network of theirs can "
    "have such a port.",
    sources=(RuleSource("004", "2.5.2", 14), RuleSource("004", "2.5.2", 2), RuleSource("004", "2.5.2", 28)),
    remediation="Run neutron-sriov-nic-agent as a DaemonSet on these nodes with physical_device_mappings, "
    "sriovnicswitch among mechanism_drivers, vlan or flat among the types of projects' networks, and "
    "PciPassthroughFilter among enabled_filters. Quorate does so for sriov in quorate:nodes.",
    subjects=lambda facts: facts.workloads,
    applies=_gives_functions,
    not_applicable_reason="the workload is not nova-compute, or gives no functions of network cards",
    since="0.7.0",
)
def sriov_devices_have_agents(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares the nodes whose nova-compute has device_spec with those of DaemonSets with physical_device_mappings."""
    files = _files(facts, workload)
    everywhere = _SPEC.search(files.get(_NOVA, ""))
    giving = {
        node.name for node in facts.eligible(workload) if everywhere or _SPEC.search(files.get(f"{node.name}.conf", ""))
    }
    if without := giving - set(_mapped(facts)):
        yield RuleProblem(f"no agent with physical_device_mappings on {join_names(without)}", "one on every node")
    for drivers in _lists(facts, _SERVER, _ML2, "ml2", ("mechanism_drivers",)):
        if _DRIVER not in drivers:
            yield RuleProblem(f"the mechanism drivers are {join_names(drivers) or _DEFAULT}", f"{_DRIVER} among them")
    for types in _lists(facts, _SERVER, _ML2, "ml2", _TYPES):
        if not types & {"vlan", "flat"}:
            yield RuleProblem(
                f"networks of projects are {join_names(types) or _DEFAULT} only", "vlan or flat among their types"
            )
    for filters in _lists(facts, _SCHEDULER, _NOVA, "filter_scheduler", ("enabled_filters",)):
        if _FILTER not in filters:
            yield RuleProblem(f"the scheduler's filters are {join_names(filters) or _DEFAULT}", f"{_FILTER} among them")


def _mapped(facts: Facts) -> Iterator[str]:
    """Yields the nodes on which an agent has a network card: by its files for all nodes, or by that of the node."""
    for daemon in facts.workloads:
        if daemon.kind != "DaemonSet":
            continue
        files = {name: text for name, text in _files(facts, daemon).items() if "physical_device_mappings" in text}
        nodes = [node.name for node in facts.eligible(daemon)] if files else []
        of_nodes = {f"{name}.conf" for name in nodes}
        common = any(_has_cards(text) for name, text in files.items() if name not in of_nodes)
        yield from (name for name in nodes if common or _has_cards(files.get(f"{name}.conf", "")))


def _has_cards(text: str) -> bool:
    return bool(sections(text).get("sriov_nic", "physical_device_mappings", fallback=""))


def _lists(facts: Facts, service: str, file: str, section: str, names: tuple[str, ...]) -> Iterator[set[str]]:
    """Yields the values of an option that is a list, for each workload of a service that reads its file.

    `names`: the names of the option.
    """
    for workload in facts.workloads:
        if workload.is_long_running and facts.service(workload) == service:
            files = _files(facts, workload)
            if file in files:
                options = sections(files[file])
                texts = (options.get(section, name, fallback="") or "" for name in names)
                yield {word.strip() for text in texts for word in text.split(",") if word.strip()}
