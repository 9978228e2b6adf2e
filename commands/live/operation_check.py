"""Stops `up` while an operation has a server or a machine out of the cloud: `up` may restart another member."""

from __future__ import annotations

from pathlib import Path

from commands.live import connection
from commands.stack import ValidStack
from console.errors import UserError
from operations import under_way
from operations.live_cluster import LiveCluster
from operations.operation_lease import MAINTENANCE, RESTORATION


def require_none(root: Path, found: ValidStack, cluster: LiveCluster | None) -> None:
    """Raises UserError if a maintenance or a restoration is under way, or if a process works on another operation.

    A replacement whose machine is removed needs `up`, which sets the new machine up. Prints why the question has no
    answer if there is none: `up` may be the repair. `cluster`: None if it is not connected yet.
    """
    if found.is_rendered or not (cluster := cluster or _own_cluster(root, found)):
        return
    known = under_way.read(cluster.api, found.name)
    if known.problem:
        print(f"Not asked: {known.problem}", flush=True)
    operation = known.operation
    if not operation:
        return
    began = operation.sentence()
    if operation.kind in (MAINTENANCE, RESTORATION):
        raise UserError(
            f"{began} `up` may restart another member of a quorum meanwhile. Nothing was changed.\n"
            f"End it with `{known.end}`, then run `up` again."
        )
    if known.worker:
        raise UserError(
            f"{began} A process of {known.worker} works on it. Nothing was changed. Wait until it has ended."
        )


def _own_cluster(root: Path, found: ValidStack) -> LiveCluster | None:
    """Returns the cluster of machines that Quorate set up; None before the first `up`, and if it does not answer."""
    if not connection.own_kubeconfig(root, found.name).is_file():
        return None
    try:
        return connection.connect(root, found)
    except UserError as error:
        print(f"Not asked whether an operation is under way. {error}", flush=True)
        return None
