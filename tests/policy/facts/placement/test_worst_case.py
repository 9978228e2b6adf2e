"""The counts of worst_case.py against every placement that is allowed, on clusters small enough to try all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as some

from contract import HOSTNAME, RACK, SERVER
from policy.facts.placement.worst_case import Spread, Topologies, capacity, losses

KEYS = (HOSTNAME, SERVER, RACK)


@dataclass(frozen=True)
class Pods:
    """The pods of one workload, with their scheduling rules."""

    resource: str
    count: int
    nodes: tuple[int, ...]
    apart: tuple[str, ...] = ()
    between: tuple[str, ...] = ()
    spreads: tuple[Spread, ...] = ()


@dataclass(frozen=True)
class Cluster:
    """A small cluster: nodes on servers in racks. A server's rack may be unknown."""

    topologies: Topologies

    @property
    def nodes(self) -> range:
        return range(len(self.topologies[HOSTNAME]))

    def domains(self, key: str) -> set[str]:
        return set(self.topologies[key]) - {""}

    def allows(self, placed: Mapping[int, int], pods: Pods) -> bool:
        """Whether these numbers of pods on nodes are allowed, decided pod by pod from the definitions."""
        for key in pods.apart:
            for name in self.domains(key):
                if sum(count for node, count in placed.items() if self.topologies[key][node] == name) > 1:
                    return False
        for spread in pods.spreads:
            values = self.topologies[spread.topology]
            totals = {
                name: sum(count for node, count in placed.items() if values[node] == name)
                for name in self.domains(spread.topology)
            }
            lowest = min(totals.values(), default=0) if spread.rises else 0
            if any(total - lowest > spread.skew for total in totals.values()):
                return False
        return True

    def placements(self, pods: Pods) -> Iterator[dict[int, int]]:
        """Every allowed placement of up to so many pods; some may stay Pending."""

        def fill(left: int, nodes: tuple[int, ...]) -> Iterator[dict[int, int]]:
            if not nodes:
                yield {}
                return
            for here in range(left + 1):
                for others in fill(left - here, nodes[1:]):
                    yield {nodes[0]: here, **others}

        return (placed for placed in fill(pods.count, pods.nodes) if self.allows(placed, pods))


@some.composite
def clusters(draw: some.DrawFn) -> Cluster:
    racks = draw(some.lists(some.sampled_from(["r1", "r2", ""]), min_size=1, max_size=3))
    servers = draw(some.lists(some.integers(0, len(racks) - 1), min_size=1, max_size=5))
    return Cluster(
        {
            HOSTNAME: [f"n{number}" for number in range(len(servers))],
            SERVER: [f"s{server}" for server in servers],
            RACK: [racks[server] for server in servers],
        }
    )


@some.composite
def workloads(draw: some.DrawFn) -> tuple[Cluster, Pods]:
    """Pods with any anti-affinity, and at most one spread constraint."""
    cluster = draw(clusters())
    subsets = some.lists(some.sampled_from(cluster.nodes), min_size=1, unique=True)
    nodes = draw(some.just(list(cluster.nodes)) | subsets)
    keys = draw(some.just(set[str]()) | some.sets(some.sampled_from(KEYS)))
    apart = tuple(sorted(keys, key=lambda key: len(cluster.domains(key))))
    pods = Pods("w", draw(some.integers(1, 5)), tuple(sorted(nodes)), apart)
    if draw(some.booleans()):
        key = draw(some.sampled_from(KEYS))
        # A pod with a required spread runs only on nodes with the label.
        inside = tuple(node for node in pods.nodes if cluster.topologies[key][node])
        domains, reached = cluster.domains(key), {cluster.topologies[key][node] for node in inside}
        rises = domains <= reached and draw(some.sampled_from([True, True, False]))  # False: minDomains
        spread = Spread(key, draw(some.integers(1, 2)), max(1, len(domains)), rises, ("w",), pods.count)
        pods = replace(pods, nodes=inside, spreads=(spread,))
    return cluster, pods


@settings(max_examples=400, deadline=None)
@given(workloads(), some.sampled_from(KEYS))
def test_the_count_is_the_worst_allowed_placement(made: tuple[Cluster, Pods], failing: str) -> None:
    cluster, pods = made
    worst = dict.fromkeys((cluster.topologies[failing][node] for node in pods.nodes), 0)
    for placed in cluster.placements(pods):
        for name in worst:
            here = sum(count for node, count in placed.items() if cluster.topologies[failing][node] == name)
            worst[name] = max(worst[name], here)
    assert losses([pods], failing, cluster.topologies) == worst


@settings(max_examples=100, deadline=None)
@given(workloads())
def test_capacity_is_the_largest_placement(made: tuple[Cluster, Pods]) -> None:
    cluster, pods = made
    alone = replace(pods, spreads=())
    largest = max(sum(placed.values()) for placed in cluster.placements(alone))
    assert capacity(alone.nodes, alone.count, alone.apart, cluster.topologies) == largest


@settings(max_examples=100, deadline=None)
@given(clusters(), some.data(), some.sampled_from(KEYS))
def test_members_in_several_workloads(cluster: Cluster, data: some.DataObject, failing: str) -> None:
    """Of one member each, apart over a label: never fewer than a placement has, nor more than there are domains."""
    key = data.draw(some.sampled_from(KEYS))
    nodes = some.lists(some.sampled_from(cluster.nodes), min_size=1, unique=True).map(lambda each: tuple(sorted(each)))
    members = [Pods(f"w{number}", 1, data.draw(nodes), (), (key,)) for number in range(data.draw(some.integers(1, 3)))]
    counted = losses(members, failing, cluster.topologies)
    for placed in _together(members, cluster.topologies[key]):
        for name, most in counted.items():
            assert sum(cluster.topologies[failing][node] == name for node in placed) <= most
    assert all(most <= len(members) for most in counted.values())


def _together(members: list[Pods], labels: Sequence[str], taken: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Nodes of the members in every allowed placement."""
    if not members:
        yield taken
        return
    yield from _together(members[1:], labels, taken)  # it stays Pending
    for node in members[0].nodes:
        if not labels[node] or all(labels[other] != labels[node] for other in taken):
            yield from _together(members[1:], labels, (*taken, node))
