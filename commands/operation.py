"""One engine operation on one stack: the environment it runs in, its command line, its end.

Knows Pulumi's command line so that the commands do not have to. Every operation runs in the clone's root with the
working copy of the stack file; whatever insists on a stack file of its own runs in the workspace's project directory.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal

from commands import locks
from commands.events import Account, listening
from commands.passphrase import FILE, VALUE
from commands.stack import ROOT_SECRET, Stack, Workspace
from toolchain.engine import Engine
from toolchain.progress import ProgramError, UserError, run

Verb = Literal["up", "preview", "destroy"]


@dataclass(frozen=True)
class Result:
    """How an operation ended."""

    code: int
    account: Account
    was_interrupted: bool


@dataclass(frozen=True)
class Operation:
    """What an operation works with."""

    engine: Engine
    stack: Stack
    workspace: Workspace
    variables: Mapping[str, str]
    pack: str | None = "policy"
    """Directory of the policy pack that judges previews and updates; None: nobody does."""

    def environment(self) -> dict[str, str]:
        """The engine's environment: the user's, with this clone's Python and engine first and one passphrase."""
        kept = {name: value for name, value in os.environ.items() if name not in (VALUE, FILE)}
        places = [str(self.workspace.root / ".venv" / "bin"), self.engine.binaries, kept.get("PATH", "")]
        settings = {
            **self.engine.settings(),
            "PATH": os.pathsep.join(places),
            "PULUMI_BACKEND_URL": self.workspace.backend,
            # The stack's state knows the salt of its passphrase; the working copy need not be older than a run.
            "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
        }
        if self.stack.target == "render":
            # The state is written once, at the end: an interrupted rendering is simply repeated. Never so for live
            # machines, whose every step must be known.
            settings |= {"PULUMI_EXPERIMENTAL": "true", "PULUMI_SKIP_CHECKPOINTS": "true"}
        return {**kept, **settings, **self.variables}

    def open(self, *, keep_secrets: bool) -> None:
        """Makes the stack known to its backend, and its working copy ready."""
        self.workspace.prepare(self.stack.file, keep_secrets=keep_secrets)
        if self.workspace.state_directory:
            self.workspace.state_directory.mkdir(parents=True, exist_ok=True)
        if locks.drop_dead(self.workspace):
            print("The last run on this stack was killed; its lock was taken off.", flush=True)
        if self.workspace.has_state:
            return
        provider = ["--secrets-provider", self.stack.secrets_provider] if self.stack.secrets_provider else []
        try:
            self._manage("stack", "init", self.stack.name, "--no-select", *provider)
        except ProgramError as failure:
            # A backend elsewhere cannot be asked beforehand.
            if not any("already exists" in line for line in failure.output):
                raise UserError(f"Stack {self.stack.name} could not be opened:\n{failure.tail()}") from None

    def give_root_secret(self, secret: str) -> None:
        """Puts a root secret into the working copy, sealed with the stack's passphrase."""
        command = ["config", "set", "--secret", ROOT_SECRET, "--stack", self.stack.name]
        done = subprocess.run(
            [self.engine.pulumi, "-C", self.workspace.project, "--non-interactive", *command],
            input=secret,  # on standard input: an argument is readable by everyone on the machine
            env=self.environment(),
            text=True,
            check=False,
            capture_output=True,
        )
        if done.returncode:
            raise UserError(f"The root secret of {self.stack.name} could not be sealed: {done.stderr.strip()}")

    def run(self, verb: Verb, *, output: Path | None = None) -> Result:
        """Runs an operation to its end, its output to the terminal or into a file."""
        options = ["--stack", self.stack.name, "--config-file", str(self.workspace.stack_file)]
        if verb != "preview":
            options += ["--yes"]
        if verb != "destroy" and self.pack:
            options += ["--policy-pack", self.pack]
        environment = {**self.environment(), "PULUMI_DEBUG_COMMANDS": "true"}  # the event log is a debug option
        with listening() as (pipe, account):
            command = [self.engine.pulumi, verb, *options, "--event-log", pipe]
            if output is None:
                code, was_interrupted = _attend(command, self.workspace.root, environment, None)
            else:
                output.parent.mkdir(parents=True, exist_ok=True)
                with output.open("wb") as file:
                    code, was_interrupted = _attend(command, self.workspace.root, environment, file.fileno())
        return Result(code, account, was_interrupted)

    def forget(self) -> None:
        """Removes the stack itself, once it has no resources."""
        self._manage("stack", "rm", self.stack.name, "--yes")

    def _manage(self, *words: str) -> None:
        command = [self.engine.pulumi, "-C", self.workspace.project, "--non-interactive", *words]
        run(command, environment=self.environment(), timeout=120)


def _attend(
    command: list[str | Path], directory: Path, environment: Mapping[str, str], output: int | None
) -> tuple[int, bool]:
    """Waits for the engine, whatever comes.

    Ctrl-C reaches the engine from the terminal, as it reaches us: it ends in good order, and this waits for that. Only
    a plain termination, which nobody else passes on, is handed to it as an interrupt.
    """
    child: subprocess.Popen[bytes] | None = None
    was_interrupted = False

    def take(number: int, _frame: FrameType | None) -> None:
        nonlocal was_interrupted
        was_interrupted = True
        if number == signal.SIGTERM and child:
            child.send_signal(signal.SIGINT)

    # Before the engine starts: an interrupt must not find it running and nobody waiting for it.
    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        child = subprocess.Popen(command, cwd=directory, env=environment, stdout=output, stderr=output)
        return child.wait(), was_interrupted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
