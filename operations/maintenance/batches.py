"""Maintenance of a pool in batches: each run takes a batch out and holds it, and each end brings it back."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from console.errors import UserError
from operations.maintenance.failure_domains import MaintenanceDomain
from operations.maintenance.out_and_back import SETTLE, Maintenance, Say, Stalled
from operations.operation_lease import HeldLease
from text.quoting import as_lines


@dataclass(frozen=True)
class Batches:
    """A pool and how much of it may be out or fail."""

    pool: str
    domains: tuple[MaintenanceDomain, ...]
    size: int
    """How many domains are out at a time."""
    max_failed: int
    """How many domains may fail until the run stops."""


def take_batch_out(wanted: Batches, maintenance: Maintenance, lease: HeldLease, say: Say) -> None:
    """Takes out domains of a pool, one after the other, until a batch is out or none is left.

    The computes of a whole batch are disabled first, so that no instance moves to one that goes next. Raises UserError
    if too many domains fail.
    """
    seen: set[str] = set()
    before = lease.operation.out  # by a run that was killed
    while fresh := _batch(wanted, maintenance, lease, say, seen):
        if len(fresh) > 1 and any(each.computes for each in fresh):
            say(f"disable nova-compute on the computes of {', '.join(each.name for each in fresh)}")
            for domain in fresh:
                maintenance.disable_computes(domain)
        for domain in fresh:
            say(f"{domain.name}:")
            # The first that this run has chosen was asked just now.
            is_asked = domain is fresh[0] and domain.name not in before
            _take_out(wanted, domain, maintenance, lease, say, is_asked=is_asked)
        seen.update(each.name for each in fresh)


def _batch(
    wanted: Batches, maintenance: Maintenance, lease: HeldLease, say: Say, seen: Collection[str]
) -> list[MaintenanceDomain]:
    """Notes in the Lease which domains are out next, and returns them after those that are out already, but for `seen`.

    Each is asked together with the others: they may be without power at the same time. A domain that cannot go now
    beside the others is left for a later batch; one that cannot go alone has failed.
    """
    for domain in wanted.domains:
        operation = lease.operation
        if len(operation.out) >= wanted.size:
            break
        if domain.name in (*operation.out, *operation.done, *operation.failed, *seen):
            continue
        try:
            maintenance.require_leave(domain, _out(wanted, lease))
        except Stalled as refusal:
            _refused(wanted, domain, refusal, lease, say)
        else:
            lease.change(out=(*operation.out, domain.name))
    return [each for each in _out(wanted, lease) if each.name not in seen]


def _take_out(  # noqa: PLR0913 - a step of take_batch_out, with all that it has
    wanted: Batches, domain: MaintenanceDomain, maintenance: Maintenance, lease: HeldLease, say: Say, *, is_asked: bool
) -> None:
    """Takes out a domain of a batch, or brings it back if it fails.

    Unless `is_asked`, it is asked again, because the evictions of those before it have changed the cloud.
    """
    others = [each for each in _out(wanted, lease) if each.name != domain.name]
    try:
        if not is_asked:
            maintenance.require_leave(domain, others, patience=SETTLE)
    except Stalled as refusal:
        maintenance.bring_back(domain)
        _refused(wanted, domain, refusal, lease, say)
        return
    try:
        maintenance.take_out(domain, beside=others)
    except Stalled as problem:
        say(f"{domain.name} fails and is brought back: {problem}")
        maintenance.bring_back(domain)
        _fail(wanted, domain, problem, lease, say)


def _out(wanted: Batches, lease: HeldLease) -> list[MaintenanceDomain]:
    """Returns the domains that are out or go next. One whose server has left the stack since is not among them."""
    known = {domain.name: domain for domain in wanted.domains}
    return [known[name] for name in lease.operation.out if name in known]


def bring_batch_back(wanted: Batches, maintenance: Maintenance, lease: HeldLease, say: Say) -> None:
    """Brings the domains of a batch back, one after the other, the last one first."""
    known = {domain.name: domain for domain in wanted.domains}
    for name in reversed(lease.operation.out):
        if name in known:
            say(f"{name}:")
            maintenance.bring_back(known[name])
        operation = lease.operation
        lease.change(out=tuple(each for each in operation.out if each != name), done=(*operation.done, name))


def work_through(wanted: Batches, maintenance: Maintenance, lease: HeldLease, say: Say) -> None:
    """Takes out batch after batch and brings each back, until none is left; for a maintenance with a command.

    Raises UserError if too many domains fail, or one does not become whole again.
    """
    while lease.operation.out or left(wanted, lease):
        take_batch_out(wanted, maintenance, lease, say)
        bring_batch_back(wanted, maintenance, lease, say)


def left(wanted: Batches, lease: HeldLease) -> Sequence[str]:
    """Returns the names of the domains that were neither out nor have failed."""
    operation = lease.operation
    seen = {*operation.out, *operation.done, *operation.failed}
    return [domain.name for domain in wanted.domains if domain.name not in seen]


def _refused(wanted: Batches, domain: MaintenanceDomain, refusal: Stalled, lease: HeldLease, say: Say) -> None:
    """Leaves a domain for a later batch if others are out. One that may not go alone has failed."""
    if others := tuple(each for each in lease.operation.out if each != domain.name):
        say(f"{domain.name} stays for a later batch: {refusal}")
        lease.change(out=others)
    else:
        _fail(wanted, domain, refusal, lease, say)


def _fail(wanted: Batches, domain: MaintenanceDomain, problem: Exception, lease: HeldLease, say: Say) -> None:
    """Notes a failed domain. Raises UserError if these are too many."""
    failed = lease.operation.failed | {domain.name: str(problem)}
    lease.change(failed=failed, out=tuple(each for each in lease.operation.out if each != domain.name))
    say(f"{domain.name} has failed ({len(failed)} of at most {wanted.max_failed}).")
    if len(failed) > wanted.max_failed:
        named = as_lines(f"{name}: {reason}" for name, reason in failed.items())
        raise UserError(
            f"Stopped: {len(failed)} of pool {wanted.pool} have failed, and --max-failed admits {wanted.max_failed}:"
            f"{named}\nOut now, or with nova-compute disabled: {', '.join(lease.operation.out) or 'none'}. End with "
            "--abort, or go on with a higher --max-failed."
        )
