"""Commands on machines: what stops a member asks the quorum first, one machine after the other."""

from __future__ import annotations

from collections.abc import Iterator

from policy.facts.shell import Command, before, commands
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import Problem, Source, rule
from policy.wording import join_names

NO_COMMAND = "no command of the stack stops, restarts, drains or upgrades what a quorum's member stands on"


def _commands(facts: Facts) -> tuple[Command, ...]:
    return commands(facts.resources)


@rule(
    id="command-asks-quorum",
    title="A command that stops a member asks its quorum first",
    severity=Severity.CRITICAL,
    rationale="A restart is harmless while all others are there, and the end of the quorum while one is missing. The "
    "command is the last to know.",
    sources=(
        Source("004", "5.5.9", "check that quorum for etcd cluster is satisfied"),
        Source("004", "5.5.9", "disable scheduling to the minion being deleted"),
        Source(
            "004",
            "5.5.10",
            "Kubernetes has to be notified that Kubelet is under maintenance, prior to restarting Kubelet",
        ),
        Source("project", "Quorums", "a command that stops a quorum member checks the quorum first"),
    ),
    remediation="Ask before, and stop where the answer is no: `etcdctl endpoint health --cluster`, "
    "`rabbitmq-diagnostics check_if_node_is_quorum_critical`, `ceph mon ok-to-stop`, wsrep_cluster_status, "
    "`kubectl wait`; or take the node out with `kubectl drain`, which keeps to the budgets.",
    subjects=_commands,
    applies=lambda _facts, command: bool(command.disrupts),
    not_applicable_reason=NO_COMMAND,
    since="0.2.0",
)
def command_asks_quorum(_facts: Facts, command: Command) -> Iterator[Problem]:
    """In the same command: an earlier one's answer is of an earlier time."""
    if not command.asks:
        yield Problem(f"it {command.disrupts} and asks no quorum", "a question whose answer can stop it")


@rule(
    id="commands-one-machine-at-a-time",
    title="Commands that stop members run on one machine after the other",
    severity=Severity.CRITICAL,
    rationale="The engine runs whatever does not depend on each other at the same time. Two restarts without an order "
    "are two members down at once.",
    sources=(
        Source(
            "004",
            "5.5.10",
            "nodes has to be updated one-by-one, without restarting services on all nodes simultaneously",
        ),
    ),
    remediation="Give each command depends_on the one of the machine before, and one machine to each command.",
    subjects=_commands,
    applies=lambda _facts, command: bool(command.disrupts),
    not_applicable_reason=NO_COMMAND,
    since="0.2.0",
)
def commands_one_machine_at_a_time(facts: Facts, command: Command) -> Iterator[Problem]:
    """Two on the same machine may be as they like."""
    if command.several:
        yield Problem(f"it {command.disrupts} on several machines by itself", "one machine to each command")
    resources = {resource.urn: resource for resource in facts.resources}
    earlier = before(command, resources)
    unordered = {
        other.resource.name
        for other in _commands(facts)
        if other.resource is not command.resource
        and other.disrupts
        and (other.host != command.host or not command.host)
        and other.resource.urn not in earlier
        and command.resource.urn not in before(other, resources)
    }
    if unordered:
        yield Problem(f"it may run at the same time as {join_names(unordered)}", "an order, by depends_on")


@rule(
    id="upgrade-after-backup",
    title="A command that upgrades Kubernetes or etcd comes after a backup",
    severity=Severity.HIGH,
    rationale="An upgrade changes what etcd keeps, and some have no way back but the copy from before.",
    sources=(
        Source(
            "004",
            "5.5.10",
            "first action which has to be run prior to update is backup of Kubernetes related stateful services (etcd)",
        ),
        Source("004", "5.5.10", "some of the operations are impossible to rollback"),
    ),
    remediation="Run `etcdctl snapshot save` first, in the same command or in one that it depends on.",
    subjects=_commands,
    applies=lambda _facts, command: command.upgrades,
    not_applicable_reason="no command of the stack upgrades Kubernetes or etcd",
    since="0.2.0",
)
def upgrade_after_backup(facts: Facts, command: Command) -> Iterator[Problem]:
    """In what it depends on, however far back."""
    earlier = before(command, {resource.urn: resource for resource in facts.resources})
    others = (other for other in _commands(facts) if other.resource.urn in earlier)
    if not command.backs_up and not any(other.backs_up for other in others):
        yield Problem("it upgrades without a backup before it", "a snapshot of etcd")
