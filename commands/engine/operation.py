"""Runs Pulumi on one stack: environment, command line, interrupts.

The engine runs under a guard (commands/engine/engine_guard.py), which interrupts it if this process is killed.

Every operation runs in the clone's root, with the workspace's copy of the stack file. Pulumi commands that require the
stack file in the directory of Pulumi.yaml run in the workspace's project directory.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal, Protocol

from commands.engine import locks, passphrase
from commands.engine.engine_guard import SIGNALLED
from commands.engine.event_pipe import RunSummary, listening
from commands.stack import ROOT_SECRET, Stack, Workspace
from console.errors import UserError
from console.programs import ProgramError, ending, run
from operations.live_cluster import LiveCluster
from policy.engine.events import Event
from toolchain.engine import Engine

Verb = Literal["up", "refresh", "preview", "destroy"]

OBJECTS = "**kubernetes:**"
"""Pattern of the URNs of Kubernetes objects. A refresh of a rendered stack excludes them, because the Kubernetes
provider reads objects from a cluster only. commands/rendered/tree_check.py compares their files instead."""

PACK = "policy/__main__.py"
"""The policy pack's program, relative to the clone. Pulumi starts it without the proxy that it puts before the pack if
it is named by its folder (docs/adr/0036-policy-pack-behind-a-proxy.md)."""

ONE_CHECKPOINT = {"PULUMI_EXPERIMENTAL": "true", "PULUMI_SKIP_CHECKPOINTS": "true"}
"""Settings with which Pulumi makes the state once, at the end, and not anew at each step."""

SOURCES = Path(__file__).resolve().parents[2]
TERMINATION = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end a command from outside: a termination request, and a closed terminal."""


@dataclass(frozen=True)
class Result:
    """Result of a Pulumi run: its exit code, negative if a signal ended the engine, and a summary of its events."""

    code: int
    summary: RunSummary
    was_interrupted: bool

    @property
    def ending(self) -> str:
        """How the engine ended, such as `exited with 1` or `was ended by SIGKILL`."""
        return ending(128 - self.code if self.code > 128 else self.code)


class Watcher(Protocol):
    """Follows a Pulumi run while it runs."""

    def take(self, event: Event) -> None:
        """Takes an event of the run; called by another thread."""
        ...

    def interrupt(self) -> None:
        """Is called when the user interrupts the run, which then ends after its operations in progress."""
        ...


@dataclass(frozen=True)
class Operation:
    """Runs the Pulumi engine on a stack. `variables`: environment variables that give access to the stack's secrets."""

    engine: Engine
    stack: Stack
    workspace: Workspace
    variables: Mapping[str, str]
    pack: str | None = PACK
    """The policy pack's program for previews and updates; None for no policy pack."""
    cluster: LiveCluster | None = None
    """The running cluster of a live stack; None for a rendered stack."""
    excluded: Sequence[str] = ()
    """URNs of resources to leave as they are."""

    def environment(self) -> dict[str, str]:
        """Returns the user's environment plus `variables`, with this clone's Python and engine first in PATH."""
        kept = passphrase.without(os.environ)
        places = [str(self.workspace.root / ".venv" / "bin"), self.engine.binaries, kept.get("PATH", "")]
        settings = {
            **self.engine.settings(),
            "PATH": os.pathsep.join(places),
            "PULUMI_BACKEND_URL": self.workspace.backend,
            # The state contains the salt of the passphrase; the copy of the stack file is new and may lack it.
            "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
        }
        if self.stack.is_rendered:
            # Write the state only once, at the end, because an interrupted rendering can be repeated. For live
            # machines, the state must contain every completed step.
            settings |= ONE_CHECKPOINT
        return {**kept, **settings, **self.variables}

    def open(self, *, keep_secrets: bool) -> None:
        """Writes the copy of the stack file, removes stale locks, and creates the stack in its backend if it is new."""
        self.workspace.prepare(self.stack.file, keep_secrets=keep_secrets)
        if self.workspace.state_directory:
            self.workspace.state_directory.mkdir(parents=True, exist_ok=True)
        if locks.remove_stale(self.workspace):
            print("Removed the stale lock of an interrupted run.", flush=True)
        if self.workspace.has_state:
            return
        provider = ["--secrets-provider", self.stack.secrets_provider] if self.stack.secrets_provider else []
        try:
            self._manage("stack", "init", self.stack.name, "--no-select", *provider)
        except ProgramError as failure:
            # For a remote backend, this error is the only way to learn that the stack exists.
            if not any("already exists" in line for line in failure.output):
                raise UserError(f"Stack {self.stack.name} could not be opened:\n{failure.tail()}") from None

    def give_root_secret(self, secret: str) -> None:
        """Writes a root secret into the copy of the stack file, encrypted with the stack's passphrase."""
        # On standard input: an argument is readable by everyone on the machine.
        done = self._ask("config", "set", "--secret", ROOT_SECRET, document=secret)
        if done.returncode:
            raise UserError(f"The root secret of {self.stack.name} could not be encrypted: {done.stderr.strip()}")

    def run(self, verb: Verb, *, output: Path, watcher: Watcher | None = None) -> Result:
        """Runs a Pulumi command on the stack; `up` skips Pulumi's preview.

        `output`: a file to which Pulumi's output is appended. `watcher`: follows the run.
        """
        options = ["--stack", self.stack.name, "--config-file", str(self.workspace.stack_file)]
        if verb == "up":
            options += ["--skip-preview"]
        if verb != "preview":
            options += ["--yes"]
        if verb == "refresh" and self.stack.is_rendered:
            options += ["--exclude", OBJECTS]
        options += [word for urn in self.excluded for word in ("--exclude", urn)]
        if verb in ("up", "preview") and self.pack:
            options += ["--policy-pack", self.pack]
        watch, interrupted = (watcher.take, watcher.interrupt) if watcher else (None, None)
        with listening(watch) as (pipe, variables, summary), output.open("ab") as file:
            # The event log is a debug option.
            environment = {**self.environment(), **variables, "PULUMI_DEBUG_COMMANDS": "true"}
            if verb == "preview":
                environment |= ONE_CHECKPOINT  # the engine makes a preview's checkpoints, and writes none of them
            command = [self.engine.pulumi, verb, *options, "--event-log", pipe]
            code, was_interrupted = self._wait(command, pipe, environment, file.fileno(), interrupted)
        return Result(code, summary, was_interrupted)

    def deployment(self) -> dict[str, Any]:
        """Returns the stack's state as the engine exports it, with encrypted secrets."""
        return json.loads(self._state("export"))

    def decrypted(self) -> int:
        """Decrypts the stack's state, and returns its number of resources. Raises UserError if it cannot be read.

        What was decrypted stays in the memory of this process.
        """
        document = json.loads(self._state("export", "--show-secrets"))
        return len(document["deployment"].get("resources") or [])

    def output(self, name: str) -> str | None:
        """Returns a secret output of the stack, a text; None if the stack does not have it."""
        done = self._ask("stack", "output", name, "--show-secrets")
        return None if done.returncode else done.stdout

    def configuration(self) -> dict[str, Any]:
        """Returns the decrypted configuration of the workspace's stack file: texts, and mappings of texts, by key.

        Raises UserError if it cannot be decrypted.
        """
        done = self._ask("config", "--json", "--show-secrets")
        if done.returncode:
            raise UserError(f"The secrets of {self.stack.name} were not decrypted: {done.stderr.strip()}")
        found: dict[str, Any] = json.loads(done.stdout)
        return {key: each.get("objectValue", each.get("value")) for key, each in found.items()}

    def give_deployment(self, deployment: Mapping[str, Any]) -> None:
        """Replaces the stack's state. The backend keeps the previous state in the stack's history."""
        self._state("import", document=json.dumps(deployment))

    def _state(self, verb: str, *options: str, document: str | None = None) -> str:
        done = self._ask("stack", verb, *options, document=document)
        if done.returncode:
            raise UserError(f"`pulumi stack {verb}` failed for {self.stack.name}: {done.stderr.strip()}")
        return done.stdout

    def _ask(self, *words: str, document: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command of Pulumi that asks or changes the stack at once. `document`: its standard input."""
        command = [self.engine.pulumi, "-C", self.workspace.project, "--non-interactive", *words]
        return subprocess.run(
            [*command, "--stack", self.stack.name],
            input=document,
            env=self.environment(),
            text=True,
            check=False,
            capture_output=True,
        )

    def remove_stack(self) -> None:
        """Removes a stack without resources from its backend."""
        self._manage("stack", "rm", self.stack.name, "--yes")

    def _manage(self, *words: str) -> None:
        command = [self.engine.pulumi, "-C", self.workspace.project, "--non-interactive", *words]
        run(command, environment=self.environment(), timeout=120)

    def _wait(
        self,
        command: list[str | Path],
        pipe: Path,
        environment: Mapping[str, str],
        output: int,
        interrupted: Callable[[], None] | None,
    ) -> tuple[int, bool]:
        """Runs the engine under its guard and waits until it ends, also after an interrupt.

        The terminal sends Ctrl-C to the engine too, which then shuts down gracefully. SIGTERM and SIGHUP reach only
        this process, which has the guard interrupt the engine. Returns the exit code and whether an interrupt came.
        """
        guard: subprocess.Popen[bytes] | None = None
        was_interrupted = False

        def take(number: int, _frame: FrameType | None) -> None:
            nonlocal was_interrupted
            was_interrupted = True
            if interrupted:
                interrupted()
            if number != signal.SIGINT and guard:
                guard.send_signal(signal.SIGTERM)

        # Set before the engine starts, so that no interrupt ends this process while the engine runs.
        before = {number: signal.signal(number, take) for number in (signal.SIGINT, *TERMINATION)}
        theirs, ours = os.pipe()  # closes when this process ends for any reason
        try:
            places = [str(theirs), pipe, self.workspace.engine_record.resolve(), self.workspace.root]
            guard = subprocess.Popen(
                [sys.executable, "-S", "-m", "commands.engine.engine_guard", *places, *command],
                cwd=SOURCES,
                env=environment,
                stdout=output,
                stderr=output,
                pass_fds=[theirs],
            )
            code = guard.wait()
            return (SIGNALLED - code if SIGNALLED < code < SIGNALLED + 65 else code), was_interrupted
        finally:
            os.close(theirs)
            os.close(ours)
            for number, handler in before.items():
                signal.signal(number, handler)


@contextmanager
def interrupted_by_termination() -> Generator[None]:
    """Makes SIGTERM and SIGHUP raise KeyboardInterrupt, so that a terminated command cleans up as after Ctrl-C."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in TERMINATION}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
