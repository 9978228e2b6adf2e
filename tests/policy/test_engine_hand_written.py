"""A hand-written stack is evaluated by its resources, on the real engine."""

from __future__ import annotations

from pathlib import Path

from tests.policy import echo
from tests.policy.conftest import Previews

PROGRAM = Path(__file__).resolve().parent / "hand_written"

SEVERAL_TOGETHER = {
    "one-instance-per-node",
    "one-member-per-server",
    "quorum-survives-host",
    "quorum-has-budget",
    "members-find-each-other",
    "stateful-keeps-data",
    "members-request-resources",
}
"""What two replicas of a database or a queue break that may share a server."""

BROKEN = {
    "db": {*SEVERAL_TOGETHER, "galera-size", "galera-keeps-quorum", "images-pinned", "network-policy-admits-members"},
    "queue": {
        *SEVERAL_TOGETHER,
        "rabbitmq-size",
        "rabbitmq-pauses-minority",
        "rabbitmq-quorum-queues",
        "images-pinned",
    },
    "website": {"images-pinned"},
    "debug": {"images-pinned", "no-clear-secrets", "host-access-where-needed"},
    "creds": set[str](),
    "app": set[str](),
    "settings": set[str](),
    "broker": {
        "one-instance-per-node",
        "one-member-per-server",
        "quorum-survives-host",
        "quorum-has-budget",
        "rabbitmq-size",
        "rabbitmq-quorum-queues",
        "images-pinned",
    },
    "kafka": {"resource-is-known"},
    "scaler": {"autoscaler-keeps-members"},
    "closed": set[str](),
    "group": set[str](),
    "group:default/inside": {"images-pinned", "no-floating-tag"},
    "empty": {"resource-is-known"},
    "mirror": {"images-pinned", "no-floating-tag"},
    "vm": {"resource-is-known", "hypervisor-known"},
    "vm-with-care": {"resource-is-known"},
    "restart": {"command-asks-quorum", "commands-one-machine-at-a-time"},
    "restart-too": {"commands-one-machine-at-a-time"},
    "upgrade": {"command-asks-quorum", "commands-one-machine-at-a-time", "upgrade-after-backup"},
    "look": set[str](),
    "roll": {"command-asks-quorum", "commands-one-machine-at-a-time"},
    "wipe": {"command-asks-quorum", "commands-one-machine-at-a-time"},
    "cut": {"command-asks-quorum", "commands-one-machine-at-a-time"},
    "fetched": {"command-asks-quorum", "commands-one-machine-at-a-time"},
    "script": set[str](),
    "note": set[str](),
    "login": {"no-clear-secrets"},
}
"""Rules that each resource of the program breaks."""


def test_every_fault_is_found(preview: Previews) -> None:
    with echo.serving("command", "libvirt") as providers:
        result = preview([], None, program=PROGRAM, PULUMI_DEBUG_PROVIDERS=providers)
    assert result.code != 0
    violations = result.violations().items()
    found = {name: {rule.rpartition(" ")[2] for rule, names in violations if name in names} for name in BROKEN}
    assert found == BROKEN, result.output
    assert "losing physical host host1 can take 2 of 2 members" in result.output
    assert "command fetched: a shell reads a text that is not part of the stack" in result.output
    assert "hunter2" not in result.output
