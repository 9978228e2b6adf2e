"""`quorate restore mysqld` or another quorum in pods whose other members were lost: goes on with the data of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from cluster.api import ApiError, Unreachable
from commands.live import connection
from commands.live.restore_request import RestoreRequest
from commands.stack import ValidStack
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.cloud import members_of, quorums_of, read_cloud
from operations.operation_lease import RESTORATION, CloudOperation, current, require_same
from operations.replacement.dead_machine import DeadMachine, members_on, volumes_of
from operations.replacement.signs_of_life import signs
from operations.restoration import survivor_choice, survivor_text, survivors
from operations.restoration.going_on import GoingOn
from operations.restoration.survivor_programs import PROGRAMS
from operations.restoration.survivors import Survivor, SurvivorProgram
from text.quoting import printable
from text.suggestion import did_you_mean


def is_meant(cluster: LiveCluster, request: RestoreRequest, names: Sequence[str]) -> bool:
    """Whether a request that names no member is to go on with a member's data, and not to restore a backup.

    It is without a source, if it names a dead machine, or if no member serves and one has complete data, unless a
    backup is being restored. `names`: the members. Raises ApiError or Unreachable.
    """
    if request.source:
        return False
    if request.dead:
        return True
    if begun := _begun(cluster, request):
        return begun.source in names
    members = survivors.look(cluster, _program(cluster, request.what), request.what)
    return not any(each.serves for each in members) and any(each.data for each in members)


def restore_survivor(root: Path, found: ValidStack, request: RestoreRequest) -> int:
    """Lets a RabbitMQ, Ceph's monitors or a database of OVN go on with a member's data: they have no backup.

    The rest is as for galera_restore.run.
    """
    names = members_of(next(each for each in quorums_of(found.plan) if each.name == request.what))
    if request.source and request.source not in names:
        raise UserError(
            f"--from {request.source} is not a member of {request.what}{did_you_mean(request.source, names)}."
        )
    cluster = connection.connect(root, found)
    try:
        return run(cluster, found.name, request)
    except (ApiError, Unreachable) as error:
        raise UserError(f"The run has stopped: {error}\nThe same command goes on where it stopped.") from None


def run(cluster: LiveCluster, stack: str, request: RestoreRequest) -> int:
    """Goes on with a member's data, or prints the plan. The rest is as for galera_restore.run."""
    begun = _begun(cluster, request)
    if begun and begun.source and not request.source:
        request = replace(request, source=begun.source, dead=request.dead or begun.out)
    program = _program(cluster, request.what)
    members = survivors.look(cluster, program, request.what, request.dead)
    now = datetime.now(UTC)
    _say(survivor_text.found(request.what, members, now))
    try:
        if operation := current(cluster.api):
            require_same(operation, CloudOperation(request.what, RESTORATION), stack)
        source = _source(cluster, program, members, request, begun)
    except UserError as refusal:
        message = f"{request.what} does not go on:\n{refusal}"
        if not request.plan:
            raise UserError(f"{message}\nNothing was changed.") from None
        _say(message)
        return 3
    others = tuple(each for each in members if not each.problem and each.name != source.name)
    lost = tuple(each for each in members if each.problem)
    going_on = GoingOn(cluster, stack, request.what, program, source, others, lost, request.dead)
    _say(survivor_text.plan(going_on, now))
    if request.plan:
        return 0
    if request.confirm != stack:
        raise UserError(f"Nothing was changed. To do this, add --confirm {stack}.")
    going_on.run(_say)
    _say(f"{request.what} of {stack} runs with {1 + len(others)} of {len(members)} members.")
    for machine in request.dead:
        _say(
            f"{machine} is cordoned and must stay off until it is removed (`quorate replace {machine} --stack {stack} "
            "--plan`)."
        )
    return 0


def _begun(cluster: LiveCluster, request: RestoreRequest) -> CloudOperation | None:
    """Returns the restoration of this quorum that is under way; None if there is none."""
    found = current(cluster.api)
    return found if found and (found.kind, found.subject) == (RESTORATION, request.what) else None


def _program(cluster: LiveCluster, quorum: str) -> SurvivorProgram:
    return PROGRAMS[next(each.process for each in quorums_of(cluster.plan) if each.name == quorum)]


def _source(
    cluster: LiveCluster,
    program: SurvivorProgram,
    members: Sequence[Survivor],
    request: RestoreRequest,
    begun: CloudOperation | None,
) -> Survivor:
    if begun and begun.source and begun.source == request.source:
        for each in members:
            if each.name == begun.source and each.serves:
                return each
    alive = _signs(cluster, request.dead)
    return survivor_choice.chosen(members, request.source, request.dead, alive, alone=program.alone)


def _signs(cluster: LiveCluster, dead: Sequence[str]) -> list[str]:
    """Returns what shows that machines that are called dead are on."""
    nodes = [node for node in cluster.plan.machines if node.name in dead]
    if not nodes:
        return []
    cloud = read_cloud(cluster.plan, cluster)
    found: list[str] = []
    for node in nodes:
        volumes = volumes_of(cluster.api, node.name)
        machine = DeadMachine(node, False, members_on(cluster.plan, volumes), volumes, (), False, False)
        found += [f"--dead {node.name}: {sign}" for sign in signs(cloud, machine, cluster.plan.settings.ssh)]
    return found


def _say(message: str) -> None:
    print(printable(message.rstrip("\n")), flush=True)
