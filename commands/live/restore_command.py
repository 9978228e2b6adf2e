"""`quorate restore`: makes etcd anew of one member's data or of a copy.

galera_restore.py restores a Galera. survivor_restore.py lets one, a RabbitMQ, Ceph's monitors or a database of OVN go
on with what a member has.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from blueprint.plan.plan import Plan
from commands import stack
from commands.live import galera_restore, survivor_restore
from commands.live.machine_shell import machine_shell
from commands.live.restore_request import RestoreRequest
from console.errors import UserError
from openstack.config.wiring import ENVIRONMENT, wiring
from operations.living.cloud import quorums_of
from operations.restoration import etcd_machines, etcd_restoration, etcd_source, restoration_text
from operations.restoration.copy_test import ETCD
from operations.restoration.survivor_programs import PROGRAMS
from operations.root_shell import Shell
from text.quoting import printable
from text.suggestion import did_you_mean


def run(root: Path, stack_name: str, request: RestoreRequest) -> int:
    """Restores etcd, a Galera, a RabbitMQ, Ceph's monitors or a database of OVN of a stack, or prints the plan.

    Returns 0 if it is done, or with `plan` if it can be; 3 with `plan` if it cannot. Raises UserError with why it is
    not done, or why the run has stopped.
    """
    found = stack.load(root, stack_name)
    _require(found.plan, found.is_rendered, stack_name, request)
    if request.what in wiring(found.plan, ENVIRONMENT).galeras:
        return galera_restore.run(root, found, request)
    if request.what != ETCD:
        return survivor_restore.restore_survivor(root, found, request)
    with machine_shell(found.plan) as shell:
        return restore(found.plan, stack_name, request, shell)


def _require(plan: Plan, is_rendered: bool, stack_name: str, request: RestoreRequest) -> None:
    known = (ETCD, *(each.name for each in quorums_of(plan) if each.process in PROGRAMS))
    if request.what not in known:
        advice = did_you_mean(request.what, known) or f": write one of {', '.join(known)}"
        raise UserError(f"{request.what} cannot be restored by this command{advice}.")
    if is_rendered:
        raise UserError(f"{stack_name} is rendered: it has nothing that can be reached. Name a live stack.")
    if request.what != ETCD:
        return
    if plan.settings.cluster or not plan.members:
        raise UserError(f"Quorate has not set up etcd of {stack_name}: the cluster's own tool restores it.")


def restore(plan: Plan, stack_name: str, request: RestoreRequest, shell: Shell) -> int:
    """Restores etcd on the machines of a plan, which `shell` reaches. The rest is as for `run`."""
    machines = etcd_machines.look(plan.members, shell)
    _say(restoration_text.found(machines))
    try:
        source = etcd_source.chosen(machines, request.source, request.dead)
    except UserError as refusal:
        message = f"etcd is not restored:\n{refusal}"
        if not request.plan:
            raise UserError(f"{message}\nNothing was changed.") from None
        _say(message)
        return 3
    members = [each.node for each in machines if each.takes_part and each.name not in request.dead]
    away = {each.name for each in machines} - {node.name for node in members}
    masters = [node for node in plan.masters if node.name not in away]
    steps = tuple(etcd_restoration.steps(source, members, masters))
    _say(restoration_text.plan(source, steps, datetime.now(UTC)))
    if request.plan:
        return 0
    if request.confirm != stack_name:
        raise UserError(f"Nothing was changed. To do this, add --confirm {stack_name}.")
    etcd_restoration.run(steps, shell, _say)
    _say(f"etcd of {stack_name} runs with {len(members)} of {len(plan.members)} members.")
    for name in request.dead:
        _say(
            f"{name} must not start with its old data: before it gets a network again, replace its disk, or remove "
            "/var/lib/etcd/member there. Then `quorate up` makes it a member."
        )
    _say(f"Objects may differ from the stack: run `quorate refresh --stack {stack_name}`, then `quorate up`.")
    return 0


def _say(message: str) -> None:
    print(printable(message.rstrip("\n")), flush=True)
