"""From what etcd is restored: the data of one member, or a copy; and why it is not restored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from blueprint.plan.quorum_limits import majority
from console.errors import UserError
from operations.restoration.etcd_machines import DATA, EtcdCopy, EtcdMachine
from text.suggestion import did_you_mean

_OLDEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class EtcdSource:
    """The machine and the data of which the new cluster is made."""

    machine: EtcdMachine
    copy: EtcdCopy | None
    """None for the data of the machine's own member."""

    @property
    def name(self) -> str:
        """The name of the copy, or `DATA`."""
        return self.copy.name if self.copy else DATA

    @property
    def written(self) -> datetime | None:
        """When its last write may be from; None if that is not known."""
        return self.copy.made if self.copy else self.machine.written


def chosen(machines: Sequence[EtcdMachine], wanted: str, dead: Sequence[str]) -> EtcdSource:
    """Returns from what etcd is restored.

    wanted: `MACHINE` for the data of its member, `MACHINE:COPY` for a copy, or "" for the data of a member if there is
        any, otherwise the newest copy. A restoration that has begun goes on with its own source.
    dead: machines that are off and stay off, as the user says.

    Raises UserError with all reasons for which it is not restored.
    """
    reached = [each for each in machines if each.takes_part and each.name not in dead]
    reasons = [*_wrongly_dead(machines, dead), *_unreached(machines, dead)]
    source = None
    try:
        source = _begun(reached, wanted) or _source(reached, wanted)
    except UserError as error:
        reasons.append(str(error))
    if source and not source.machine.begun:
        reasons += _needless(machines, reached, wanted, source)
    if reasons or source is None:
        raise UserError("\n".join(f"  - {each}" for each in reasons))
    return source


def _wrongly_dead(machines: Sequence[EtcdMachine], dead: Sequence[str]) -> Iterator[str]:
    names = [each.name for each in machines]
    yield from (f"--dead {each}: no member is there{did_you_mean(each, names)}" for each in dead if each not in names)
    yield from (f"--dead {each.name}: it answers" for each in machines if each.name in dead and not each.problem)


def _unreached(machines: Sequence[EtcdMachine], dead: Sequence[str]) -> Iterator[str]:
    """Yields the machines that may still run a member with the old data."""
    for each in machines:
        if each.problem and each.name not in dead:
            yield (
                f"{each.name} was not asked: {each.problem}. With another such machine it could be a majority of the "
                f"old cluster. Make it answer; or if it is off and stays off, add --dead {each.name}"
            )


def _begun(reached: Sequence[EtcdMachine], wanted: str) -> EtcdSource | None:
    """Returns the source of a restoration that has begun; None if none has."""
    for each in reached:
        if each.begun:
            copy = next((copy for copy in each.copies if copy.name == each.begun), None)
            source = EtcdSource(each, copy)
            if each.begun != DATA and not copy:
                raise UserError(f"a restoration from {each.name}:{each.begun} has begun, but this copy is gone")
            if wanted and wanted != _written(source):
                raise UserError(f"a restoration from {_written(source)} has begun: go on with that, without --from")
            return source
    return None


def _written(source: EtcdSource) -> str:
    """Returns a source as `--from` takes it."""
    return source.machine.name if not source.copy else f"{source.machine.name}:{source.copy.name}"


def _source(reached: Sequence[EtcdMachine], wanted: str) -> EtcdSource:
    if wanted:
        return _named(reached, wanted)
    if with_data := [each for each in reached if each.has_data]:
        return EtcdSource(max(with_data, key=lambda each: each.revision or 0), None)
    copies = [EtcdSource(each, copy) for each in reached for copy in each.copies if copy.revision]
    if not copies:
        raise UserError(
            "no machine has the data of a member, or in /var/lib/etcd-backup a copy with a record of its content. Put "
            "the .db file of a copy there, and name it with --from MACHINE:COPY"
        )
    return max(copies, key=lambda each: each.written or _OLDEST)


def _named(reached: Sequence[EtcdMachine], wanted: str) -> EtcdSource:
    name, _, copy_name = wanted.partition(":")
    machine = next((each for each in reached if each.name == name), None)
    if machine is None:
        hint = did_you_mean(name, [each.name for each in reached])
        raise UserError(f"--from {wanted}: there is no machine {name} that answers{hint}")
    if not copy_name:
        if not machine.has_data:
            raise UserError(f"--from {wanted}: {name} has no data of a member")
        return EtcdSource(machine, None)
    copy = next((each for each in machine.copies if each.name == copy_name), None)
    if copy is None:
        known = [each.name for each in machine.copies]
        raise UserError(f"--from {wanted}: {name} has no such copy; it has {', '.join(known[-5:]) or 'none'}")
    return EtcdSource(machine, copy)


def _needless(
    machines: Sequence[EtcdMachine], reached: Sequence[EtcdMachine], wanted: str, source: EtcdSource
) -> Iterator[str]:
    """Yields why the cluster that exists is kept."""
    serving = [each.name for each in reached if each.votes]
    with_data = [each.name for each in reached if each.has_data]
    if serving and not source.copy:
        yield (
            f"etcd has a majority ({', '.join(serving)} answer): nothing is lost. Members that are lost join again "
            "with `quorate up`. To go back to an earlier state, name a copy: --from MACHINE:COPY"
        )
    elif not serving and not wanted and len(with_data) >= (needed := majority(len(machines))):
        yield (
            f"{', '.join(with_data)} have the data of their members, and {needed} of {len(machines)} are a majority: "
            "start these (`systemctl start etcd`), and nothing is lost. If the data is damaged, name what to use "
            "with --from"
        )
