"""`quorate restore mysqld`: replaces the data of a Galera by a backup in the cluster, or a copy in an object store.

After its majority was lost for good, it goes on with the data of a member instead (survivor_restore.py).
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from cluster.api import ApiError, Unreachable
from commands.live import backup_copies, connection, survivor_restore
from commands.live.restore_request import RestoreRequest
from commands.stack import ValidStack
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT, wiring
from openstack.projects.mariadb import saved_member
from operations.actions import of_plan
from operations.cloud_pods import pods
from operations.live_cluster import LiveCluster
from operations.living.cloud import read_quorum
from operations.operation_lease import RESTORATION, current
from operations.restoration import galera_source, galera_text
from operations.restoration.galera_restoration import GaleraRestoration
from operations.restoration.galera_source import GaleraSource, require_whole
from text.quoting import printable


def run(root: Path, found: ValidStack, request: RestoreRequest) -> int:
    """Restores a Galera of a stack, or prints the plan.

    Returns 0 if it is done, or with `plan` if it can be; 3 with `plan` if it cannot. Raises
    UserError with why it is not done, or why the run has stopped.
    """
    members = tuple(each.partition(".")[0] for each in wiring(found.plan, ENVIRONMENT).members(request.what))
    source = None if request.source in members else galera_source.named(request.what, request.source)
    if source and request.source and request.dead:
        raise UserError(f"--dead is for members that are lost, and {request.source} is a backup: name only one.")
    cluster = connection.connect(root, found)
    try:
        if source is None or survivor_restore.is_meant(cluster, request, members):
            return survivor_restore.run(cluster, found.name, request)
        return _restore(_restoration(root, found, cluster, source), request)
    except (ApiError, Unreachable) as error:
        raise UserError(f"The run has stopped: {error}\nThe same command goes on where it stopped.") from None


def _restoration(root: Path, found: ValidStack, cluster: LiveCluster, source: GaleraSource) -> GaleraRestoration:
    source = _complete(root, found, cluster, source)
    actions = {each.name: each for each in of_plan(found.plan)}
    around = wiring(found.plan, ENVIRONMENT)
    members = around.members(source.galera)
    return GaleraRestoration(
        cluster,
        found.name,
        source,
        members,
        restored=saved_member(around, source.galera).partition(".")[0],
        restores=actions[f"{source.galera}-restore"],
        tests=actions[f"{source.galera}-backup-test"],
        fetch=partial(fetched, root, found, source.written, members),
    )


def _complete(root: Path, found: ValidStack, cluster: LiveCluster, source: GaleraSource) -> GaleraSource:
    """Returns the source with the time of a copy; that of the restoration that was begun if none was named."""
    begun = current(cluster.api)
    if not source.written and begun and (begun.kind, begun.subject) == (RESTORATION, source.galera):
        source = galera_source.named(source.galera, begun.source)
    if not source.is_copy or source.time:
        return source
    with backup_copies.opened(root, found) as store:
        return galera_source.named(source.galera, backup_copies.chosen(store.names(), source.written))


def _restore(restoration: GaleraRestoration, request: RestoreRequest) -> int:
    cluster, galera, stack = restoration.cluster, restoration.galera, restoration.stack
    _say(galera_text.found(read_quorum(cluster, galera, pods(cluster, galera))))
    try:
        _say(galera_text.plan(restoration, datetime.now(UTC)))
    except UserError as refusal:
        if not request.plan:
            raise
        _say(str(refusal))
        return 3
    if request.plan:
        return 0
    if request.confirm != stack:
        raise UserError(f"Nothing was changed. To do this, add --confirm {stack}.")
    restoration.run(_say)
    _say(f"{galera} of {stack} runs with {len(restoration.members)} members and the restored data.")
    return 0


def fetched(root: Path, found: ValidStack, name: str, members: tuple[str, ...]) -> Path:
    """Returns the directory of a copy, which is fetched unless it is there and whole. Raises UserError."""
    target = backup_copies.directory_of(root, found.name, name)
    backup = target / name.rpartition("/")[2]
    if backup.exists():
        try:
            require_whole(backup, members)
        except UserError:
            shutil.rmtree(backup)
    if not backup.exists():
        with backup_copies.opened(root, found) as store:
            store.fetch(name, target)
    require_whole(backup, members)
    return backup


def _say(message: str) -> None:
    print(printable(message.rstrip("\n")), flush=True)
