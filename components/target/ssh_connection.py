"""How pulumi-command logs in to machines and becomes root there."""

from __future__ import annotations

import pulumi
from pulumi_command import remote

from blueprint.stackfile.settings import Ssh


def connection(
    address: str, host_key: pulumi.Input[str] | None, ssh: Ssh, attempts: int | None = None
) -> remote.ConnectionArgs:
    """Returns the connection to a machine, through the jump host if there is one.

    `attempts`: failed ones after which it fails; None for the provider's default.
    """
    jump = ssh.jump_host
    return remote.ConnectionArgs(
        host=address,
        port=ssh.port,
        user=ssh.user,
        host_key=host_key,
        dial_error_limit=attempts,
        proxy=remote.ProxyConnectionArgs(
            host=jump.host, port=jump.port, user=jump.user, host_key=jump.host_key, dial_error_limit=attempts
        )
        if jump
        else None,
    )


def as_root(ssh: Ssh, *words: str) -> list[str]:
    """Returns the words of a command that runs as root, for the user who logs in."""
    return [*words] if ssh.user == "root" else ["sudo", "-n", *words]
