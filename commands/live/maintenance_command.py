"""`quorate maintenance`: takes a server, a machine or a batch of a pool out of a running cloud, and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.plan.plan import Plan
from cluster import eviction
from cluster.api import ApiError, Unreachable
from commands import stack
from commands.live import connection
from commands.live.machine_shell import machine_shell
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud, read_cloud, workload_of
from operations.living.leaving import leave_together
from operations.maintenance import batches, failure_domains, instances, network_services, plan_text, steps
from operations.maintenance.batches import Batches
from operations.maintenance.failure_domains import MaintenanceDomain
from operations.maintenance.instance_moves import choices_of
from operations.maintenance.instances import Instance, Outlook
from operations.maintenance.machine_command import MachineCommand, Shell, is_held
from operations.maintenance.network_services import NetworkServices
from operations.maintenance.out_and_back import SETTLE, Maintenance, Stalled, marked
from operations.operation_lease import CloudOperation, HeldLease, command, current, held
from text.quoting import printable
from text.suggestion import did_you_mean


@dataclass(frozen=True)
class MaintenanceRequest:
    """What the command line asks for."""

    name: str = ""
    """A server or a machine."""
    pool: str = ""
    batch: str = ""
    max_failed: int | None = None
    hold: str = ""
    """The kind of step after which the run stops."""
    cold: bool = False
    """Whether instances that do not move live are moved cold."""
    plan: bool = False
    end: bool = False
    abort: bool = False
    do: str = ""
    """What runs on each machine that is out: `reboot`, `poweroff`, or a command of a shell. But for `poweroff`, it is
    then brought back."""


def run(root: Path, stack_name: str, request: MaintenanceRequest) -> int:
    """Does what the request asks for, or prints its plan.

    Returns 0 if it is done, or with `plan` if the quorums admit it; 3 with `plan` if they do not; 1 if a domain of a
    pool has failed. Raises UserError with all errors of the request, or with why the run has stopped.
    """
    found = stack.load(root, stack_name)
    if errors := [*_errors(found.plan, request), *_errors_of_command(found.plan, request)]:
        raise UserError("\n".join(errors))
    if found.is_rendered:
        raise UserError(f"{stack_name} has the target {found.target}: it has no cluster with a server to take out.")
    cluster = connection.connect(root, found)
    try:
        with machine_shell(found.plan) as shell:
            session = _Session(stack_name, cluster, request, shell)
            if request.pool:
                return session.pool(_batches(found.plan, request), request)
            return session.single(_domains(found.plan, request)[0], request)
    except (ApiError, Unreachable) as error:
        raise UserError(f"The run has stopped: {error}\nThe same command goes on where it stopped.") from None


def _errors(plan: Plan, request: MaintenanceRequest) -> Iterator[str]:
    if bool(request.name) is bool(request.pool):
        yield "Name one server or machine, or a pool with --pool."
    if request.name and not failure_domains.named(plan, request.name):
        known = failure_domains.names_of(plan)
        yield f"There is no server or machine {request.name}{did_you_mean(request.name, known)}."
    if request.pool and not plan.pool(request.pool):
        pools = failure_domains.pools_of(plan)
        yield f"There is no pool {request.pool}{did_you_mean(request.pool, pools)}; pools: {', '.join(pools)}."
    if request.batch:
        try:
            failure_domains.batch_size(request.batch, 1)
        except ValueError:
            yield f"--batch {request.batch} is no number from 1, and no percentage from 1% to 100%."
    if request.max_failed is not None and request.max_failed < 0:
        yield f"--max-failed {request.max_failed} is below 0."
    if not request.pool and (request.batch or request.max_failed is not None):
        yield "--batch and --max-failed need --pool."
    if request.hold and (request.pool or request.plan or request.end or request.abort):
        yield "--hold is for a run that takes one server or machine out."
    elif request.hold and (domain := failure_domains.named(plan, request.name)):
        known = [step.kind for step in steps.steps(domain) if step.kind in steps.HOLDS]
        if request.hold not in known:
            yield f"{request.name} has no step {request.hold} for --hold; it has: {', '.join(known)}."
    if request.cold and (request.end or request.abort):
        yield "--cold moves instances away; --end and --abort move none back."
    if sum((request.plan, request.end, request.abort)) > 1:
        yield "Use only one of --plan, --end and --abort: a plan shows the way back too."


def _errors_of_command(plan: Plan, request: MaintenanceRequest) -> Iterator[str]:
    if not request.do:
        return
    if request.hold or request.end or request.abort:
        yield "--do is for a run that takes a server or machine out: use it without --hold, --end and --abort."
    if "\n" in request.do or not request.do.strip():
        yield "--do needs a command of one line, `reboot` or `poweroff`."
    for domain in _domains(plan, request):
        if domain.own is None or domain.own.machine.host_key is None:
            yield f"--do logs in to {domain.name}, and the stack file has no hostKey of it."


def _domains(plan: Plan, request: MaintenanceRequest) -> tuple[MaintenanceDomain, ...]:
    """Returns what a request names; () if there is nothing of the name."""
    if request.pool:
        return failure_domains.of_pool(plan, request.pool)
    domain = failure_domains.named(plan, request.name)
    return (domain,) if domain else ()


def _batches(plan: Plan, request: MaintenanceRequest) -> Batches:
    found = failure_domains.of_pool(plan, request.pool)
    size = failure_domains.batch_size(request.batch or "1", len(found))
    return Batches(request.pool, found, size, request.max_failed or 0)


class _Session:
    """The maintenance of a stack's cluster by this command."""

    def __init__(self, stack_name: str, cluster: LiveCluster, request: MaintenanceRequest, shell: Shell) -> None:
        self._stack = stack_name
        self._command = MachineCommand(request.do, shell) if request.do else None
        self._cluster = cluster
        self._cold = request.cold
        self._hold = request.hold

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

    def _take_out(self, domain: MaintenanceDomain, lease: HeldLease) -> None:
        maintenance = self._maintenance(lease)
        if domain.name in lease.operation.out:
            _say(f"goes on with {domain.name}: {lease.operation.began()}")
            maintenance.require_leave(domain, patience=SETTLE)
        else:
            try:
                maintenance.require_leave(domain)
            except Stalled as refusal:
                lease.finish()
                raise UserError(f"{refusal}\nNothing was changed.") from None
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
        count = -(-len(wanted.domains) // wanted.size)
        print(
            f"Pool {wanted.pool}: {len(wanted.domains)} in {count} batches of at most {wanted.size}; a run stops when "
            f"more than {wanted.max_failed} have failed. The plan of the first batch:\n"
        )
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
            leave_together(cloud, domain.name, domain.all),
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
