"""Commands that a stack runs with pulumi-command, over SSH or on the deployer's machine, and files that it copies.

Effects of a command are read from its parsed shell text, and from the scripts that it runs if the stack has them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from files import text_file
from policy.facts.cloud_init import CloudInit, cloud_init
from policy.facts.libvirt import CLOUD_INIT
from policy.facts.properties import NotKnown, Properties
from policy.facts.resource import Resource
from policy.facts.shell.calls import HERE
from policy.facts.shell.effects import Effect, effects, saves_etcd, upgrades
from policy.facts.shell.effects_cluster import DRAINS
from policy.facts.shell.scope import Scope
from policy.facts.shell.script import Script
from policy.facts.shell.syntax import UNKNOWN, Unreadable, is_known

REMOTE, LOCAL = "command:remote:Command", "command:local:Command"
COPY_TO_REMOTE, COPY_FILE = "command:remote:CopyToRemote", "command:remote:CopyFile"
PLACING = (COPY_TO_REMOTE, COPY_FILE, REMOTE)
"""Types of resources that place files on machines."""
WORDS = ("create", "update", "delete")
"""Properties with shell text, each of which runs in a shell of its own."""

_ROOT = Path(__file__).resolve().parent.parent.parent
"""The program's directory: relative paths of copied files start there."""
_SHELLS = ("sh", "bash", "dash", "ksh", "zsh")


@dataclass(frozen=True)
class PlacedFile:
    """A file that a command, a copy or cloud-init places on a machine."""

    resource: Resource
    path: str
    text: str
    """The text, with UNKNOWN for unknown parts."""


class Hosts:
    """Files that the stack's commands, copies and cloud-init place on machines, by the address of the machine.

    cloud-init data has no address, so its files are listed by host name, or else by the name of the disk.
    """

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = tuple(resources)

    @cached_property
    def copied(self) -> Mapping[str, tuple[PlacedFile, ...]]:
        """Files that the stack copies, by host."""
        found: dict[str, list[PlacedFile]] = defaultdict(list)
        for resource in self._resources:
            if resource.type in (COPY_TO_REMOTE, COPY_FILE):
                props = resource.props
                source = props.at("source") if resource.type == COPY_TO_REMOTE else props.at("localPath")
                found[_host(props)].append(PlacedFile(resource, _text(props.at("remotePath")), _content(source)))
        return {host: tuple(files) for host, files in found.items()}

    @cached_property
    def placed(self) -> Mapping[str, tuple[PlacedFile, ...]]:
        """Files that the stack copies, or that its commands and cloud-init write, by host."""
        found: dict[str, list[PlacedFile]] = defaultdict(list, {host: [*each] for host, each in self.copied.items()})
        for resource in self._resources:
            if resource.type not in (REMOTE, LOCAL):
                continue
            try:
                script = Command(resource, self).read(self.copied)["create"]
            except (NotKnown, KeyError):
                continue
            own = _host(resource.props)
            for write in script.writes:
                found[write.host or own].append(PlacedFile(resource, write.path, write.text))
        for resource, data in self.cloud_inits:
            script = Script(data.files)
            script.run(data.first_boot)
            written = {**data.files, **{write.path: write.text for write in script.writes}}
            found[data.host or resource.name] += [PlacedFile(resource, *each) for each in written.items()]
        return {host: tuple(files) for host, files in found.items()}

    @cached_property
    def cloud_inits(self) -> tuple[tuple[Resource, CloudInit], ...]:
        """Known user data of virtual machines, each with its cloud-init disk."""
        disks = [each for each in self._resources if each.type == CLOUD_INIT]
        return tuple((each, cloud_init(text)) for each in disks if is_known(text := _text(each.props.at("userData"))))


@dataclass(frozen=True)
class Command:
    """A command resource."""

    resource: Resource
    hosts: Hosts = field(repr=False)

    @property
    def title(self) -> str:
        """Its name in messages."""
        return f"command {self.resource.name}"

    @property
    def host(self) -> str:
        """The machine that it runs on; empty for the deployer's machine."""
        return self.resource.props.at("connection", "host").text()

    @cached_property
    def _scripts(self) -> Mapping[str, Script]:
        return self.read(self.hosts.placed)

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """Its effects that may stop a quorum member or lose its data.

        Raises NotKnown for an unknown text. Raises Unreadable if a part cannot be read and the rest has no effect.
        """
        found = tuple(effect for script in self._scripts.values() for effect in effects(script))
        unread = [reason for script in self._scripts.values() for reason in script.unread]
        if unread and not found:
            raise Unreadable(unread[0])
        return found

    @property
    def disrupts(self) -> str:
        """The first effect without a preceding quorum check, else the first effect, in words; empty without effect."""
        unchecked = [effect.does for effect in self.effects if not effect.checked]
        return next(iter([*unchecked, *(effect.does for effect in self.effects)]), "")

    @property
    def asks(self) -> bool:
        """Whether a quorum check that can abort the command precedes every effect."""
        return all(effect.checked for effect in self.effects)

    @property
    def several(self) -> bool:
        """Whether it disrupts members on several machines."""
        drained = {machine for effect in self.effects for machine in effect.machines if effect.does == DRAINS}
        reached = {machine for effect in self.effects for machine in effect.machines if effect.does != DRAINS}
        reached = drained | (reached - {HERE} if len(drained) == 1 else reached)  # a node drained from itself
        return len(reached) > 1 or any(not is_known(machine) for machine in reached)

    @property
    def upgrades(self) -> bool:
        """Whether it changes the version of Kubernetes or of etcd."""
        return any(upgrades(script) for script in self._scripts.values())

    @property
    def backs_up(self) -> bool:
        """Whether it saves a copy of etcd's data."""
        return any(saves_etcd(script) for script in self._scripts.values())

    def read(self, placed: Mapping[str, tuple[PlacedFile, ...]]) -> Mapping[str, Script]:
        """Its parsed scripts by property name. `placed`: files that exist on the machines."""
        props = self.resource.props
        files = {file.path: file.text for file in placed.get(_host(props), ())}
        interpreter = props.at("interpreter").words()
        found: dict[str, Script] = {}
        for word in WORDS:
            if not (text := props.at(word).text()):
                continue
            script = Script(files, local=_read_local if self.resource.type == LOCAL else None)
            if interpreter and Path(interpreter[0]).name not in _SHELLS:
                script.unread.append(f"its {word} is in a language other than shell")
            else:
                script.run(text, self._scope(props), stdin=_optional(props.at("stdin")))
            found[word] = script
        return found

    def _scope(self, props: Properties) -> Scope:
        scope = Scope(directory=_text(props.at("dir")))
        environment = props.at("environment")
        scope.variables |= {key: _text(environment.at(key)) for key in environment.keys()}  # noqa: SIM118 - no mapping
        return scope


def commands(resources: Iterable[Resource], hosts: Hosts) -> tuple[Command, ...]:
    """Every command among these resources. `hosts`: the files on machines that the commands can run."""
    return tuple(Command(resource, hosts) for resource in resources if resource.type in (REMOTE, LOCAL))


def _host(props: Properties) -> str:
    return _text(props.at("connection", "host"))


def _text(tree: Properties) -> str:
    """A text, or UNKNOWN if it is not known."""
    try:
        return tree.text()
    except NotKnown:
        return UNKNOWN


def _optional(tree: Properties) -> str | None:
    return _text(tree) or None


def _content(source: Properties) -> str:
    """The text of an asset or of a local file; UNKNOWN for an archive, a remote file or a missing file."""
    try:
        if source.is_text():
            return _read_local(source.text()) or UNKNOWN
        if source.at("text").given():
            return source.at("text").text()
        return _read_local(source.at("path").text()) or UNKNOWN
    except NotKnown:
        return UNKNOWN


def _read_local(path: str) -> str | None:
    """The text of a file of the program; None if there is no such file, or if it is not text."""
    try:
        return text_file.read(_ROOT / path) if path else None
    except text_file.UnreadableError:
        return None
