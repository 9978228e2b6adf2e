"""Why a machine is not replaced: parts that are not built, and quorums that would lose their majority."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from blueprint.plan.nodes import Node
from blueprint.plan.plan import Plan
from blueprint.stackfile.inventory import is_made
from contract import MASTER_POOL
from operations.living.cloud import LivingCloud
from operations.replacement.dead_machine import DeadMachine

STARTS_EMPTY = "opensearch"
"""The kind of quorum whose only member may come back with an empty disk: it keeps logs, which no service needs."""
FORGETS = "galera"
"""The kind of quorum that counts the members of its last primary component only, such as one that goes on alone."""
NOT_BUILT = "docs/not-built.md has the steps by hand"


def not_built(plan: Plan, node: Node) -> Iterator[str]:
    """Yields the parts of a machine's replacement that are not built."""
    if any(host.name == node.name and host.vms for host in plan.hosts):
        yield f"{node.name} is a virt host, whose virtual machines are lost with it; {NOT_BUILT}."
    if is_made(node.machine, plan.settings):
        yield f"{node.name} is a virtual machine that Quorate makes, with a disk on {node.server}; {NOT_BUILT}."
    if plan.settings.cluster and MASTER_POOL in node.roles:
        yield f"{node.name} is a master of a cluster that Quorate has not set up: its own tool replaces it."


def unsafe(cloud: LivingCloud, dead: DeadMachine, quorums: Sequence[str] = ()) -> list[str]:
    """Returns why the machine's members may not be removed now, each as text, with what to do first.

    `quorums`: only these; () for all that have a member on the machine.
    """
    lost = {quorum: member for quorum, member in dead.all_members if not quorums or quorum in quorums}
    return [*cloud.problems, *(each for name, member in lost.items() for each in majority_without(cloud, name, member))]


def majority_without(cloud: LivingCloud, quorum: str, member: str) -> Iterator[str]:
    """Yields why a quorum would have no majority if a member is lost, with what to do first; nothing if it has one."""
    found = next((each for each in cloud.quorums if each.name == quorum), None)
    if found and found.kind == STARTS_EMPTY and [each.name for each in found.members] == [member]:
        return  # nothing of it is left to protect
    if found is None or found.serves is None:
        yield f"{quorum} could not be asked; make one of its members answer first"
        return
    if found.kind == FORGETS and found.serves and not any(each.counts for each in found.members if each.name == member):
        return  # it has left, and the others do not count it
    others = [each for each in found.voters if each.name != member]
    counting = sum(each.counts for each in others)
    if not found.serves or counting < found.needed:
        away = ", ".join(f"{each.name} ({each.says})" for each in others if not each.counts)
        beside = f"; lost beside it: {away}. Bring back one of these first" if away else ". Bring it back first"
        yield (
            f"{quorum} needs {found.needed} of {len(found.voters)} members, and {counting} take part without "
            f"{member}{beside} (docs/on-call.md, What to do)"
        )
