"""Takes a failure domain out of the cloud step by step, and back.

Every step asks the cluster what is done already, so that a run that was killed goes on when it is called again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from cluster import eviction, unready
from cluster.api import MERGE
from cluster.objects import Object, has_ended, listed, name, text, texts
from console.errors import UserError
from console.progress import duration
from contract import MAINTENANCE, NAME, NOOUT
from openstack.config.wiring import ENVIRONMENT
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud, is_ready, workload_of
from operations.living.leaving import leave_together
from operations.maintenance import pod_commands
from operations.maintenance.failure_domains import MaintenanceDomain
from operations.maintenance.instance_moves import InstanceMoves, choices_of
from operations.maintenance.instances import Instance
from operations.maintenance.machine_command import CommandFailed, MachineCommand
from operations.maintenance.steps import MaintenanceStep, numbered, numbered_back
from operations.maintenance.wholeness import lacking, not_ready
from operations.operation_lease import HeldLease
from operations.wholeness_wait import await_whole
from text.quoting import as_lines

DRAIN = 900.0
"""Seconds until all pods must have left a node, as for a machine that leaves the stack. Project figure."""
SETTLE = 300.0
"""Seconds until a run that goes on may find that its own evictions have left a budget without room. Project figure."""
PAUSE = 5.0
"""Seconds between two looks."""
NAMED = 20
"""Instances that a message names."""

Say = Callable[[str], None]


class Stalled(UserError):
    """A domain cannot go out: the quorums refuse, instances run on it, or an eviction stalls."""


class Maintenance:
    """A maintenance of a cloud, while this process has its Lease."""

    def __init__(  # noqa: PLR0913 - what it works on, and two choices
        self,
        cluster: LiveCluster,
        lease: HeldLease,
        read: Callable[[], LivingCloud],
        say: Say,
        *,
        cold: bool = False,
        command: MachineCommand | None = None,
    ) -> None:
        """`cold`: whether instances that do not move live are moved cold. `command`: what a domain that is out gets."""
        self._cluster = cluster
        self._lease = lease
        self._read = read
        self._say = say
        self._choices = choices_of(cluster, cold=cold)
        self._command = command

    def require_leave(
        self, domain: MaintenanceDomain, beside: Sequence[MaintenanceDomain] = (), *, patience: float = 0
    ) -> None:
        """Raises Stalled unless the living quorums keep their majority without a domain and those that are out.

        `patience`: seconds in which the answer may change, for a run that goes on among its own evictions.
        """
        machines = [machine for each in (*beside, domain) for machine in each.all]
        stops = self._lease.operation.stops
        if reasons := self._left(lambda cloud: leave_together(cloud, domain.name, machines, stops).reasons, patience):
            raise Stalled(
                f"{domain.name} may not go now:{as_lines(reasons)}\n"
                "Make whole first what is named: `quorate status` shows it, docs/on-call.md says what to do."
            )

    def disable_computes(self, domain: MaintenanceDomain) -> None:
        """Lets Nova start and move no instance to the computes of a domain, as its step of the same name does."""
        if domain.computes:
            pod_commands.disable_computes(self._cluster, domain.computes, f"of {domain.name}")

    def take_out(self, domain: MaintenanceDomain, hold: str = "", beside: Sequence[MaintenanceDomain] = ()) -> None:
        """Does all steps of a domain, or those up to the kind `hold`.

        `beside`: the domains that are out already. Raises Stalled if a step cannot be done; the others stay done.
        """
        for does, step in numbered(domain, hold, self._command.text if self._command else ""):
            self._lease.change(step=does.strip())
            self._say(does)
            if step.kind == "do":
                self._run(domain, beside)
            else:
                self._do(domain, step)

    def bring_back(self, domain: MaintenanceDomain) -> None:
        """Undoes all steps of a domain in the opposite order, and waits until everything on it is whole.

        Raises UserError if it is not after a while; what was undone stays so.
        """
        self._moves(domain.computes).confirm()
        for does, step in numbered_back(domain):
            self._lease.change(step=f"back: {does.strip()}")
            self._say(does)
            self._undo(domain, step)

    def _left(self, reasons: Callable[[LivingCloud], Sequence[str]], patience: float) -> Sequence[str]:
        """Returns what is against a step after `patience` seconds; () as soon as nothing is."""
        end = time.monotonic() + patience
        while (found := reasons(self._read())) and time.monotonic() < end:
            self._say(f"waits: {'; '.join(found)}")
            time.sleep(PAUSE)
        return found

    def _do(self, domain: MaintenanceDomain, step: MaintenanceStep) -> None:
        """Does a step, but for the first two, which came before, and the last, which is nothing to do."""
        if step.kind == "disable":
            self.disable_computes(domain)
        elif step.kind == "empty":
            self._empty(step.nodes)
        elif step.kind == "noout":
            self._keep_in(step.nodes)
        elif step.kind == "cordon":
            for node in self._nodes(step.nodes):
                # One that an operator has cordoned stays cordoned at the end.
                if not _is_closed(node):
                    eviction.cordon(self._cluster.api, name(node), closed=True, annotations={MAINTENANCE: domain.name})
        elif step.kind == "evict":
            self._evict(step.nodes[0])

    def _run(self, domain: MaintenanceDomain, beside: Sequence[MaintenanceDomain]) -> None:
        """Runs the command on a domain. The quorums are asked again: the evictions before may have taken long."""
        if self._command is None or domain.own is None:
            raise ValueError(f"no command, or no machine {domain.name}")
        self.require_leave(domain, beside, patience=SETTLE)
        # Members on a busy machine may not answer at once.
        stops = self._lease.operation.stops
        if lost := self._left(lambda cloud: _without_majority(cloud, stops), SETTLE):
            raise Stalled(
                f"No command runs on {domain.name}, because {', '.join(lost)} now. If one of its members was evicted "
                "here, bring it back with --end."
            )
        try:
            self._command.run(domain.own, self._lease, self._say)
        except CommandFailed as failure:
            raise Stalled(str(failure)) from None

    def _undo(self, domain: MaintenanceDomain, step: MaintenanceStep) -> None:
        """Undoes a step, but for the first, whose Lease the caller has."""
        if step.kind == "hold":
            self._await(domain, not_ready)
        elif step.kind == "disable":
            pod_commands.enable_computes(self._cluster, step.nodes)
        elif step.kind == "noout":
            for node in self._marked(step.nodes, NOOUT):
                pod_commands.let_out(self._cluster, node)
                self._annotate(node, {NOOUT: None})
        elif step.kind == "cordon":
            for node in self._marked(step.nodes, MAINTENANCE):
                eviction.cordon(self._cluster.api, node, closed=False, annotations={MAINTENANCE: None})
            self._await(domain, lacking)

    def _empty(self, hosts: Sequence[str]) -> None:
        if found := self._moves(hosts).run():
            raise Stalled(
                f"{len(found)} instances run there:\n{_listed(found)}\n"
                "Move them (`openstack server migrate ID`), stop them, or repair what is named, and run the same "
                "command again, or end with --end. nova-compute stays disabled there, so that no further instance "
                "starts."
            )

    def _moves(self, hosts: Sequence[str]) -> InstanceMoves:
        return InstanceMoves(self._cluster, self._lease, hosts, self._choices, self._say)

    def _keep_in(self, hosts: Sequence[str]) -> None:
        kept = pod_commands.hosts_kept_in(self._cluster)
        for host in hosts:
            if host not in kept:  # a flag that an operator has set stays at the end
                self._annotate(host, {NOOUT: "set"})
                pod_commands.keep_in(self._cluster, host)

    def _evict(self, node: str) -> None:
        began = time.monotonic()
        said: set[str] = set()
        while left := eviction.evictable(self._cluster.api, node):
            self._lease.require()
            refused = [reason for pod in left if (reason := self._refusal(pod))]
            refused += self._unready(left, node) if refused else []
            if time.monotonic() - began > DRAIN:
                raise Stalled(_stall(node, len(left), refused))
            if new := [line for line in refused if line not in said]:
                said.update(new)
                self._say("\n".join((f"waits for {len(left)} pods on {node}, among them:", *new)))
            time.sleep(min(PAUSE, 2))
        self._say(f"{node} is empty ({duration(time.monotonic() - began)})")

    def _refusal(self, pod: Object) -> str:
        """Evicts a pod. Returns why it is not evicted yet, as a line; "" if nothing stands in its way."""
        if end := text(pod, "metadata", "deletionTimestamp"):
            return f"  - {name(pod)} is being deleted and has until {end} to end"
        status, message = eviction.evict(self._cluster.api, text(pod, "metadata", "namespace"), name(pod))
        return f"  - {name(pod)}: {message}" if status >= 300 and status != 404 else ""

    def _unready(self, left: Sequence[Object], node: str) -> list[str]:
        """Returns the pods elsewhere for which the budgets of the pods that are left wait, each with why, as a line."""
        if not (workloads := sorted({workload_of(pod) for pod in left} - {""})):
            return []
        query = {"labelSelector": f"{NAME} in ({','.join(workloads)})"}
        found = listed(self._cluster.api.ask("GET", f"/api/v1/namespaces/{ENVIRONMENT}/pods", query=query), "items")
        return [
            f"  - {name(pod)} on {text(pod, 'spec', 'nodeName') or 'no node'} is not ready, and its budget waits for "
            f"it: {unready.why(pod)}"
            for pod in found
            if not is_ready(pod) and not has_ended(pod) and text(pod, "spec", "nodeName") != node
        ]

    def _await(self, domain: MaintenanceDomain, missing: Callable[[LivingCloud, MaintenanceDomain], list[str]]) -> None:
        await_whole(lambda: missing(self._read(), domain), self._lease, self._say, f"{domain.name} is not whole")

    def _nodes(self, names: Sequence[str]) -> list[Object]:
        return [self._cluster.api.ask("GET", f"/api/v1/nodes/{each}") for each in names]

    def _marked(self, names: Sequence[str], annotation: str) -> list[str]:
        return [name(node) for node in self._nodes(names) if annotation in texts(node, "metadata", "annotations")]

    def _annotate(self, node: str, annotations: Object) -> None:
        self._cluster.api.ask(
            "PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": annotations}}, content=MERGE
        )


def marked(cluster: LiveCluster, domain: MaintenanceDomain) -> bool:
    """Whether a node of a domain has a mark of a maintenance. Raises ApiError or Unreachable."""
    nodes = cluster.api.items("/api/v1/nodes")[0]
    return any(
        {MAINTENANCE, NOOUT} & texts(node, "metadata", "annotations").keys()
        for node in nodes
        if name(node) in domain.nodes
    )


def _stall(node: str, left: int, refused: Sequence[str]) -> str:
    lines = "\n".join(refused)
    return (
        f"{left} pods have not left {node} after {duration(DRAIN)}; it admits no others:\n{lines}\n"
        "Make ready what is named and run the same command again, or end with --end."
    )


def _without_majority(cloud: LivingCloud, stops: Sequence[str]) -> list[str]:
    asked = [quorum for quorum in cloud.quorums if quorum.name not in stops]
    return [f"{quorum.name} has no majority" for quorum in asked if quorum.counting < quorum.needed]


def _is_closed(node: Object) -> bool:
    return bool(node.get("spec", {}).get("unschedulable"))


def _listed(found: Sequence[tuple[Instance, str]]) -> str:
    lines = [
        f"  - {each.called} of project {each.project} on {each.host}, {each.status}: {reason}" for each, reason in found
    ]
    more = [f"  - and {len(lines) - NAMED} more"] if len(lines) > NAMED else []
    return "\n".join((*lines[:NAMED], *more))
