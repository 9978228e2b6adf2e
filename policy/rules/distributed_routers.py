"""Distributed routers of Neutron: the agents that each compute needs for them."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.kubernetes.configuration import sections, written
from policy.facts.kubernetes.workload import Workload
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.wording import join_names

_SERVER, _COMPUTE = "neutron-server", "nova-compute"
_L3_FILE, _METADATA_FILE = "l3_agent.ini", "metadata_agent.ini"
_MODES = ("dvr", "dvr_snat", "dvr_no_external")
"""Values of agent_mode with which an L3 agent runs distributed routers (Neutron 2026.1, agent/l3)."""


def _option(facts: Facts, workload: Workload, file: str, option: str) -> str:
    """Returns an option of section DEFAULT in a file that a workload reads; "" if it has none."""
    texts = (each.read() for each in written(workload, facts.config_maps) if each.name == file)
    return next((sections(text).get("DEFAULT", option, fallback="") for text in texts), "")


def _reads(facts: Facts, workload: Workload, file: str) -> bool:
    return any(each.name == file for each in written(workload, facts.config_maps))


def _distributes(facts: Facts, workload: Workload) -> bool:
    """Whether a workload is nova-compute in a stack whose Neutron makes distributed routers."""
    if not workload.is_long_running or facts.service(workload) != _COMPUTE:
        return False
    servers = (each for each in facts.workloads if each.is_long_running and facts.service(each) == _SERVER)
    return any(_option(facts, each, "neutron.conf", "router_distributed").lower() == "true" for each in servers)


@rule(
    id="distributed-routers-on-computes",
    title="With distributed routers, every compute runs one L3 agent and a metadata agent",
    severity=Severity.HIGH,
    rationale="A distributed router is on each compute that has a virtual machine of its networks. A compute without "
    "an L3 agent in such a mode connects its virtual machines to no other network, and without a metadata agent they "
    "get no metadata. Neutron knows an agent by its host, so of two L3 agents of a node each removes what the other "
    "one has made.",
    sources=(RuleSource("004", "2.6.1", 2), RuleSource("004", "2.6.1", 3)),
    remediation="Run an L3 agent with agent_mode: dvr and a metadata agent as a DaemonSet on nova-compute's nodes, "
    "and those of the network nodes elsewhere. Quorate does so for quorate:networks.distributedRouters: true.",
    subjects=lambda facts: facts.workloads,
    applies=_distributes,
    not_applicable_reason="the workload is not nova-compute, or Neutron makes no distributed routers",
    since="0.7.0",
)
def distributed_routers_on_computes(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Counts DaemonSets only for what every compute has, and every workload for what no node may have twice."""
    computes = {node.name for node in facts.eligible(workload)}
    lasting = [each for each in facts.workloads if each.is_long_running]
    agents = {
        each: {node.name for node in facts.eligible(each)}
        for each in lasting
        if _option(facts, each, _L3_FILE, "agent_mode") in _MODES
    }
    routed = _everywhere(agents)
    if without := computes - routed:
        yield RuleProblem(f"no L3 agent with agent_mode dvr on {join_names(without)}", "one on every node")
    answered = _everywhere(
        {
            each: {node.name for node in facts.eligible(each)}
            for each in lasting
            if _reads(facts, each, _METADATA_FILE) and each.kind == "DaemonSet"
        }
    )
    if without := (computes & routed) - answered:
        yield RuleProblem(f"no metadata agent on {join_names(without)}", "one on every node")
    twice = {name for name in computes if sum(name in nodes for nodes in agents.values()) > 1}
    if twice:
        names = join_names([each.title for each in agents if agents[each] & twice])
        yield RuleProblem(f"several L3 agents ({names}) can run on {join_names(twice)}", "one of them on each node")


def _everywhere(agents: dict[Workload, set[str]]) -> set[str]:
    """Returns the nodes on which one of the agents runs for sure, because it is a DaemonSet."""
    return {name for each, nodes in agents.items() if each.kind == "DaemonSet" for name in nodes}
