"""Runs a program and reads its output line by line, so that a long step can show its progress."""

from __future__ import annotations

import signal
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

NETWORK_SIGNS = (
    "dial tcp",
    "no such host",
    "name resolution",
    "name or service not known",
    "nodename nor servname",
    "network is unreachable",
    "no route to host",
    "connection refused",
    "connection reset",
    "failed to establish a new connection",
    "connecttimeout",
    "timed out",
    "i/o timeout",
    "tls handshake",
    "proxyerror",
    "proxyconnect",
    "cannot connect to proxy",
    "bad gateway",
    "unexpected eof",
)
"""Parts of network error messages of pip, Go and the operating system, in lower case."""


class ProgramError(Exception):
    """A program exited with an error, or could not be run. The caller adds an explanation for the user."""

    def __init__(self, command: Sequence[str], code: int, output: Sequence[str]) -> None:
        self.code = code
        self.output = tuple(output)
        super().__init__(f"{Path(command[0]).name} {ending(code)}")

    @property
    def is_network(self) -> bool:
        """Whether the program's output contains a network error."""
        text = "\n".join(self.output).lower()
        return any(sign in text for sign in NETWORK_SIGNS)

    def tail(self, lines: int = 12) -> str:
        """Returns the last lines of the program's output, indented, for an error message."""
        return "\n".join(f"    {line}" for line in self.output[-lines:]) or f"    no output; {self}"


def ending(code: int) -> str:
    """Describes the exit code of a program, such as `exited with 1` or, for a negative code, `was ended by SIGSEGV`."""
    if code >= 0:
        return f"exited with {code}"
    return (
        f"was ended by {signal.Signals(-code).name}" if -code in set(signal.Signals) else f"was ended by signal {-code}"
    )


def run(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    on_line: Callable[[str], None] | None = None,
    timeout: float | None = None,
) -> list[str]:
    """Runs a command and returns the last 400 lines of its output, including standard error.

    Raises ProgramError if the command fails, does not exist, or takes longer than `timeout` seconds. An interrupt of
    this process terminates the command, so that no build continues in the background.
    """
    words = [str(word) for word in command]
    kept: deque[str] = deque(maxlen=400)
    try:
        child = subprocess.Popen(
            words,
            cwd=directory,
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise ProgramError(words, 127, [f"{words[0]}: {error.strerror}"]) from None
    try:
        if timeout is None:
            for line in child.stdout or ():
                kept.append(line.rstrip("\n"))
                if on_line:
                    on_line(kept[-1])
            child.wait()
        else:
            text, _ = child.communicate(timeout=timeout)
            kept.extend(text.splitlines())
    except subprocess.TimeoutExpired:
        raise ProgramError(words, 124, [f"{words[0]} timed out"]) from None
    finally:
        _end(child)
    if child.returncode != 0:
        raise ProgramError(words, child.returncode, kept)
    return list(kept)


def _end(child: subprocess.Popen[str]) -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
