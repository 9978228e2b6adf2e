"""Commands that a stack runs with pulumi-command, over SSH or on the deployer's machine, and files that it copies.

The effects of a command are derived from its shell text, which is parsed and never run, and from the scripts that it
calls if the stack contains them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from contract import APPLY_DIRECTORY
from files import text_file
from policy.facts.kubernetes.node import is_machine
from policy.facts.machines.cloud_init import CloudInit, cloud_init
from policy.facts.machines.libvirt import CLOUD_INIT
from policy.facts.machines.machine import MachineFacts
from policy.properties import NotKnown, Properties
from policy.resource import Resource
from policy.shell.calls import HERE, Write
from policy.shell.effects import Effect, effects, saves_etcd, upgrades
from policy.shell.effects_cluster import DRAINS
from policy.shell.scope import ShellScope
from policy.shell.script import Script
from policy.shell.syntax import UNKNOWN, Unreadable, is_known
from policy.shell.wrappers import IN_CONTAINERS

REMOTE, LOCAL = "command:remote:Command", "command:local:Command"
COPY_TO_REMOTE, COPY_FILE = "command:remote:CopyToRemote", "command:remote:CopyFile"
PLACING = (COPY_TO_REMOTE, COPY_FILE, REMOTE)
"""Types of resources that place files on machines."""
WORDS = ("create", "update", "delete")
"""Properties of a command resource that contain shell text. Each text runs in a separate shell."""
PLACING_WORDS = ("create", "update")
"""Those of which the files stay on the machine while the command is in the stack."""

_ROOT = Path(__file__).resolve().parents[3]
"""The directory of the Pulumi program. Relative paths of local files start there."""
_APPLY = re.compile(
    rf"(sudo -n )?sh {APPLY_DIRECTORY}/[a-z0-9.-]+/apply"
    r"( --expect [0-9a-f]{64}| --secrets -| --before [a-z0-9-]+| --resource [a-z0-9.-]+)*"
)
_LEAVE = re.compile(rf"(sudo -n )?sh {APPLY_DIRECTORY}/[a-z0-9.-]+/leave( --resource [a-z0-9.-]+)?")
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")


@dataclass(frozen=True)
class PlacedFile:
    """A file that a command, a copy or cloud-init places on a machine."""

    resource: Resource
    path: str
    text: str
    """The file's text. UNKNOWN stands for the text, or for a part of it, that a preview does not know."""
    appended: str | None = None
    """The text that a command appends to the file; None if the file is replaced."""

    def over(self, before: str) -> str:
        """Returns the file's text on a machine that has the text `before` there."""
        return self.text if self.appended is None else before + self.appended


class Hosts:
    """Files that the stack's commands, copies and cloud-init place on machines, by the address of the machine.

    cloud-init data has no address, so its files are listed by host name, or else by the name of the disk.
    """

    def __init__(self, resources: Iterable[Resource]) -> None:
        every = tuple(resources)
        self._machines = [MachineFacts(each) for each in every if is_machine(each)]
        self._resources = tuple(each for each in every if not sets_up_machine(each))

    @cached_property
    def copied(self) -> Mapping[str, tuple[PlacedFile, ...]]:
        """Files that resources of type CopyToRemote or CopyFile place on machines, by the machine's address."""
        found: dict[str, list[PlacedFile]] = defaultdict(list)
        for resource in self._resources:
            if resource.type in (COPY_TO_REMOTE, COPY_FILE):
                props = resource.props
                source = props.at("source") if resource.type == COPY_TO_REMOTE else props.at("localPath")
                found[_host(props)].append(PlacedFile(resource, _text(props.at("remotePath")), _content(source)))
        return {host: tuple(files) for host, files in found.items()}

    @cached_property
    def placed(self) -> Mapping[str, tuple[PlacedFile, ...]]:
        """Files that the stack's copies, commands and cloud-init place on machines, by the machine's address.

        The commands are read in the order of the stack's resources: each finds the files that those before it left.
        """
        found: dict[str, list[PlacedFile]] = defaultdict(list, {host: [*each] for host, each in self.copied.items()})
        for resource in self._resources:
            if resource.type not in (REMOTE, LOCAL):
                continue
            own = _host(resource.props)
            for write in self._writes(Command(resource, self), found):
                host = own if write.host in ("", IN_CONTAINERS) else write.host
                found[host].append(PlacedFile(resource, write.path, write.text, write.appended))
        for resource, data in self.cloud_inits:
            script = Script(data.files)
            script.run(data.first_boot)
            written = {**data.files, **{write.path: write.text for write in script.writes}}
            found[data.host or resource.name] += [PlacedFile(resource, *each) for each in written.items()]
        return {host: tuple(files) for host, files in found.items()}

    def _writes(self, command: Command, placed: Mapping[str, Sequence[PlacedFile]]) -> list[Write]:
        """Returns the files that a command's texts for its creation and its changes write."""
        try:
            scripts = command.read(placed)
        except NotKnown:
            return []
        return [write for word in PLACING_WORDS if word in scripts for write in scripts[word].writes]

    def files(self, host: str, placed: Mapping[str, Sequence[PlacedFile]]) -> dict[str, str]:
        """Returns the texts of the files on a machine, by path: those of its component, then those in `placed`.

        `host`: the machine's address or name.
        """
        found = dict(self._declared.get(host, {}))
        return found | {file.path: file.text for file in placed.get(host, ())}

    @cached_property
    def _declared(self) -> Mapping[str, Mapping[str, str]]:
        """Files that components write to their machines, by the machine's address and by its name."""
        return {name: each for machine in self._machines for each in [_known(machine)] for name in machine.names}

    @cached_property
    def cloud_inits(self) -> tuple[tuple[Resource, CloudInit], ...]:
        """Each cloud-init disk of the stack with its parsed user data. Disks with unknown user data are omitted."""
        disks = [each for each in self._resources if each.type == CLOUD_INIT]
        return tuple((each, cloud_init(text)) for each in disks if is_known(text := _text(each.props.at("userData"))))


@dataclass(frozen=True)
class Command:
    """A resource of pulumi-command that runs shell text on a machine (remote) or where Pulumi runs (local)."""

    resource: Resource
    hosts: Hosts = field(repr=False)

    @property
    def title(self) -> str:
        """The command's name in messages."""
        return f"command {self.resource.name}"

    @property
    def host(self) -> str:
        """Address of the machine that the command runs on over SSH; "" for the machine that runs Pulumi."""
        return self.resource.props.at("connection", "host").text()

    @cached_property
    def _scripts(self) -> Mapping[str, Script]:
        return self.read(self.hosts.placed)

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """The command's effects that may stop a quorum member or lose its data.

        Raises NotKnown if the command's text is not known. Raises Unreadable if a part of the text cannot be parsed and
        the rest has no such effect.
        """
        found = tuple(effect for script in self._scripts.values() for effect in effects(script))
        unread = [reason for script in self._scripts.values() for reason in script.unread]
        if unread and not found:
            raise Unreadable(unread[0])
        return found

    @property
    def disrupts(self) -> str:
        """Description of the first effect that no quorum check precedes, or else of the first effect; "" if none."""
        unchecked = [effect.words for effect in self.effects if not effect.checked]
        return next(iter([*unchecked, *(effect.words for effect in self.effects)]), "")

    @property
    def asks(self) -> bool:
        """Whether a quorum check that can abort the command precedes every effect."""
        return all(effect.checked for effect in self.effects)

    @property
    def several(self) -> bool:
        """Whether the command disrupts quorum members on several machines, or on a machine that is not known."""
        drained = {machine for effect in self.effects for machine in effect.machines if effect.does == DRAINS}
        reached = {machine for effect in self.effects for machine in effect.machines if effect.does != DRAINS}
        reached = drained | (reached - {HERE} if len(drained) == 1 else reached)  # a node drained from itself
        return len(reached) > 1 or any(not is_known(machine) for machine in reached)

    @property
    def upgrades(self) -> bool:
        """Whether the command changes the version of Kubernetes or of etcd."""
        return any(upgrades(script) for script in self._scripts.values())

    @property
    def backs_up(self) -> bool:
        """Whether the command saves a snapshot of etcd's data."""
        return any(saves_etcd(script) for script in self._scripts.values())

    def read(self, placed: Mapping[str, Sequence[PlacedFile]]) -> Mapping[str, Script]:
        """Returns the command's parsed scripts by the name of the property: create, update, delete.

        `placed`: files that exist on machines, by the machine's address; the command may run them.
        """
        props = self.resource.props
        files = self.hosts.files(_host(props), placed)
        interpreter = props.at("interpreter").words()
        found: dict[str, Script] = {}
        for word in WORDS:
            if not (text := props.at(word).text()):
                continue
            script = Script(
                files,
                local=_read_local if self.resource.type == LOCAL else None,
                elsewhere=lambda host: self.hosts.files(host, placed),
            )
            if interpreter and Path(interpreter[0]).name not in _SHELLS:
                script.unread.append(f"its {word} is in a language other than shell")
            else:
                script.run(text, self._scope(props), stdin=_optional(props.at("stdin")))
            found[word] = script
        return found

    def _scope(self, props: Properties) -> ShellScope:
        scope = ShellScope(directory=_text(props.at("dir")))
        environment = props.at("environment")
        scope.variables |= {key: _text(environment.at(key)) for key in environment.keys()}  # noqa: SIM118 - no mapping
        return scope


def commands(resources: Iterable[Resource], hosts: Hosts) -> tuple[Command, ...]:
    """Every command among these resources, except those that run the `apply` of a Machine.

    `hosts`: the files on machines that the commands can run.
    """
    found = (each for each in resources if each.type in (REMOTE, LOCAL))
    return tuple(Command(resource, hosts) for resource in found if not sets_up_machine(resource))


def sets_up_machine(resource: Resource) -> bool:
    """Whether a resource runs the `apply` and `leave` of a Machine, or copies what they read.

    The Machine itself states the files that `apply` writes and the quorums that it disrupts. `leave` asks the quorums,
    and runs when the Machine is gone: the rules on updates evaluate that.
    """
    props = resource.props
    if resource.type == COPY_TO_REMOTE:
        return _text(props.at("remotePath")) == APPLY_DIRECTORY
    create, update, delete = (_text(props.at(word)) for word in WORDS)
    leaves = not delete or bool(_LEAVE.fullmatch(delete))
    return resource.type == REMOTE and not update and leaves and bool(_APPLY.fullmatch(create))


def _known(machine: MachineFacts) -> dict[str, str]:
    """Returns a machine's files; UNKNOWN stands for a text that a preview does not know."""
    files = machine.resource.props.at("files")
    return {path: _text(files.at(path)) for path in files.keys()}  # noqa: SIM118 - no mapping


def _host(props: Properties) -> str:
    return _text(props.at("connection", "host"))


def _text(tree: Properties) -> str:
    """Returns a text property, or UNKNOWN if a preview does not know it."""
    try:
        return tree.text()
    except NotKnown:
        return UNKNOWN


def _optional(tree: Properties) -> str | None:
    return _text(tree) or None


def _content(source: Properties) -> str:
    """Returns the text of an asset or of a local file; UNKNOWN for an archive, a remote file or a missing file."""
    try:
        if source.is_text():
            return _read_local(source.text()) or UNKNOWN
        if source.at("text").given():
            return source.at("text").text()
        return _read_local(source.at("path").text()) or UNKNOWN
    except NotKnown:
        return UNKNOWN


def _read_local(path: str) -> str | None:
    """Returns the text of a file on the machine that runs Pulumi; None if it does not exist or is not text.

    Relative paths start in the directory of the Pulumi program.
    """
    try:
        return text_file.read(_ROOT / path) if path else None
    except text_file.UnreadableError:
        return None
