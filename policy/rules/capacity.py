"""Capacity of nodes for pods, also after the loss of a physical host; size of the reference architecture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from contract import COMPUTE_NODE, COMPUTE_POOL, SERVER
from policy.facts.components import CloudFacts
from policy.facts.kubernetes.node import NodeFacts
from policy.facts.kubernetes.quantity import PodResources
from policy.facts.kubernetes.workload import Workload
from policy.facts.placement.placement_counts import counts
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.resource import Resource
from policy.rule import ADVISORY, RuleProblem, RuleSource, rule
from policy.wording import join_names
from text.plural import pluralize


@lru_cache(maxsize=1)
def _free(facts: Facts) -> Mapping[str, PodResources]:
    """Returns each node's allocatable resources less the requests of its DaemonSets, by the node's name.

    Nodes whose allocatable resources are not known are omitted.
    """
    free = {node.name: node.room for node in facts.nodes if node.room is not None}
    for daemon in facts.workloads:
        if daemon.kind == "DaemonSet" and free:
            for node in facts.eligible(daemon):
                if node.name in free:
                    free[node.name] = free[node.name] - daemon.requests
    return free


def _sized(facts: Facts, workload: Workload) -> bool:
    """Whether a long-running workload has requests, and the size of each of its eligible nodes is known."""
    if not workload.is_long_running or not facts.nodes:
        return False
    nodes = facts.eligible(workload)
    return bool(nodes) and workload.requests != PodResources() and all(node.room is not None for node in nodes)


@rule(
    id="pod-fits-node",
    title="Every pod's requests fit its eligible nodes",
    severity=Severity.HIGH,
    rationale="A pod stays Pending if it requests more CPU or memory than each of its eligible nodes has.",
    sources=(RuleSource("project", "Capacity", 1),),
    remediation="Lower the requests of the workload's containers, or let it run on larger nodes.",
    subjects=lambda facts: facts.workloads,
    applies=_sized,
    not_applicable_reason="no workload with requests runs on nodes whose size is known",
    since="0.2.0",
)
def pod_fits_node(facts: Facts, workload: Workload) -> Iterator[RuleProblem]:
    """Compares a pod's requests with nodes that run only DaemonSets.

    If replicas must not share a node, there must be a node that is large enough for each replica.
    """
    nodes = facts.eligible(workload)
    own = workload.requests if workload.replicas is None else PodResources()
    room = {node.name: _free(facts)[node.name] + own for node in nodes}
    large = [name for name, each in room.items() if workload.requests.fits(each)]
    apart = len(nodes) if counts(facts).one_each(workload) else 1
    needed = len(nodes) if workload.replicas is None else min(workload.replicas, apart)
    if len(large) < needed:
        small = join_names(room.keys() - set(large))
        yield RuleProblem(
            f"a pod requests {workload.requests}, more than {small} have free after DaemonSets",
            f"at least {pluralize(needed, 'node')} with that much free",
        )


@dataclass(frozen=True)
class NodeSet:
    """The eligible nodes of a workload, with all workloads whose eligible nodes are among these nodes."""

    resource: Resource
    """Resource of the workload whose pods together request most, of those that are eligible for exactly these nodes."""
    nodes: tuple[NodeFacts, ...]
    workloads: tuple[Workload, ...]

    @property
    def title(self) -> str:
        names = join_names({node.pool for node in self.nodes if node.pool} or {node.name for node in self.nodes})
        return f"{join_names([each.title for each in self.workloads])} on {names}"


@lru_cache(maxsize=1)
def _node_sets(facts: Facts) -> tuple[NodeSet, ...]:
    """Returns a NodeSet for each distinct set of nodes that some workload is eligible for."""
    free = _free(facts)
    fitting: dict[Workload, frozenset[str]] = {}
    for each in facts.workloads:
        if not each.is_long_running or not each.replicas or not free:
            continue
        nodes = facts.eligible(each)
        if nodes and all(node.name in free for node in nodes) and any(each.requests.fits(free[n.name]) for n in nodes):
            fitting[each] = frozenset(node.name for node in nodes)
    sets: list[NodeSet] = []
    for names in dict.fromkeys(fitting.values()):
        inside = tuple(each for each, own in fitting.items() if own <= names)
        most = max((each for each, own in fitting.items() if own == names), key=_weight)
        sets.append(NodeSet(most.resource, facts.eligible(most), inside))
    return tuple(sets)


def _weight(workload: Workload) -> tuple[Decimal, Decimal, str]:
    total = workload.requests.times(workload.replicas or 0)
    return total.memory, total.cpu, workload.resource.name


@rule(
    id="requests-fit-after-loss",
    title="Resource requests fit after the loss of any one physical host",
    severity=Severity.HIGH,
    rationale="The pods of a lost host start again on the remaining nodes. If these have too little capacity, some "
    "pods stay Pending until the host is back.",
    sources=(RuleSource("project", "Capacity", 3),),
    remediation="Add a node, on a physical host of its own, to the pools on which the workloads run, or lower the "
    "workloads' requests.",
    subjects=_node_sets,
    applies=lambda _facts, node_set: len({node.server for node in node_set.nodes}) > 1,
    not_applicable_reason="no workload can run on nodes of several physical hosts whose sizes are known",
    parameters={"lost": "one physical host", "not counted": "pods that anti-affinity leaves without a node"},
    since="0.2.0",
)
def requests_fit_after_loss(facts: Facts, node_set: NodeSet) -> Iterator[RuleProblem]:
    """Compares capacity with requests for a set of nodes, counting the workloads that can run only on these nodes.

    A failure proves that no placement fits the requests. A pass does not prove that a placement exists, and workloads
    with further eligible nodes are not counted. The plan and `make prove` show an actual placement.
    """
    free = _free(facts)
    total = sum((free[node.name] for node in node_set.nodes), PodResources())
    on_host: dict[str | None, PodResources] = {}
    for node in node_set.nodes:
        on_host[node.server] = on_host.get(node.server, PodResources()) + free[node.name]
    demands = [_demand(facts, each) for each in node_set.workloads]
    worst: dict[str, tuple[PodResources, PodResources]] = {}
    for server, lost in on_host.items():
        left = total - lost
        asked = sum((demand(server) for demand in demands), PodResources())
        if not asked.fits(left):
            worst[server or "(no label)"] = asked, left
    if worst:
        server, (asked, left) = min(worst.items(), key=lambda each: (each[1][1].memory - each[1][0].memory, each[0]))
        which = f"{server} or any of {pluralize(len(worst) - 1, 'other')}" if len(worst) > 1 else server
        yield RuleProblem(
            f"after losing {which}, pods request {asked}, but {left} is free",
            "room for all replicas that can still run",
        )


def _demand(facts: Facts, workload: Workload) -> Callable[[str | None], PodResources]:
    """Returns a function: total requests of the workload's instances that can still run if a physical host fails."""
    runnable = _runnable(facts, workload)
    return lambda server: workload.requests.times(runnable(server))


def _runnable(facts: Facts, workload: Workload) -> Callable[[str | None], int]:
    """Returns a function: how many of the workload's instances anti-affinity allows to run if a physical host fails."""
    on_host = Counter(node.server for node in facts.eligible(workload))
    nodes, replicas = on_host.total(), workload.replicas or 0
    over_hosts = max(counts(facts).worst((workload,), SERVER).values(), default=0) <= 1
    over_nodes = counts(facts).one_each(workload)

    def without(server: str | None) -> int:
        left = nodes - on_host[server]
        most = len(on_host) - (server in on_host) if over_hosts else left if over_nodes else replicas if left else 0
        return min(replicas, most)

    return without


@dataclass(frozen=True)
class SharedNodes:
    """Nodes on which exactly the same workloads may run."""

    nodes: tuple[NodeFacts, ...]
    workloads: tuple[Workload, ...]
    asked: PodResources
    """Requests of all pods that may run on one of the nodes at the same time."""

    @property
    def resource(self) -> Resource:
        """Resource of the first node by name. Sorting keeps findings stable: Pulumi's order differs between runs."""
        return min(self.nodes, key=lambda node: node.name).resource

    @property
    def title(self) -> str:
        return f"{'node' if len(self.nodes) == 1 else 'nodes'} {join_names([node.name for node in self.nodes])}"

    def short(self, facts: Facts) -> tuple[NodeFacts, ...]:
        """Returns the nodes whose capacity, less their DaemonSets, is smaller than `asked`."""
        free = _free(facts)
        found = (node for node in self.nodes if not self.asked.fits(free[node.name]))
        return tuple(sorted(found, key=lambda node: node.name))


@lru_cache(maxsize=1)
def _shared_nodes(facts: Facts) -> tuple[SharedNodes, ...]:
    """Groups nodes by the workloads that may run on them. A workload whose pods fit on no node is omitted.

    The rule pod-fits-node reports such a workload.
    """
    free = _free(facts)
    guests: dict[str, list[Workload]] = {node.name: [] for node in facts.nodes if node.name in free}
    for workload in facts.workloads:
        if not workload.is_long_running or not workload.replicas or not free:
            continue
        nodes = [node for node in facts.eligible(workload) if node.name in free]
        if any(workload.requests.fits(free[node.name]) for node in nodes):
            for node in nodes:
                guests[node.name].append(workload)
    alike: dict[tuple[Workload, ...], list[NodeFacts]] = {}
    for node in facts.nodes:
        if guests.get(node.name):
            alike.setdefault(tuple(guests[node.name]), []).append(node)
    return tuple(SharedNodes(tuple(nodes), those, _at_once(facts, those)) for those, nodes in alike.items())


def _at_once(facts: Facts, workloads: Sequence[Workload]) -> PodResources:
    """Returns the total requests of all pods that the scheduler may place on one node at the same time."""
    most = ((each, 1 if counts(facts).one_each(each) else each.replicas or 0) for each in workloads)
    return sum((each.requests.times(count) for each, count in most), PodResources())


@rule(
    id="room-in-any-order",
    title="Every instance fits in any scheduling order after the loss of any one host",
    severity=Severity.MEDIUM,
    rationale="The scheduler places pods in an order that is not known before, and does not move a pod afterwards. An "
    "instance is certain to find a node only if its nodes have room for all pods that may run there at once.",
    sources=(RuleSource("project", "Capacity", 4),),
    remediation="Give the nodes more cores and memory, lower requests, or let fewer services run there.",
    subjects=_shared_nodes,
    not_applicable_reason="no workload runs on nodes whose size is known",
    enforcement=ADVISORY,
    since="0.2.0",
)
def room_in_any_order(facts: Facts, shared: SharedNodes) -> Iterator[RuleProblem]:
    """Reports workloads that can stay Pending if nodes are too small for all pods that may run there at once.

    A workload passes if enough of its other nodes have room for all such pods. A pass proves that its instances fit; a
    workload that fails may still fit in some scheduling orders.
    """
    short = shared.short(facts)
    concerned = [each.title for each in shared.workloads if short and _unsure(facts, each)]
    if concerned:
        yield RuleProblem(
            f"pods that can share a node of {join_names([node.name for node in short])} request {shared.asked}, but "
            f"{_free(facts)[short[0].name]} is free after DaemonSets, so {join_names(concerned)} can stay Pending",
            "room for all of them, or enough other nodes with room",
        )


def _unsure(facts: Facts, workload: Workload) -> bool:
    """Whether, after the loss of one host, too few nodes of the workload are certain to have room for its instances."""
    nodes = facts.eligible(workload)
    crowded = {node.name for shared in _shared_nodes(facts) for node in shared.short(facts)}
    sure = Counter(node.server for node in nodes if node.name not in crowded)
    runnable, one_each = _runnable(facts, workload), counts(facts).one_each(workload)
    for server in dict.fromkeys(node.server for node in nodes):
        wanted = runnable(server) if one_each else min(1, runnable(server))
        if sure.total() - sure[server] < wanted:
            return True
    return False


@rule(
    id="architecture-fits-computes",
    title="The reference architecture covers the number of compute nodes",
    severity=Severity.MEDIUM,
    rationale="The replica counts and dedicated nodes of a reference architecture were validated with its number of "
    "compute nodes. A cloud with more compute nodes runs a control plane that was not validated at that scale.",
    sources=(
        RuleSource("004", "5.3.16", 1),
        RuleSource("004", "5.4.16", 1),
    ),
    remediation="Name the next larger architecture (quorate:architecture), and add the dedicated controllers that it "
    "requires.",
    subjects=lambda facts: facts.clouds,
    not_applicable_reason="the stack has no Cloud component",
    needs_architecture=True,
    parameters={"computes": "nodes with quorate.io/pool=compute or openstack-compute-node=enabled"},
    enforcement=ADVISORY,
    since="0.2.0",
)
def architecture_fits_computes(facts: Facts, _cloud: CloudFacts) -> Iterator[RuleProblem]:
    """Counts compute nodes by pool or label. Advisory, so that compute nodes can be added before the architecture."""
    # A compute node with further roles, as in a small lab or with a topology, is in a pool with another name.
    computes = sum(node.pool == COMPUTE_POOL or node.labels.get(COMPUTE_NODE) == "enabled" for node in facts.nodes)
    if computes > facts.required_architecture.computes:
        yield RuleProblem(
            f"{computes} computes",
            f"at most {facts.required_architecture.computes} (architecture {facts.required_architecture.name})",
        )
