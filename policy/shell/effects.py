"""Detects actions of a shell script that may stop quorum members or lose their data, by the programs that it runs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass

from policy.shell import effects_cluster, effects_data, effects_machine, effects_network
from policy.shell.arguments import arguments
from policy.shell.calls import Call, Write
from policy.shell.checks import ETCDCTL_VALUED, KUBECTL_VALUED, is_past_budgets
from policy.shell.member_traces import is_disk, is_kubernetes, is_state
from policy.shell.script import Script
from policy.shell.syntax import Unreadable, is_known

_READERS = {
    **effects_machine.READERS,
    **effects_cluster.READERS,
    **effects_data.READERS,
    **effects_network.READERS,
}
_VERB = re.compile(r"[a-z]+(-[a-z]+)*")
_SYSRQ = "/proc/sysrq-trigger"


@dataclass(frozen=True)
class Effect:
    """An action of a shell script that may stop a quorum member or lose its data."""

    does: str
    """The action, in words that complete "the command …"."""
    checked: bool
    """Whether a quorum check has succeeded before the action on every path, or Kubernetes enforces budgets for it."""
    machines: frozenset[str]
    """The affected machines, as the script names them."""
    by: str = ""
    """The program and its verb, such as `kubectl delete`, or the file that is written; never an option or a value."""

    @property
    def words(self) -> str:
        """The action with what does it, for messages."""
        return f"{self.does} ({self.by})" if self.by else self.does


def effects(script: Script) -> list[Effect]:
    """Returns a script's effects on quorum members: of its calls in order, then of the files that it writes.

    For a call whose effect is not known, adds the reason to `script.unread`.
    """
    found: list[Effect] = []
    for call in script.calls:
        try:
            does = _does(call, script)
        except Unreadable as reason:
            script.unread.append(str(reason))
            continue
        if does:
            found.append(Effect(does, call.checked or _evicts(call), _machines(call), _name(call)))
    found += _written(script.writes)
    return found


def _does(call: Call, script: Script) -> str:
    program = call.program
    if call.words[0].startswith("/etc/init.d/"):
        return effects_machine.READERS["service"]([program, *call.words[1:]])
    reader = _READERS.get("mkfs" if program.startswith("mkfs.") else program)
    words = _absolute(call) if program in effects_data.READERS else call.words[1:]
    does = reader(words) if reader else ""
    if does == effects_network.CUTS and not effects_network.names_port(call.words):
        # A default policy that rejects all packets is harmless if the script has opened the members' ports before.
        opened = any(effects_network.accepts(each.words) for each in script.calls[: call.earlier])
        return "" if opened and program not in ("ip", "tc", "nmcli", "ifdown", "ifconfig", "networkctl") else does
    if does == effects_data.ERASES and program.startswith("mk"):
        # `blkid DISK || mkfs DISK` formats empty disks only.
        guarded = any(each.program == "blkid" for each in script.calls[: call.earlier])
        return "" if guarded else does
    return does


def _absolute(call: Call) -> list[str]:
    """Returns the call's arguments with relative paths made absolute."""
    return [
        word if word.startswith(("-", "/")) or ":" in word or "=" in word else posixpath.join(call.directory, word)
        for word in call.words[1:]
    ]


def _name(call: Call) -> str:
    """Returns the program and the verb after it, which is a word of small letters: values may be secrets."""
    verb = next((word for word in call.words[1:2] if is_known(word) and _VERB.fullmatch(word)), "")
    return f"{call.program} {verb}".rstrip()


def _written(writes: list[Write]) -> Iterator[Effect]:
    for write in writes:
        if write.by not in ("", "tee"):  # what programs do to members' data is an effect of their calls
            continue
        if write.path == _SYSRQ:
            yield Effect(effects_machine.HALTS, write.checked, frozenset({write.host}), write.path)
        elif is_disk(write.path):
            yield Effect(effects_data.ERASES, write.checked, frozenset({write.host}), write.path)
        elif is_state(write.path):
            yield Effect(effects_cluster.DELETES, write.checked, frozenset({write.host}), write.path)


def _evicts(call: Call) -> bool:
    """Whether the call is a `kubectl drain` that respects disruption budgets."""
    if call.program not in ("kubectl", "oc"):
        return False
    given = arguments(call.words[1:], KUBECTL_VALUED)
    return given.verb == "drain" and not is_past_budgets(given)


def _machines(call: Call) -> frozenset[str]:
    """Returns the machines that a call affects: drained or deleted nodes, a virtual machine, or the call's own host."""
    words = call.words[1:]
    if call.program == "virsh":
        return frozenset(f"{call.host}/{each}" for each in arguments(words, ("-c", "--connect")).operands[1:2])
    if call.program in ("kubectl", "oc"):
        given = arguments(words, KUBECTL_VALUED)
        if given.verb == "drain":
            return frozenset(given.operands[1:])
        if given.verb == "delete" and given.operands[1:2] in (("node",), ("nodes",), ("no",)):
            return frozenset(given.operands[2:])
    return frozenset({call.host})


def upgrades(script: Script) -> bool:
    """Whether the script changes the version of Kubernetes or etcd."""
    for call in script.calls:
        reader = _READERS.get(call.program)
        if (
            call.program == "kubeadm"
            and call.words[1:2] == ("upgrade",)
            and call.words[2:3] not in (("plan",), ("diff",))
        ):
            return True
        try:
            changes = bool(reader and reader(call.words[1:]) == effects_machine.UPGRADES)
        except Unreadable:
            continue
        names = arguments(call.words[1:]).operands[1:]
        if changes and (call.program == "kubeadm" or not names or any(map(is_kubernetes, names))):
            return True
    return False


def saves_etcd(script: Script) -> bool:
    """Whether the script saves a snapshot of etcd's data."""
    return any(
        each.program in ("etcdctl", "etcdutl")
        and arguments(each.words[1:], ETCDCTL_VALUED).operands[:2] == ("snapshot", "save")
        for each in script.calls
    )
