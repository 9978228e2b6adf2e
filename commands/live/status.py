"""`quorate status`: the living quorums of a stack, and which server may be taken away now. Read-only."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from cluster.api import ApiError, Unreachable
from commands import stack
from commands.live import connection
from commands.stack import ValidStack
from console.errors import UserError
from files import atomic
from operations import under_way
from operations.living import firing, node_stats, status_page, status_text
from operations.living.cloud import LivingCloud, read_cloud
from operations.living.firing import LivingAlerts
from operations.living.leaving import leaves, servers_of
from operations.living.node_stats import LivingNodes
from operations.under_way import NO_OPERATION, UnderWay
from text.quoting import printable
from text.suggestion import did_you_mean

PAUSE = 5.0
"""Seconds between two readings of `--watch`. Project figure: each starts RabbitMQ's and Ceph's command lines once."""
STATS_PAUSE = 60.0
"""Seconds between two readings of disks and clocks by `--watch`. Project figure: those of 1,000 nodes are 50 MB."""


def show(  # noqa: PLR0913 - as many options
    root: Path,
    name: str,
    *,
    as_json: bool = False,
    watch: bool = False,
    ask: str = "",
    page: Path | None = None,
) -> int:
    """Prints the state of all quorums, or whether the server `ask` may go. `page`: an HTML file to write too.

    Returns 0 if every quorum is whole, 3 if one has lost a member, 1 if one is lost or was not asked; with `ask`, 0 if
    the server may go, 3 if not, 1 if the cluster does not answer. Raises UserError if the stack is not live, or has no
    such server.
    """
    found = stack.load(root, name)
    if found.is_rendered:
        raise UserError(f"{name} has the target {found.target}: it has no cluster whose quorums could be asked.")
    if ask and page:
        raise UserError("A page shows all servers: leave out --page, or --ask.")
    if ask:
        return _answer(root, found, ask, as_json=as_json)
    stats, until = None, 0.0
    while True:
        if time.monotonic() >= until:
            stats, until = None, time.monotonic() + STATS_PAUSE
        cloud, operation = _read(root, found, stats)
        stats = cloud.stats if cloud.stats.asked else None
        going = leaves(cloud)
        if page:
            _write(page, status_page.write(name, cloud, going, operation))
        if as_json:
            print(json.dumps(status_text.document(cloud, going, operation), indent=2), flush=True)
        else:
            clear = "\033[H\033[2J" if watch and sys.stdout.isatty() else ""
            now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
            print(f"{clear}{name}, {now}\n{printable(status_text.shown(cloud, going, operation))}", end="", flush=True)
        if not watch:
            return status_text.exit_code(cloud)
        time.sleep(PAUSE)


def _write(page: Path, text: str) -> None:
    try:
        atomic.write(page, text)
    except OSError as error:
        raise UserError(f"{page} was not written: {error.strerror}. Name another file with --page.") from None


def _answer(root: Path, found: ValidStack, ask: str, *, as_json: bool) -> int:
    servers = servers_of(found.plan)
    if ask not in servers:
        if host := next((server for server, machines in servers.items() if ask in machines), ""):
            raise UserError(f"{ask} is a virtual machine of {host}: ask for the server, --ask {host}.")
        raise UserError(f"{found.name} has no server {ask}{did_you_mean(ask, sorted(servers))}.")
    cloud, _ = _read(root, found, LivingNodes(), LivingAlerts())
    asked = next(each for each in leaves(cloud) if each.server == ask)
    if as_json:
        document = status_text.document(cloud, [asked])
        print(json.dumps(document["servers"][0], indent=2))
    elif asked.may_go:
        print(printable("; ".join((f"{ask} may go now", *asked.effects))))
    else:
        print(printable(f"{ask} may not go now: {'; '.join(asked.reasons)}"))
    if cloud.problems:
        return 1
    return 0 if asked.may_go else 3


def _read(
    root: Path, found: ValidStack, stats: LivingNodes | None, alerts: LivingAlerts | None = None
) -> tuple[LivingCloud, UnderWay]:
    """Reads the cloud, and the operation under way.

    `stats`: the disks and clocks of all nodes, if they are not read. `alerts`: those that fire, if they are not read.
    If no API server answers, only etcd is asked, which may be the reason.
    """
    try:
        cluster = connection.connect(root, found)
    except UserError as error:
        return read_cloud(found.plan, None, str(error)), NO_OPERATION
    try:
        with ThreadPoolExecutor(2) as beside:
            of_nodes = beside.submit(node_stats.read, cluster.api, () if stats else cluster.nodes)
            fire = beside.submit(lambda: alerts or firing.read(cluster.api, found.plan))
            cloud = read_cloud(found.plan, cluster)
        stats, alerts = stats or of_nodes.result(), fire.result()
        return replace(cloud, stats=stats, alerts=alerts), under_way.read(cluster.api, found.name)
    except (ApiError, Unreachable) as error:
        problem = f"The cluster of context {cluster.context} does not answer: {error}"
        return read_cloud(found.plan, None, problem), NO_OPERATION
