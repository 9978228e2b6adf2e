"""Commands on machines: quorum checks, order and backups."""

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
    title="A command that stops a quorum member checks the quorum first",
    severity=Severity.CRITICAL,
    rationale="A restart is harmless while all other members are up, and stops the quorum while one of them is down.",
    sources=(
        Source("004", "5.5.9", "check that quorum for etcd cluster is satisfied"),
        Source("project", "Quorums", "a command that stops a quorum member checks the quorum first"),
    ),
    remediation="Check first and abort on failure: `etcdctl endpoint health --cluster`, `rabbitmq-diagnostics "
    "check_if_node_is_quorum_critical`, `ceph mon ok-to-stop`, wsrep_cluster_status, `kubectl wait`; or remove the "
    "node from service with `kubectl drain`, which respects the disruption budgets.",
    subjects=_commands,
    applies=lambda _facts, command: bool(command.disrupts),
    not_applicable_reason=NO_COMMAND,
    since="0.2.0",
)
def command_asks_quorum(_facts: Facts, command: Command) -> Iterator[Problem]:
    """The check must be in the same command; the result of an earlier command may be out of date."""
    if not command.asks:
        yield Problem(f"{command.disrupts} without a quorum check", "a check that can abort the command")


@rule(
    id="commands-one-machine-at-a-time",
    title="Commands that stop quorum members run on one machine at a time",
    severity=Severity.CRITICAL,
    rationale="Two members that restart at the same time are two members down at once.",
    sources=(
        Source(
            "004",
            "5.5.10",
            "nodes has to be updated one-by-one, without restarting services on all nodes simultaneously",
        ),
    ),
    remediation="Run each command on one machine, and make it depend on the previous machine's command (depends_on).",
    subjects=_commands,
    applies=lambda _facts, command: bool(command.disrupts),
    not_applicable_reason=NO_COMMAND,
    since="0.2.0",
)
def commands_one_machine_at_a_time(facts: Facts, command: Command) -> Iterator[Problem]:
    """Commands on the same machine may run in any order."""
    if command.several:
        yield Problem(f"{command.disrupts} on several machines", "one machine per command")
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
        yield Problem(f"can run at the same time as {join_names(unordered)}", "an order set with depends_on")


@rule(
    id="upgrade-after-backup",
    title="Kubernetes and etcd upgrades run after an etcd snapshot",
    severity=Severity.HIGH,
    rationale="An upgrade changes etcd's data. Some upgrades can be undone only from a snapshot.",
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
    """Looks in all commands that it depends on, directly or indirectly."""
    earlier = before(command, {resource.urn: resource for resource in facts.resources})
    others = (other for other in _commands(facts) if other.resource.urn in earlier)
    if not command.backs_up and not any(other.backs_up for other in others):
        yield Problem("upgrades without an earlier etcd snapshot", "one in this command or in one it depends on")
