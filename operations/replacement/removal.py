"""Removes a dead machine from a cloud step by step, and waits for the one that comes in its place.

Every step asks the cluster what is done already, so that a run that was killed goes on when it is called again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cluster.api import ApiError
from cluster.objects import listed, name, text
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud
from operations.operation_lease import HeldLease
from operations.replacement import etcd_member, in_pods
from operations.replacement.completeness import fenced, incomplete
from operations.replacement.dead_machine import CLAIMS, PODS, VOLUMES, DeadMachine, members_on, volumes_of
from operations.replacement.refusals import unsafe
from operations.replacement.replacement_steps import ReplacementStep, end, numbered, removal
from operations.replacement.signs_of_life import signs
from operations.wholeness_wait import await_whole
from text.plural import pluralize
from text.quoting import as_lines

NAMED = 20
"""Instances that a message names."""
Say = Callable[[str], None]


class NotRemovable(UserError):
    """The machine answers, a quorum would lose its majority, or instances are left on it."""


@dataclass(frozen=True)
class OutsideCluster:
    """What a replacement changes outside of the cluster. Each may be done again."""

    forget_resources: Callable[[Sequence[str]], None]
    """Takes the machine's resources out of Pulumi's state, and claims with these names."""
    write_stack_file: Callable[[], None] | None
    """None if the stack file stays."""


class Replacement:
    """A replacement of a machine, while this process has the Lease."""

    def __init__(self, cluster: LiveCluster, lease: HeldLease, read: Callable[[], LivingCloud], say: Say) -> None:
        self._cluster = cluster
        self._lease = lease
        self._read = read
        self._say = say

    def require_removable(self, dead: DeadMachine) -> None:
        """Raises NotRemovable with every reason why a machine may not be removed now."""
        cloud = self._read()
        if reasons := [
            *signs(cloud, dead, cloud.plan.settings.ssh),
            *unsafe(cloud, dead),
        ]:
            raise NotRemovable(f"{dead.name} may not be removed:{as_lines(reasons)}")
        if dead.is_compute and (found := in_pods.instances_of(self._cluster, dead.name)):
            more = [f"and {len(found) - NAMED} more"] if len(found) > NAMED else []
            raise NotRemovable(
                f"Nova has {pluralize(len(found), 'instance')} on {dead.name}:{as_lines([*found[:NAMED], *more])}\n"
                "Start them elsewhere (`openstack server evacuate ID`, with disks in Ceph) or delete them first."
            )

    def remove(self, dead: DeadMachine, outside: OutsideCluster) -> None:
        """Does all steps of the removal. Raises UserError if one cannot be done; the others stay done."""
        writes_file = outside.write_stack_file is not None
        for does, step in numbered(removal(self._cluster, dead, self._lease.operation.new, writes_file=writes_file)):
            self._lease.change(step=does.strip())
            self._say(does)
            if step.quorum and (reasons := unsafe(self._read(), dead, [step.quorum])):
                raise NotRemovable(f"{step.member} stays in {step.quorum}:{as_lines(reasons)}")
            self._do(step, dead, outside)

    def finish(self) -> Sequence[str]:
        """Waits until the new machine and every quorum are complete, purges what is lost, and deletes the Lease.

        Returns further dead machines, which are cordoned, and whose members were not awaited. Raises UserError if
        something is not complete after a while; a further run goes on waiting.
        """
        operation = self._lease.operation
        place = operation.new or operation.subject
        dead: list[str] = []

        def missing() -> list[str]:
            cloud = self._read()
            dead[:] = fenced(cloud, place)
            return incomplete(cloud, place, self._members_of(dead))

        for does, step in numbered(end(operation.subject, operation.new, operation.osds)):
            self._lease.change(step=f"end: {does.strip()}")
            self._say(does)
            if step.kind == "await":
                self._await(missing)
            elif step.kind == "purge":
                self._await(lambda: list(filter(None, [in_pods.blocks_purge(self._cluster, operation.osds)])))
                in_pods.purge(self._cluster, operation.osds)
                if operation.new:
                    in_pods.remove_host(self._cluster, operation.subject)
            elif step.kind == "release":
                self._lease.finish()
        return dead

    def _members_of(self, nodes: Sequence[str]) -> list[tuple[str, str]]:
        """Returns quorum and member of those with volumes on nodes."""
        plan, api = self._cluster.plan, self._cluster.api
        return [member for node in nodes for member in members_on(plan, volumes_of(api, node))]

    def _do(self, step: ReplacementStep, dead: DeadMachine, outside: OutsideCluster) -> None:
        """Does a step, but for those that came before, and the last, which is nothing to do."""
        said = ""
        if step.kind == "etcd":
            said = etcd_member.forget(self._cluster.plan, self._read(), dead.node)
        elif step.kind == "broker":
            said = in_pods.forget_broker(self._cluster, step.quorum, step.member)
        elif step.kind == "monitor":
            said = in_pods.forget_monitor(self._cluster, step.quorum, step.member)
        elif step.kind == "out":
            in_pods.put_out(self._cluster, dead.osds)
        elif step.kind == "node":
            self._delete_node(dead.name)
        elif step.kind == "records":
            in_pods.forget_records(self._cluster, dead.name)
        elif step.kind == "state":
            outside.forget_resources(_single_claims(dead) if self._lease.operation.new else [])
        elif step.kind == "claims":
            self._delete_volumes(dead)
        elif step.kind == "file" and outside.write_stack_file:
            # From now on the plan may have no such machine: what is left to do does not need it.
            self._lease.change(done=(dead.name,))
            outside.write_stack_file()
        elif step.kind == "hold" and dead.name not in self._lease.operation.done:
            self._lease.change(done=(dead.name,))
        if said:
            self._say(f"    {said}")

    def _delete_node(self, node: str) -> None:
        self._delete(f"/api/v1/nodes/{node}")
        # The API server would wait for kubelet, which is dead.
        found = self._cluster.api.ask("GET", "/api/v1/pods", query={"fieldSelector": f"spec.nodeName={node}"})
        for pod in listed(found, "items"):
            self._delete(f"/api/v1/namespaces/{text(pod, 'metadata', 'namespace')}/pods/{name(pod)}", at_once=True)

    def _delete_volumes(self, dead: DeadMachine) -> None:
        for volume in dead.volumes:
            if volume.claim:
                self._delete(f"{CLAIMS}/{volume.claim}")
            if volume.pod:
                # It waits for the former claim; the StatefulSet makes pod and claim anew.
                self._delete(f"{PODS}/{volume.pod}", at_once=True)
            self._delete(f"{VOLUMES}/{volume.name}")

    def _delete(self, path: str, *, at_once: bool = False) -> None:
        """Deletes an object; it is not an error if there is none. `at_once`: of a pod whose kubelet is dead."""
        try:
            self._cluster.api.ask("DELETE", path, {"gracePeriodSeconds": 0} if at_once else None)
        except ApiError as error:
            if error.status != 404:
                raise

    def _await(self, missing: Callable[[], list[str]]) -> None:
        await_whole(missing, self._lease, self._say, f"{self._lease.operation.subject} is not replaced")


def _single_claims(dead: DeadMachine) -> list[str]:
    """Returns the claims on the machine that `up` makes, not a StatefulSet: it would not miss them otherwise."""
    return [volume.claim for volume in dead.volumes if volume.claim and not volume.pod]
