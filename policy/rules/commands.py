"""Commands on machines, and the steps and restarts of Machines: quorum checks, order and backups.

A Machine component states which quorums its steps and restarts disrupt. The effects of a command are derived from its
shell text, which is parsed and never run, and from the scripts that it calls.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from policy.facts.kubernetes.node import MACHINE_TYPES
from policy.facts.kubernetes.pod_commands import PodCommands, pod_commands
from policy.facts.kubernetes.workload import WORKLOAD_TYPES
from policy.facts.machines.host_commands import LOCAL, PLACING, Command
from policy.facts.machines.libvirt import CLOUD_INIT
from policy.facts.machines.machine import MachineFacts
from policy.facts.machines.run_later import RunLater, run_later
from policy.facts.stack import Facts
from policy.findings import Severity
from policy.rule import RuleProblem, RuleSource, rule
from policy.shell import effects_cluster, effects_data, effects_machine
from policy.shell.syntax import Unreadable
from policy.wording import join_names

_ENDS = (
    *(effects_cluster.DELETES_WORKLOAD, effects_cluster.DELETES, effects_cluster.SPLITS, effects_data.ERASES),
    effects_machine.DRIFTS,
)
"""Effects that may take all members or their data, for which a check of the members that stand is not a cure."""
_NO_SUCH = "a change of the resource in the stack, one member at a time; a check before it does not bring data back"
NO_COMMAND = "no command or machine of the stack stops, restarts, drains or upgrades a quorum member or its node"


def _subjects(facts: Facts) -> tuple[Command | MachineFacts, ...]:
    return (*facts.commands, *facts.machines)


def _done(subject: Command | MachineFacts) -> str:
    """Returns in words how a command or a Machine disrupts a quorum, for messages."""
    return subject.disrupts if isinstance(subject, Command) else f"disrupts {join_names(subject.disrupts)}"


@rule(
    id="command-asks-quorum",
    title="A command or machine's step that stops a quorum member checks the quorum first",
    severity=Severity.CRITICAL,
    rationale="Restarting a member is harmless while all other members are up. While another member of three is down, "
    "it stops the quorum.",
    sources=(
        RuleSource("004", "5.5.9", 5),
        RuleSource("project", "Quorums", 2),
    ),
    remediation="Check first and abort on failure: `etcdctl endpoint health --cluster`, `rabbitmq-diagnostics "
    "check_if_node_is_quorum_critical`, `ceph mon ok-to-stop`, wsrep_cluster_status, `kubectl wait`; or remove the "
    "node from service with `kubectl drain`, which respects the disruption budgets. A Machine states the check of each "
    "quorum in quorumChecks.",
    subjects=lambda facts: (*_subjects(facts), *pod_commands(facts.workloads), *run_later(facts.hosts)),
    applies=lambda _facts, subject: bool(subject.disrupts),
    not_applicable_reason=NO_COMMAND,
    reads_machine_files=True,
    since="0.2.0",
    single=(*PLACING, LOCAL, CLOUD_INIT, *MACHINE_TYPES, *WORKLOAD_TYPES),
)
def command_asks_quorum(
    _facts: Facts, subject: Command | MachineFacts | PodCommands | RunLater
) -> Iterator[RuleProblem]:
    """Requires the quorum check in the same command: the result of a check in an earlier command may be outdated."""
    if not isinstance(subject, MachineFacts):
        if not (isinstance(subject, Command) and subject.asks):
            ends = any(each in subject.disrupts for each in _ENDS)
            cure = _NO_SUCH if ends else "a check that can abort the command"
            yield RuleProblem(f"{subject.disrupts} without a quorum check", cure)
        return
    unchecked = [name for name in subject.disrupts if not subject.quorum_checks.get(name, "").strip()]
    if unchecked:
        yield RuleProblem(f"disrupts {join_names(unchecked)} without a quorum check", "a check in quorumChecks")


@rule(
    id="commands-one-machine-at-a-time",
    title="Commands that stop quorum members run on one machine at a time",
    severity=Severity.CRITICAL,
    rationale="If two members restart at the same time, both are down, and a quorum of three has no majority.",
    sources=(RuleSource("004", "5.5.10", 15),),
    remediation="Let each command act on one machine only, and set depends_on so that commands on different machines "
    "run one after the other. Order Machine resources with members of the same quorum by depends_on too.",
    subjects=_subjects,
    applies=lambda _facts, subject: bool(subject.disrupts),
    not_applicable_reason=NO_COMMAND,
    reads_machine_files=True,
    since="0.2.0",
)
def commands_one_machine_at_a_time(facts: Facts, subject: Command | MachineFacts) -> Iterator[RuleProblem]:
    """Requires an order between commands on different machines, and between Machines with members of one quorum."""
    if subject.several:
        yield RuleProblem(f"{_done(subject)} on several machines", _ONE_EACH[type(subject)])
    unordered = {
        other.resource.name
        for other in _subjects(facts)
        if other.resource is not subject.resource
        and _is_disruptive(other)
        and _needs_order(subject, other)
        and not facts.order.is_before(other.resource, subject.resource)
        and not facts.order.is_before(subject.resource, other.resource)
    }
    if unordered:
        yield RuleProblem(f"can run at the same time as {join_names(unordered)}", "an order set with depends_on")


def _is_disruptive(other: Command | MachineFacts) -> bool:
    """Whether a command or Machine disrupts a quorum. False if a command cannot be parsed; a finding reports that."""
    try:
        return bool(other.disrupts)
    except Unreadable:
        return False


_ONE_EACH: Mapping[type, str] = {Command: "one machine per command", MachineFacts: "one Machine for each member"}


def _needs_order(one: Command | MachineFacts, other: Command | MachineFacts) -> bool:
    """Whether the two commands or Machines could stop two members of one quorum.

    It is not known which quorum a command disrupts, so commands on different machines need an order.
    """
    if isinstance(one, MachineFacts) and isinstance(other, MachineFacts):
        return bool(set(one.disrupts) & set(other.disrupts))
    hosts = [{each.host} if isinstance(each, Command) else {each.node, each.address} for each in (one, other)]
    return not (hosts[0] & hosts[1] - {""})


@rule(
    id="upgrade-after-backup",
    title="Kubernetes and etcd upgrades run after an etcd snapshot",
    severity=Severity.HIGH,
    rationale="An upgrade changes etcd's data. Some upgrades can be undone only from a snapshot.",
    sources=(
        RuleSource("004", "5.5.10", 12),
        RuleSource("004", "5.5.10", 62),
    ),
    remediation="Run `etcdctl snapshot save` first, in the command that upgrades or in a command that it depends on.",
    subjects=lambda facts: facts.commands,
    applies=lambda _facts, command: command.upgrades,
    not_applicable_reason="no command of the stack upgrades Kubernetes or etcd",
    since="0.2.0",
)
def upgrade_after_backup(facts: Facts, command: Command) -> Iterator[RuleProblem]:
    """Looks for a snapshot in the upgrading command and in all commands that it depends on, directly or indirectly."""
    earlier = (other for other in facts.commands if facts.order.is_before(other.resource, command.resource))
    if not command.backs_up and not any(other.backs_up for other in earlier):
        yield RuleProblem("upgrades without an earlier etcd snapshot", "one in this command or in one it depends on")
