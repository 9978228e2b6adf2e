"""Which server may be taken away now, which may go one after the other, and whether machines may go together.

A pure function of the living state. It counts members with their data, so that it is stricter than a budget, which
counts pods that are ready.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from blueprint.plan.plan import Plan
from cluster import unready
from cluster.objects import Object, has_ended, holds, name, number, text, texts
from contract import NAME
from operations.living.cloud import OSD, LivingCloud, is_ready, workload_of
from operations.living.quorum import LivingMember, LivingQuorum


@dataclass(frozen=True)
class Leave:
    """Whether a server, or a part of its machines, may be taken away now, and why not."""

    server: str
    """Name of the server, or of what goes in its place, such as a single machine."""
    nodes: tuple[str, ...]
    """The machines that go with it: itself and its virtual machines, as far as they carry something of the stack."""
    members: tuple[tuple[str, str], ...]
    """The members of quorums on them: pairs of quorum and member."""
    reasons: tuple[str, ...]
    """Why it may not go now; () if it may."""
    effects: tuple[str, ...]
    """What its loss means although it may go, such as an election."""
    lost: int = 0
    """Number of its members that do not take part in their quorum already."""

    @property
    def may_go(self) -> bool:
        """Whether it may be taken away now."""
        return not self.reasons


def leaves(cloud: LivingCloud) -> tuple[Leave, ...]:
    """Returns for each physical server of a cloud whether it may go now, sorted by name."""
    question = _Question(cloud)
    return tuple(question.leave(server, nodes) for server, nodes in sorted(servers_of(cloud.plan).items()))


def leave_together(cloud: LivingCloud, called: str, nodes: Sequence[str], stops: Collection[str] = ()) -> Leave:
    """Returns whether machines of a cloud, by their names, may go all at the same time.

    `called`: what they are. `stops`: names of quorums of a single member that may stop meanwhile.
    """
    return _Question(cloud, stops).leave(called, tuple(nodes))


def servers_of(plan: Plan) -> dict[str, tuple[str, ...]]:
    """Returns the names of the machines on each physical server; () for a virt host without any."""
    found: dict[str, list[str]] = {host.server: [] for host in plan.hosts}
    for node in plan.machines:
        found.setdefault(node.server, []).append(node.name)
    return {server: tuple(nodes) for server, nodes in found.items()}


def in_order(found: Sequence[Leave]) -> tuple[Leave, ...]:
    """Returns the servers that may go one after the other, each whole again before the next, in this order.

    This is the largest such set: a server that may not go now would not be admitted by the return of others. First
    those whose members are lost already, because their return makes a quorum whole; then those with fewer members;
    those with a leader last, because each of them costs an election.
    """
    going = [each for each in found if each.may_go]
    return tuple(sorted(going, key=lambda each: (not each.lost, bool(each.effects), len(each.members), each.server)))


class _Question:
    """What is computed once for all servers, so that a cloud of a thousand takes no longer for each."""

    def __init__(self, cloud: LivingCloud, stops: Collection[str] = ()) -> None:
        self.cloud = cloud
        self._stops = stops
        known = {node.name for node in cloud.plan.machines}
        self._members: dict[str, list[tuple[LivingQuorum, LivingMember]]] = defaultdict(list)
        self._homeless: dict[str, list[LivingMember]] = defaultdict(list)
        for quorum in cloud.quorums:
            for member in quorum.members:
                node = cloud.places.get((quorum.name, member.name))
                if node in known:
                    self._members[node].append((quorum, member))
                elif member.counts:
                    self._homeless[quorum.name].append(member)
        self._pods: dict[str, list[Object]] = defaultdict(list)
        for pod in cloud.pods:
            self._pods[text(pod, "spec", "nodeName")].append(pod)
        self._unready = {workload_of(pod): pod for pod in cloud.pods if not is_ready(pod) and not has_ended(pod)}
        self._budgets: dict[str, list[Object]] = defaultdict(list)
        for budget in cloud.budgets:
            self._budgets[texts(budget, "spec", "selector", "matchLabels").get(NAME, "")].append(budget)
        ready = {name(node) for node in cloud.nodes if holds(node, "Ready")}
        self._rank = {quorum.name: number for number, quorum in enumerate(cloud.quorums)}
        self._masters = {master.name for master in cloud.plan.masters if master.name in ready}

    def leave(self, called: str, nodes: tuple[str, ...]) -> Leave:
        # In the order of quorums, not of nodes.
        here = [pair for node in nodes for pair in self._members.get(node, ())]
        here.sort(key=lambda pair: self._rank[pair[0].name])
        pods = [pod for node in nodes for pod in self._pods.get(node, ())]
        return Leave(
            called,
            nodes,
            tuple((quorum.name, member.name) for quorum, member in here),
            (
                *self.cloud.problems,
                *self._quorums(here),
                *self._api(nodes),
                *self._storage(nodes, pods),
                *self._blocking(pods),
            ),
            (*self._stopping(here), *self._elections(here), *self._instances(nodes)),
            lost=sum(not member.counts for _, member in here),
        )

    def _quorums(self, here: Sequence[tuple[LivingQuorum, LivingMember]]) -> Iterator[str]:
        gone = Counter(quorum.name for quorum, member in here if member.counts and member.votes)
        asked: set[str] = set()
        for quorum, member in here:
            if quorum.name in asked:
                continue
            asked.add(quorum.name)
            if quorum.name in self._stops:
                continue
            left = quorum.counting - gone[quorum.name]
            if quorum.standing == "unknown":
                yield f"{quorum.name} could not be asked: {member.says}"
            elif gone[quorum.name] and len(quorum.voters) == 1:
                option = f"--admit-stop {quorum.name}"
                yield f"{quorum.name} has no other member; `maintenance {option}` lets it stop meanwhile"
            elif gone[quorum.name] and left < quorum.needed:
                lost = [each.name for each in quorum.voters if not each.counts]
                without = f"; lost already: {', '.join(lost)}" if lost else ""
                counts = f"{quorum.needed} of {len(quorum.voters)} members, {left} would be left"
                yield f"{quorum.name} needs {counts}{without}"
            else:
                own = [each.name for other, each in here if other is quorum]
                yield from (f"{quorum.name}: {quorum.critical[each]}" for each in own if each in quorum.critical)
        for name_ in asked & self._homeless.keys():
            named = ", ".join(member.name for member in self._homeless[name_])
            yield f"it is not known where {named} of {name_} runs"

    def _api(self, nodes: Sequence[str]) -> Iterator[str]:
        own = self._masters.intersection(nodes)
        if own and own == self._masters:
            yield "no other master is Ready: there would be no API server"

    def _storage(self, nodes: Sequence[str], pods: Sequence[Object]) -> Iterator[str]:
        carries = any(workload_of(pod) == OSD for pod in pods)
        storage = self.cloud.storage
        if storage is None:
            if carries:
                yield "Ceph could not be asked about its OSDs"
            return
        hosts = sum(bool(storage.up.get(node)) for node in nodes)
        if not hosts:
            return
        if storage.unclean:
            yield f"Ceph restores copies: {storage.unclean} placement groups have not all of them where they belong"
        for pool in storage.pools:
            if pool.copies - hosts < pool.least:
                yield f"pool {pool.name} would have {pool.copies - hosts} copies, and serves with {pool.least}"

    def _blocking(self, own: Sequence[Object]) -> Iterator[str]:
        """Yields the budgets that admit no eviction, each with a pod that it waits for. A quorum says more than one."""
        quorums = {quorum.name for quorum in self.cloud.quorums}
        here = Counter(workload_of(pod) for pod in own if is_ready(pod))
        for workload, pods in here.items():
            if workload in quorums:
                continue
            for budget in self._budgets.get(workload, ()):
                if not number(budget, "status", "disruptionsAllowed"):
                    refuses = f"budget {name(budget)} admits no eviction now, and {pods} of its pods run here"
                    yield f"{refuses}{self._waits_for(workload)}"

    def _waits_for(self, workload: str) -> str:
        if (pod := self._unready.get(workload)) is None:
            return ""
        return f"; it waits for {name(pod)} on {text(pod, 'spec', 'nodeName') or 'no node'}: {unready.why(pod)}"

    def _stopping(self, here: Sequence[tuple[LivingQuorum, LivingMember]]) -> Iterator[str]:
        for quorum, _ in here:
            if quorum.name in self._stops:
                yield f"{quorum.name} stops until its only member is back"

    def _elections(self, here: Sequence[tuple[LivingQuorum, LivingMember]]) -> Iterator[str]:
        for quorum, member in here:
            if member.leads and len(quorum.voters) > 1:
                yield f"{quorum.name} elects another leader"

    def _instances(self, nodes: Sequence[str]) -> Iterator[str]:
        counts = self.cloud.agents.instances
        if counts and (total := sum(counts.get(node, 0) for node in nodes)):
            yield f"{total} instances must be moved first"
