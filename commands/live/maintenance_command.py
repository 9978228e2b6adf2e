"""`quorate maintenance`: takes a server, a machine or a batch of a pool out of a running cloud, and back."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from cluster import eviction
from cluster.api import ApiError, Unreachable
from commands import stack
from commands.live import connection, maintenance_request
from commands.live.machine_shell import machine_shell
from commands.live.maintenance_request import MaintenanceRequest
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud, read_cloud, workload_of
from operations.living.leaving import leave_together
from operations.maintenance import batches, instances, network_services, plan_text
from operations.maintenance.batches import Batches
from operations.maintenance.failure_domains import MaintenanceDomain
from operations.maintenance.instance_moves import choices_of
from operations.maintenance.instances import Instance, Outlook
from operations.maintenance.machine_command import MachineCommand, Shell, is_held
from operations.maintenance.network_services import NetworkServices
from operations.maintenance.out_and_back import SETTLE, Maintenance, marked
from operations.operation_lease import CloudOperation, HeldLease, command, current, held
from text.quoting import printable


def run(root: Path, stack_name: str, request: MaintenanceRequest) -> int:
    """Does what the request asks for, or prints its plan.

    Returns 0 if it is done, or with `plan` if the quorums admit it; 3 with `plan` if they do not; 1 if a domain of a
    pool has failed. Raises UserError with all errors of the request, or with why the run has stopped.
    """
    found = stack.load(root, stack_name)
    if errors := list(maintenance_request.errors(found.plan, request)):
        raise UserError("\n".join(errors))
    if found.is_rendered:
        raise UserError(f"{stack_name} has the target {found.target}: it has no cluster with a server to take out.")
    cluster = connection.connect(root, found)
    try:
        with machine_shell(found.plan) as shell:
            session = _Session(stack_name, cluster, request, shell)
            if request.pool:
                return session.pool(maintenance_request.batches_of(found.plan, request), request)
            return session.single(maintenance_request.domains(found.plan, request)[0], request)
    except (ApiError, Unreachable) as error:
        raise UserError(f"The run has stopped: {error}\nThe same command goes on where it stopped.") from None


class _Session:
    """The maintenance of a stack's cluster by this command."""

    def __init__(self, stack_name: str, cluster: LiveCluster, request: MaintenanceRequest, shell: Shell) -> None:
        self._stack = stack_name
        self._command = MachineCommand(request.do, shell) if request.do else None
        self._cluster = cluster
        self._cold = request.cold
        self._hold = request.hold
        self._stops = request.stops

    def single(self, domain: MaintenanceDomain, request: MaintenanceRequest) -> int:
        if request.plan:
            return self._show(domain)
        operation = CloudOperation(domain.name, do=request.do)
        if request.end or request.abort:
            if not current(self._cluster.api) and not marked(self._cluster, domain):
                print(f"{domain.name} is not in maintenance. Nothing was changed.")
                return 0
            with self._held(operation) as lease:
                self._maintenance(lease).bring_back(domain)
                lease.finish()
            print(f"{domain.name} is back, and everything on it is whole.")
            return 0
        with self._held(operation) as lease:
            self._require_command(lease)
            self._admit_stops(lease)
            self._take_out(domain, lease)
            if not is_held(request.do):
                self._maintenance(lease).bring_back(domain)
                lease.finish()
        if not is_held(request.do):
            print(f"{domain.name} is back after {request.do}, and everything on it is whole.")
            return 0
        if self._hold:
            print(f"{domain.name} is held after step {self._hold}. Go on: {self._line(domain.name)}")
            return 0
        end = self._line(domain.name, "--end")
        if request.do:
            print(f"{domain.name} is out, and no login there succeeds. Power it on again, then: {end}")
        else:
            print(f"{domain.name} is out: {', '.join(domain.all)} may be stopped. Then: {end}")
        return 0

    def pool(self, wanted: Batches, request: MaintenanceRequest) -> int:
        if request.plan:
            return self._show_pool(wanted)
        operation = CloudOperation(f"pool {wanted.pool}", do=request.do)
        if (request.end or request.abort) and not current(self._cluster.api):
            print(f"Pool {wanted.pool} is not in maintenance. Nothing was changed.")
            return 0
        with self._held(operation) as lease:
            maintenance = self._maintenance(lease)
            if not (request.end or request.abort):
                self._require_command(lease)
                self._admit_stops(lease)
            if request.end or request.abort:
                batches.bring_batch_back(wanted, maintenance, lease, _say)
            elif not is_held(request.do):
                batches.work_through(wanted, maintenance, lease, _say)
            else:
                batches.take_batch_out(wanted, maintenance, lease, _say)
            left = batches.left(wanted, lease)
            is_over = request.abort or not (left or lease.operation.out)
            if is_over:
                lease.finish()
            return self._ended(wanted, lease.operation, len(left), is_over=is_over)

    def _require_command(self, lease: HeldLease) -> None:
        """Writes the command into the Lease. Raises UserError if the maintenance runs another one."""
        wanted, known = self._command.text if self._command else "", lease.operation.do
        if wanted and known and wanted != known:
            raise UserError(
                f"{lease.operation.sentence()} It runs `{known}`. Nothing was changed.\n"
                f"Go on with that: `{command(lease.operation, self._stack)}`, or end it first with --end."
            )
        if wanted != known:
            lease.change(do=wanted)

    def _admit_stops(self, lease: HeldLease) -> None:
        """Writes the quorums that may stop into the Lease, beside those of earlier runs of this maintenance."""
        known = lease.operation.stops
        if new := [each for each in self._stops if each not in known]:
            lease.change(stops=(*known, *new))

    def _take_out(self, domain: MaintenanceDomain, lease: HeldLease) -> None:
        maintenance = self._maintenance(lease)
        if domain.name in lease.operation.out:
            _say(f"goes on with {domain.name}: {lease.operation.began()}")
            maintenance.require_leave(domain, patience=SETTLE)
        else:
            with lease.beginning():
                maintenance.require_leave(domain)
            lease.change(out=(domain.name,))
        maintenance.take_out(domain, self._hold)

    def _ended(self, wanted: Batches, operation: CloudOperation, left: int, *, is_over: bool) -> int:
        """Prints where a pool is. Returns 1 if a domain has failed."""
        pool = f"--pool {wanted.pool}"
        if operation.out:
            now = "Out, and no login there succeeds" if operation.do else "Out now, and may be stopped"
            print(f"{now}: {', '.join(operation.out)}. Then: {self._line(pool, '--end')}")
        elif not is_over:
            print(f"{left} of pool {wanted.pool} are left. The next batch: {self._line(pool, '--batch …')}")
        else:
            print(f"Maintenance of pool {wanted.pool} has ended: {len(operation.done)} were out and are back.")
        for name, reason in operation.failed.items():
            print(printable(f"FAILED {name}: {reason}"))
        return 1 if operation.failed else 0

    def _show(self, domain: MaintenanceDomain) -> int:
        foreseen = self._foreseen(domain, self._read())
        print(printable(plan_text.shown(foreseen, current(self._cluster.api))), end="")
        return 0 if foreseen.leave.may_go else 3

    def _show_pool(self, wanted: Batches) -> int:
        print(plan_text.pool(wanted, self._command.text if self._command else ""))
        cloud = self._read()
        under_way = current(self._cluster.api)
        first = [self._foreseen(domain, cloud) for domain in wanted.domains[: wanted.size]]
        print(printable("\n".join(plan_text.shown(each, under_way) for each in first)), end="")
        return 0 if all(each.leave.may_go for each in first) else 3

    def _foreseen(self, domain: MaintenanceDomain, cloud: LivingCloud) -> plan_text.Foreseen:
        pods = {node: eviction.evictable(self._cluster.api, node) for node in domain.nodes}
        processes = {workload_of(pod) for found in pods.values() for pod in found}
        carries = not processes.isdisjoint(network_services.AGENTS)
        return plan_text.Foreseen(
            domain,
            leave_together(cloud, domain.name, domain.all, self._stops),
            pods,
            self._outlooks(domain) if domain.computes else (),
            network_services.carried(self._cluster, cloud, domain.nodes) if carries else NetworkServices(),
            self._command.text if self._command else "",
        )

    def _outlooks(self, domain: MaintenanceDomain) -> list[tuple[Instance, Outlook]]:
        choices = choices_of(self._cluster, cold=self._cold)
        found = instances.instances(self._cluster, domain.computes)
        return [(each, instances.outlook(each, choices)) for each in found]

    def _read(self) -> LivingCloud:
        nodes = tuple(self._cluster.api.items("/api/v1/nodes")[0])
        return read_cloud(self._cluster.plan, replace(self._cluster, nodes=nodes))

    def _held(self, operation: CloudOperation) -> AbstractContextManager[HeldLease]:
        return held(self._cluster.api, operation, self._stack, _say)

    def _maintenance(self, lease: HeldLease) -> Maintenance:
        return Maintenance(self._cluster, lease, self._read, _say, cold=self._cold, command=self._command)

    def _line(self, *words: str) -> str:
        return f"quorate maintenance {' '.join(words)} --stack {self._stack}"


def _say(message: str) -> None:
    print(printable(message), flush=True)
