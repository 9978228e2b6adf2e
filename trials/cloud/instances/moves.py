"""Instances that move to another compute: while they run, and while they are stopped, also to a new size."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

from trials.cloud.instances.pings import Pinging
from trials.cloud.instances.steps import step, until
from trials.cloud.instances.tenant import LIMIT, TRIAL, Tenant

LARGER_MI = 224
"""Memory of the flavor to which an instance is resized, in MiB; the first one has 160."""


def live(tenant: Tenant, server: Any, host: str, address: str) -> None:
    """Migrates an instance while it is pinged, and with a TCP connection that has to outlive the migration."""
    with tenant.echo(address) as connection, Pinging(address) as pings:
        _answers(connection, "before")
        step(f"{server.name} is migrated to {host}", _migrate, tenant, server, host)
        step("a TCP connection from before the migration works", _answers, connection, "after")
        connection.terminate()
    print(f"pings during the migration: {pings.result()}", flush=True)


def _migrate(tenant: Tenant, server: Any, host: str) -> None:
    tenant.cloud.compute.live_migrate_server(server, host=host, block_migration="auto")
    until(f"{server.name} runs on {host}", lambda: _runs_on(tenant, server, host), LIMIT)


def _runs_on(tenant: Tenant, server: Any, host: str) -> bool:
    """Raises RuntimeError if the migration has failed: the instance then runs where it was."""
    found = tenant.cloud.compute.get_server(server)
    if found.status == "ACTIVE" and not found.task_state and found.compute_host != host:
        raise RuntimeError(f"{server.name} has not left {found.compute_host}; see the log of its nova-compute")
    return found.status == "ACTIVE" and found.compute_host == host


def _answers(connection: subprocess.Popen[str], line: str) -> None:
    """Raises RuntimeError if a guest does not return a line."""
    if connection.stdin is None or connection.stdout is None:
        raise ValueError("the connection has no pipes")
    connection.stdin.write(f"{line}\n")
    if (found := connection.stdout.readline().strip()) != line:
        raise RuntimeError(f"the guest returned {found!r} for {line!r}")


def stopped(tenant: Tenant, server: Any, address: str) -> None:
    """Moves an instance to another compute while it is stopped, and then to a larger size, each with its disk."""
    compute = tenant.cloud.compute
    mark = "kept on the root disk"
    step("the root disk is written", tenant.answers, address, f"echo {mark} >/kept && sync")
    read = "cat /kept"
    first = compute.get_server(server).compute_host
    step(f"{server.name} is migrated while it is stopped", _move, tenant, server, compute.migrate_server)
    second = _left(tenant, server, first)
    step("its guest answers and has its root disk", tenant.answers, address, read, mark, LIMIT)
    larger = compute.create_flavor(name=f"{TRIAL}-larger", ram=LARGER_MI, vcpus=1, disk=1)

    def resize(each: Any) -> None:
        compute.resize_server(each, larger)

    step(f"{server.name} is resized", _move, tenant, server, resize)
    _left(tenant, server, second)
    total = "awk '/MemTotal/ {print int($2 / 1024)}' /proc/meminfo"
    found = step("its guest answers after the resize", tenant.answers, address, f"{read}; echo; {total}", mark, LIMIT)
    if int(found.split()[-1]) <= LARGER_MI / 2 + 40:
        raise RuntimeError(f"{server.name} was resized to {LARGER_MI} MiB and has {found.split()[-1]}")


def _move(tenant: Tenant, server: Any, ask: Callable[[Any], Any]) -> None:
    """Asks for a migration or a resize, and confirms it."""
    compute = tenant.cloud.compute
    ask(server)
    compute.wait_for_server(server, status="VERIFY_RESIZE", failures=["ERROR"], wait=LIMIT)
    compute.confirm_server_resize(server)
    compute.wait_for_server(server, status="ACTIVE", failures=["ERROR"], wait=LIMIT)


def _left(tenant: Tenant, server: Any, host: str) -> str:
    """Returns the compute of an instance. Raises RuntimeError if it is `host`."""
    found = tenant.cloud.compute.get_server(server).compute_host
    if found == host:
        raise RuntimeError(f"{server.name} has not left {host}")
    return found
