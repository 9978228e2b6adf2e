"""The dynamic provider that changes the definition of a running virtual machine, and restarts it where that is needed.

The state of a dynamic resource refers to this class by module and class name. Both names are part of every stack's
state and must not change.

libvirt's provider replaces a domain whose XML changes: it switches the machine off as a power cut does, and asks no
quorum. So the domain keeps the XML that it was created with, and this resource applies later changes. It asks the
living quorum, defines the new XML, shuts the machine down, starts it and waits until its member is back. If the quorum
cannot spare the member, nothing is changed. After an interrupted run, the next one asks again. What libvirt can change
in a running machine is changed without a restart.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

from pulumi.dynamic import CreateResult, DiffResult, ResourceProvider, UpdateResult

from components.virt_host import live_changes

KNOWN_HOSTS = "{known_hosts}"
"""Stands in a command line for the file of known hosts."""
OFF = 180.0
"""Seconds until a machine has shut down. Project figure: systemd stops a service within 90 s by default."""
BACK = 600.0
"""Seconds until a machine answers and its member is healthy. Project figure, for emulated machines too."""
_PAUSE = 2.0
_LIMIT = 900.0
"""Seconds after which a command that does not end fails."""
_NO_LOGIN = 255
"""Exit status of ssh if the login failed (ssh(1), EXIT STATUS)."""

Properties = dict[str, Any]


class RestartError(Exception):
    """A change that stopped. The message says how far it got, and what to do."""


@dataclass(frozen=True)
class Redefinition:
    """A new definition of a virtual machine, with the command lines that reach its host and those who are asked."""

    name: str
    before: str
    """The definition that the machine runs with."""
    definition: str
    virsh: Sequence[str]
    """The words that log in to the virt host, and `virsh` with its connection."""
    asked: Sequence[str]
    """The words that log in to the machine that `may_stop` and `is_back` run on."""
    may_stop: str
    """Shell text that succeeds if the machine may stop; empty if no question is needed."""
    is_back: str
    known_hosts: str

    @classmethod
    def of(cls, before: str, props: Mapping[str, Any], known_hosts: Path) -> Redefinition:
        """Returns the change from the definition `before` to what properties of the resource describe.

        `known_hosts`: where its file is.
        """

        def words(key: str) -> list[str]:
            return [str(each).replace(KNOWN_HOSTS, str(known_hosts)) for each in cast("list[Any]", props[key])]

        texts = {key: str(props[key]) for key in ("name", "definition", "may_stop", "is_back", "known_hosts")}
        return cls(**texts, before=before, virsh=words("virsh"), asked=words("asked"))

    def apply(self) -> None:
        """Applies the definition. Raises RestartError if the machine may not stop, or does not come back."""
        running = self._state() == "running"
        live = live_changes.commands(self.name, self.before, self.definition) if running else None
        if live is not None:
            self._define()
            for words in live:
                self._virsh(*words)
            return
        if running and self.may_stop:
            self._ask()
        self._define()
        if running:
            self._virsh("shutdown", self.name)
            self._await("shut off", OFF)
        self._virsh("start", self.name)
        if self.is_back:
            self._await_member()

    def _ask(self) -> None:
        done = _run([*self.asked, self.may_stop])
        if done.returncode == _NO_LOGIN:
            raise RestartError(
                f"{self.name} was not changed: its quorum could not be asked ({_last(done.stderr)}). If the machine is "
                f"dead, switch it off (virsh destroy {self.name}), and run the same command again."
            )
        if done.returncode:
            raise RestartError(f"{self.name} was not changed and not restarted: {_last(done.stdout + done.stderr)}")

    def _define(self) -> None:
        self._virsh("define", "/dev/stdin", given=self._with_uuid())

    def _with_uuid(self) -> str:
        """Returns the definition with the domain's UUID, by which libvirt recognizes that it is not a second domain."""
        if ElementTree.fromstring(self.definition).find("uuid") is not None:  # noqa: S314 - the stack's own
            return self.definition
        uuid = self._virsh("domuuid", self.name).strip()
        return re.sub(r"(<domain\b[^>]*>)", rf"\g<1>\n  <uuid>{uuid}</uuid>", self.definition, count=1)

    def _await(self, state: str, limit: float) -> None:
        end = time.monotonic() + limit
        while (found := self._state()) != state:
            if time.monotonic() > end:
                raise RestartError(
                    f"{self.name} has its new definition, and is still {found} after {limit:.0f} s; it was asked to "
                    "shut down. Look at its console, then run the same command again."
                )
            time.sleep(_PAUSE)

    def _await_member(self) -> None:
        end = time.monotonic() + BACK
        while (done := _run([*self.asked, self.is_back])).returncode:
            if time.monotonic() > end:
                raise RestartError(
                    f"{self.name} was restarted, and is not back after {BACK:.0f} s: {_last(done.stdout + done.stderr)}"
                )
            time.sleep(_PAUSE)

    def _state(self) -> str:
        return self._virsh("domstate", self.name).strip()

    def _virsh(self, *words: str, given: str = "") -> str:
        done = _run([*self.virsh, shlex.join(words)], given)
        if done.returncode:
            raise RestartError(f"virsh {words[0]} failed for {self.name}: {_last(done.stdout + done.stderr)}")
        return done.stdout


class DefinitionProvider(ResourceProvider):
    """Applies changes of `definition`. Other properties say only how, and are not compared."""

    serialize_as_secret_always = False

    def diff(self, _id: str, _olds: Properties, _news: Properties) -> DiffResult:
        return DiffResult(changes=_olds.get("definition") != _news.get("definition"))

    def create(self, props: Properties) -> CreateResult:
        """Does nothing: the domain has just been created with this definition."""
        return CreateResult(str(props["name"]), props)

    def update(self, _id: str, _olds: Properties, _news: Properties) -> UpdateResult:
        with tempfile.TemporaryDirectory(prefix="quorate-") as directory:
            known_hosts = Path(directory) / "known_hosts"
            known_hosts.write_text(str(_news["known_hosts"]), encoding="utf-8")
            Redefinition.of(str(_olds["definition"]), _news, known_hosts).apply()
        return UpdateResult(_news)


def _run(words: Sequence[str], given: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(words, input=given, capture_output=True, text=True, timeout=_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise RestartError(f"{words[-1].split()[0]} did not end within {_LIMIT:.0f} s") from None


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no message"
