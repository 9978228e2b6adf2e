"""What `quorate maintenance` is asked for, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from blueprint.plan.plan import Plan
from operations.living.cloud import quorums_of
from operations.maintenance import failure_domains, steps
from operations.maintenance.batches import Batches
from operations.maintenance.failure_domains import MaintenanceDomain
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
    stops: tuple[str, ...] = ()
    """The quorums of a single member that may stop meanwhile."""


def errors(plan: Plan, request: MaintenanceRequest) -> Iterator[str]:
    """Yields what is wrong with a request, each as a sentence."""
    yield from _errors_of_names(plan, request)
    yield from _errors_of_options(plan, request)
    yield from _errors_of_stops(plan, request)
    yield from _errors_of_command(plan, request)


def _errors_of_names(plan: Plan, request: MaintenanceRequest) -> Iterator[str]:
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
            yield f"--batch {request.batch} is neither a number from 1 nor a percentage from 1% to 100%."
    if request.max_failed is not None and request.max_failed < 0:
        yield f"--max-failed {request.max_failed} is below 0."
    if not request.pool and (request.batch or request.max_failed is not None):
        yield "--batch and --max-failed need --pool."


def _errors_of_options(plan: Plan, request: MaintenanceRequest) -> Iterator[str]:
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


def _errors_of_stops(plan: Plan, request: MaintenanceRequest) -> Iterator[str]:
    if request.stops and (request.end or request.abort):
        yield "--admit-stop is for a run that takes something out; --end and --abort stop nothing."
    sizes = {quorum.name: quorum.instances for quorum in quorums_of(plan)}
    for name in request.stops:
        if name not in sizes:
            yield f"There is no quorum {name}{did_you_mean(name, sizes)} for --admit-stop."
        elif sizes[name] > 1:
            yield f"--admit-stop {name}: it has {sizes[name]} members and keeps its majority in a maintenance."


def _errors_of_command(plan: Plan, request: MaintenanceRequest) -> Iterator[str]:
    if not request.do:
        return
    if request.hold or request.end or request.abort:
        yield "--do is for a run that takes a server or machine out: use it without --hold, --end and --abort."
    if "\n" in request.do or not request.do.strip():
        yield "--do needs a command of one line, `reboot` or `poweroff`."
    for domain in domains(plan, request):
        if domain.own is None or domain.own.machine.host_key is None:
            yield f"--do logs in to {domain.name}, and the stack file has no hostKey of it."


def domains(plan: Plan, request: MaintenanceRequest) -> tuple[MaintenanceDomain, ...]:
    """Returns what a request names; () if there is nothing of the name."""
    if request.pool:
        return failure_domains.of_pool(plan, request.pool)
    domain = failure_domains.named(plan, request.name)
    return (domain,) if domain else ()


def batches_of(plan: Plan, request: MaintenanceRequest) -> Batches:
    """Returns the batches of the pool that a request names."""
    found = failure_domains.of_pool(plan, request.pool)
    size = failure_domains.batch_size(request.batch or "1", len(found))
    return Batches(request.pool, found, size, request.max_failed or 0)
