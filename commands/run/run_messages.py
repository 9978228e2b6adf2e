"""Collects the warnings and errors of a Pulumi run, each once with the resources that it is about.

The Kubernetes provider warns of every secret value that it writes into a file. Objects with secrets are meant to be
rendered into the stack's directory for secrets (docs/security.md), so warnings about them are not shown; a warning
about any other file is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, cast

from commands.run import resources
from policy.engine.events import EngineStep, Event, closes_phase
from text.quoting import printable

NAMED = 3
"""Largest number of resources that are named beside a warning."""

_PROVIDER = "pulumi:providers:kubernetes"
_RENDERED = re.compile(r"rendered file (?P<file>\S+) contains a secret value in plaintext")
_WILL_RENDER = "rendered YAML will contain a secret value in plaintext"
_CANCELED = re.compile(r"failed to run (?:policy|remediation): .*context canceled", re.DOTALL)
"""Matches what the engine reports if an update fails while the policy pack evaluates another resource."""
_PROGRAM = "info#err"
"""Severity of what the program writes to standard error, such as a warning of Python."""


@dataclass
class RunMessages:
    """The messages of all phases of a run. `secrets`: the directory into which objects with secrets are rendered."""

    secrets: PurePosixPath
    _warnings: dict[str, dict[str, None]] = field(default_factory=dict[str, dict[str, None]])
    _program: dict[str, None] = field(default_factory=dict[str, None])
    _errors: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    _steps: dict[str, EngineStep] = field(default_factory=dict[str, EngineStep])
    """The last operation on each resource."""
    _providers: dict[str, str] = field(default_factory=dict[str, str])
    """URN of the provider of each resource."""
    _directories: dict[str, str] = field(default_factory=dict[str, str])
    """The directory into which a Kubernetes provider renders, by the provider's URN."""

    def take(self, event: Event) -> None:
        """Follows an event of the run."""
        if event.begins_phase:
            self._errors.clear()
        if step := event.step:
            self._learn(step)
        elif (message := event.message) and not message.is_status:
            text = printable(message.text.strip())
            if message.severity == "warning":
                self._warnings.setdefault(text, {})[message.urn] = None
            elif message.severity == _PROGRAM:
                self._program.update(
                    dict.fromkeys(line for line in printable(message.text).splitlines() if line.strip())
                )
            elif message.severity == "error" and not closes_phase(text):
                self._errors[message.urn, text] = None
        elif notice := event.notice:
            self._warnings.setdefault(printable(notice.strip()), {})[""] = None

    def _learn(self, step: EngineStep) -> None:
        self._steps[step.urn] = step
        state = step.state or step.before
        self._providers[step.urn] = str(state.get("provider", "")).rpartition("::")[0]
        if step.type == _PROVIDER:
            inputs = cast("dict[str, Any]", state.get("inputs") or {})
            self._directories[step.urn] = str(inputs.get("renderYamlToDirectory", ""))

    def warnings(self) -> Iterator[str]:
        """Yields each warning once, with the number of resources that it is about if they are several."""
        for text, urns in self._warnings.items():
            about = [urn for urn in urns if not self._is_expected(text, urn)]
            if about:
                names = [self._title(urn) for urn in about if urn]
                more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
                where = f" ({', '.join(names[:NAMED])}{more})" if names else ""
                yield f"{f'{len(about)} times: ' if len(about) > 1 else ''}{text}{where}"

    @property
    def program(self) -> list[str]:
        """The lines that the program wrote to standard error, each once."""
        return list(self._program)

    def _is_expected(self, text: str, urn: str) -> bool:
        """Whether a warning is about an object with secrets that is rendered into the directory for secrets."""
        if found := _RENDERED.fullmatch(text):
            return self._is_secret(found["file"])
        return text == _WILL_RENDER and self._is_secret(self._directories.get(self._providers.get(urn, ""), ""))

    def _is_secret(self, path: str) -> bool:
        return ".." not in PurePosixPath(path).parts and PurePosixPath(path).is_relative_to(self.secrets)

    @property
    def rendered_secrets(self) -> int:
        """Number of objects with secret values that the run rendered into the directory for secrets."""
        files = (found["file"] for text in self._warnings if (found := _RENDERED.fullmatch(text)))
        return len([file for file in files if self._is_secret(file)])

    def errors(self) -> Iterator[str]:
        """Yields the errors of the last phase, each with its resource, without the one that closes the phase.

        A call of the policy pack that the engine canceled is the consequence of another error, so it is yielded only if
        there is no other.
        """
        causes = [(urn, text) for urn, text in self._errors if not _CANCELED.fullmatch(text)]
        for urn, text in causes or self._errors:
            yield f"{self._title(urn)}: {text}" if urn else text

    @property
    def failing(self) -> list[EngineStep]:
        """The operations with errors in the last phase."""
        return [self._steps[urn] for urn in dict.fromkeys(urn for urn, _ in self._errors) if urn in self._steps]

    def _title(self, urn: str) -> str:
        step = self._steps.get(urn)
        return resources.title(step) if step else resources.title_of(urn)
