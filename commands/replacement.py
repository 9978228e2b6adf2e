"""`quorate replace`: removes a machine that is dead for good from a running cloud, and waits for the new one.

A disk that failed in a machine that runs is the same operation (commands/failed_disk.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from cluster.api import ApiError, Unreachable
from commands import deployment, stack
from commands.engine.machine_resources import without_machine
from commands.engine.operation import Operation
from commands.failed_disk import DiskPart, DiskSession
from commands.live import connection
from commands.plan.replaced_server import NewMachine, StackFileChange, changed
from commands.stack import ValidStack
from console.errors import UserError
from files import atomic
from operations.live_cluster import LiveCluster
from operations.living.cloud import LivingCloud, read_cloud
from operations.operation_lease import REPLACEMENT, CloudOperation, HeldLease, current, held
from operations.replacement import replacement_text
from operations.replacement.dead_machine import find
from operations.replacement.refusals import NOT_BUILT, not_built, unsafe
from operations.replacement.removal import OutsideCluster, Replacement
from operations.replacement.replacement_steps import changes_state
from operations.replacement.signs_of_life import signs
from text.quoting import printable
from text.suggestion import did_you_mean


@dataclass(frozen=True)
class ReplaceRequest:
    """What the command line asks for."""

    name: str
    new: NewMachine = field(default_factory=NewMachine)
    is_dead: bool = False
    """Whether the user says that the machine is off and stays off."""
    plan: bool = False
    end: bool = False
    osd: str = ""
    """Number of the OSD whose disk failed while the machine runs."""
    member: str = ""
    """Member of a quorum whose disk failed while the machine runs."""


def run(root: Path, stack_name: str, request: ReplaceRequest) -> int:
    """Does what the request asks for, or prints its plan.

    Returns 0 if it is done, or with `plan` if the machine may be removed; 3 with `plan` if it may not. Raises UserError
    with why the run has stopped.
    """
    found = stack.load(root, stack_name)
    if found.is_rendered:
        raise UserError(f"{stack_name} has the target {found.target}: it has no cluster with a machine to replace.")
    if request.plan and request.end:
        raise UserError("Use only one of --plan and --end: a plan shows the end too.")
    part = _disk_part(found.plan, request)
    cluster = connection.connect(root, found)
    try:
        if part:
            return _replace_disk(DiskSession(cluster, found.name, part, lambda: _read(cluster), _say), request)
        session = _Session(root, found, cluster, request)
        if request.end:
            return session.end()
        return session.show() if request.plan else session.remove()
    except (ApiError, Unreachable) as error:
        raise UserError(f"The run has stopped: {error}\nThe same command goes on where it stopped.") from None


def _disk_part(plan: Plan, request: ReplaceRequest) -> DiskPart | None:
    """Returns what was on a disk that failed; None if the machine is replaced. Raises UserError with all errors."""
    if not (request.osd or request.member):
        return None
    errors: list[str] = []
    if request.osd and request.member:
        errors.append("Use only one of --osd and --member: one disk at a time.")
    if request.osd and not request.osd.isdecimal():
        errors.append(f"--osd {request.osd}: write the number of an OSD, such as 3.")
    if request.new != NewMachine():
        errors.append("--with, --address and --host-key are for a machine that is dead, not for its disk.")
    node = next((each for each in plan.machines if each.name == request.name), None)
    if node is None:
        errors.append(f"There is no machine {request.name}{did_you_mean(request.name, _names(plan))}.")
    if errors or node is None:
        raise UserError("\n".join((*errors, "Nothing was changed.")))
    return DiskPart(node, request.osd, request.member)


def _replace_disk(session: DiskSession, request: ReplaceRequest) -> int:
    if request.end:
        return session.end()
    return session.show() if request.plan else session.remove(is_dead=request.is_dead)


def _read(cluster: LiveCluster) -> LivingCloud:
    nodes = tuple(cluster.api.items("/api/v1/nodes")[0])
    return read_cloud(cluster.plan, replace(cluster, nodes=nodes))


def _names(plan: Plan) -> set[str]:
    return {each.name for each in plan.machines} | {host.name for host in plan.hosts}


def _errors(plan: Plan, node: Node | None, request: ReplaceRequest) -> Iterator[str]:
    names = _names(plan)
    if node is None:
        if any(host.name == request.name for host in plan.hosts):
            yield f"{request.name} is a virt host, whose virtual machines are lost with it; {NOT_BUILT}."
        else:
            yield f"There is no machine {request.name}{did_you_mean(request.name, names)}."
        return
    yield from not_built(plan, node)
    if request.new.name in names:
        yield f"--with {request.new.name}: the stack has a machine of this name; choose another one."


class _Session:
    """The replacement of a machine of a stack's cluster by this command."""

    def __init__(self, root: Path, found: ValidStack, cluster: LiveCluster, request: ReplaceRequest) -> None:
        self._root = root
        self._stack = found
        self._cluster = cluster
        self._request = request

    def show(self) -> int:
        node, change = self._checked()
        dead = find(self._cluster, node)
        cloud = self._read()
        reasons = [*signs(cloud, dead, cloud.plan.settings.ssh), *unsafe(cloud, dead)]
        difference = change.difference if change else ""
        under_way = current(self._cluster.api)
        here = {quorum for quorum, _ in dead.members}
        sizes = {each.name: each.size for each in cloud.quorums if each.name in here and each.size}
        foreseen = replacement_text.ForeseenReplacement(
            dead, self._request.new.name, reasons, difference, under_way, sizes
        )
        print(printable(replacement_text.shown(self._cluster, foreseen)), end="")
        return 3 if reasons else 0

    def remove(self) -> int:
        name = self._request.name
        operation = current(self._cluster.api)
        if operation and operation.kind == REPLACEMENT and operation.subject == name and name in operation.done:
            self._write_again(operation)
            return self._removed(operation)
        node, change = self._checked()
        if not self._request.is_dead:
            raise UserError(
                f"Is {name} off, and does it stay off? If it starts again, its members and pods run twice. Switch its "
                f"power off, not only its system, and say so: {self._line('--dead')}. Nothing was changed."
            )
        with ExitStack() as held_open:
            # Before anything is changed: without the stack's passphrase, its state cannot be written.
            needs_state = changes_state(self._cluster, self._request.new.name)
            engine = held_open.enter_context(self._engine()) if needs_state else None
            lease = held_open.enter_context(self._held(CloudOperation(name, REPLACEMENT, new=self._request.new.name)))
            if lease.operation.new != self._request.new.name:
                given = f"--with {lease.operation.new}" if lease.operation.new else "no --with"
                raise UserError(
                    f"The replacement of {name} was begun with {given}: go on with that. Nothing was changed."
                )
            self._remove(node, lease, self._outside(engine, change))
        return self._removed(lease.operation)

    def _remove(self, node: Node, lease: HeldLease, outside: OutsideCluster) -> None:
        replacement = Replacement(self._cluster, lease, self._read, _say)
        with lease.beginning():
            dead = find(self._cluster, node)
            replacement.require_removable(dead)
        if not lease.operation.out:
            lease.change(out=(dead.name,), osds=dead.osds)
        replacement.remove(dead, outside)

    def end(self) -> int:
        name = self._request.name
        operation = current(self._cluster.api)
        if not operation or (operation.kind, operation.subject) != (REPLACEMENT, name):
            print(f"{name} is not being replaced. Nothing was changed.")
            return 0
        if name not in operation.done:
            raise UserError(f"{name} is not removed yet: go on with {self._line('--dead')} first. Nothing was changed.")
        with self._held(CloudOperation(name, REPLACEMENT)) as lease:
            dead = Replacement(self._cluster, lease, self._read, _say).finish()
        replaced = f"{name} is replaced by {operation.new or 'a new machine'}"
        if dead:
            print(f"{replaced}. Replace next what is cordoned and not Ready, and was not awaited: {', '.join(dead)}.")
        else:
            print(f"{replaced}, and every quorum is complete.")
        return 0

    def _write_again(self, operation: CloudOperation) -> None:
        """Writes the stack file if the run that removed the machine was killed before."""
        if any(node.name == operation.subject for node in self._stack.plan.machines):
            change = self._change(replace(self._request.new, name=operation.new))
            if change and change.difference:
                self._write(change)

    def _removed(self, operation: CloudOperation) -> int:
        """Prints what is next."""
        place = operation.new or operation.subject
        print(
            f"{operation.subject} is removed. Next: make {place} ready, run `quorate up --stack {self._stack.name}`, "
            f"and {self._line('--end')}"
        )
        return 0

    def _checked(self) -> tuple[Node, StackFileChange | None]:
        """Returns the machine, and the change of the stack file. Raises UserError with all errors of the request."""
        plan = self._stack.plan
        node = next((each for each in plan.machines if each.name == self._request.name), None)
        if errors := list(_errors(plan, node, self._request)):
            raise UserError("\n".join((*errors, "Nothing was changed.")))
        assert node  # noqa: S101 - _errors has looked for it
        return node, self._change(self._request.new)

    def _change(self, new: NewMachine) -> StackFileChange | None:
        if new == NewMachine():
            return None
        return changed(self._stack.file, self._stack.plan, self._request.name, new)

    def _outside(self, engine: Operation | None, change: StackFileChange | None) -> OutsideCluster:
        def forget(claims: Sequence[str]) -> None:
            if engine:
                names = [node.name for node in self._stack.plan.machines]
                state, gone = without_machine(engine.deployment(), self._request.name, names, claims)
                if gone:
                    engine.give_deployment(state)
                _say(f"    {len(gone)} resources were taken out of the state")

        def write() -> None:
            assert change  # noqa: S101 - otherwise it is not handed on
            self._write(change)

        return OutsideCluster(forget, write if change and change.difference else None)

    def _write(self, change: StackFileChange) -> None:
        atomic.write(change.file, change.after)
        _say(change.difference.rstrip("\n"))

    def _engine(self) -> AbstractContextManager[Operation]:
        return deployment.prepared("refresh", self._root, self._stack)

    def _read(self) -> LivingCloud:
        return _read(self._cluster)

    def _held(self, operation: CloudOperation) -> AbstractContextManager[HeldLease]:
        return held(self._cluster.api, operation, self._stack.name, _say)

    def _line(self, *words: str) -> str:
        return f"quorate replace {self._request.name} {' '.join(words)} --stack {self._stack.name}"


def _say(message: str) -> None:
    print(printable(message), flush=True)
