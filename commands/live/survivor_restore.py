"""`quorate restore mysqld` after the other members were lost for good: goes on with the data of one member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from commands.live.restore_request import RestoreRequest
from console.errors import UserError
from operations.live_cluster import LiveCluster
from operations.living.cloud import read_cloud
from operations.operation_lease import RESTORATION, CloudOperation, current, require_same
from operations.replacement.dead_machine import DeadMachine, members_on, volumes_of
from operations.replacement.signs_of_life import signs
from operations.restoration import galera_members, galera_survivor, survivor_text
from operations.restoration.galera_going_on import GaleraGoingOn
from operations.restoration.galera_members import GaleraMember
from text.quoting import printable


def is_meant(cluster: LiveCluster, request: RestoreRequest, names: Sequence[str]) -> bool:
    """Whether the request is to go on with a member's data, and not to restore a backup.

    It is if it names a member or a dead machine; and without a source, if no member serves and one has complete data,
    unless a backup is being restored. `names`: the members. Raises ApiError or Unreachable.
    """
    if request.source:
        return request.source in names
    if request.dead:
        return True
    if begun := _begun(cluster, request):
        return begun.source in names
    members = galera_members.look(cluster, request.what)
    return not any(each.primary for each in members) and any(each.has_data for each in members)


def run(cluster: LiveCluster, stack: str, request: RestoreRequest) -> int:
    """Goes on with a member's data, or prints the plan. The rest is as for galera_restore.run."""
    begun = _begun(cluster, request)
    if begun and begun.source and not request.source:
        request = replace(request, source=begun.source, dead=request.dead or begun.out)
    members = galera_members.look(cluster, request.what, request.dead)
    now = datetime.now(UTC)
    _say(survivor_text.found(request.what, members, now))
    try:
        if operation := current(cluster.api):
            require_same(operation, CloudOperation(request.what, RESTORATION), stack)
        source = _source(cluster, members, request, begun)
    except UserError as refusal:
        message = f"{request.what} does not go on:\n{refusal}"
        if not request.plan:
            raise UserError(f"{message}\nNothing was changed.") from None
        _say(message)
        return 3
    others = tuple(each for each in members if not each.problem and each.name != source.name)
    lost = tuple(each for each in members if each.problem)
    going_on = GaleraGoingOn(cluster, stack, request.what, source, others, lost, request.dead)
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
            "--plan`). If it comes back after all, uncordon it: its member takes all data over."
        )
    return 0


def _begun(cluster: LiveCluster, request: RestoreRequest) -> CloudOperation | None:
    """Returns the restoration of this Galera that is under way; None if there is none."""
    found = current(cluster.api)
    return found if found and (found.kind, found.subject) == (RESTORATION, request.what) else None


def _source(
    cluster: LiveCluster, members: Sequence[GaleraMember], request: RestoreRequest, begun: CloudOperation | None
) -> GaleraMember:
    if begun and begun.source and begun.source == request.source:
        for each in members:
            if each.name == begun.source and each.primary:
                return each
    return galera_survivor.chosen(members, request.source, request.dead, _signs(cluster, request.dead))


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
