"""Runs the engine for a command of Quorate, and interrupts it if the command is killed.

Without a guard, the engine of a killed command would block on the event pipe, which no longer has a reader, and keep
the stack's lock. The guard reads from a pipe that closes when the command ends for any reason. It then interrupts the
engine, which completes its current steps, writes its state and releases its lock.

Called as `python -S -m commands.engine.engine_guard DESCRIPTOR EVENTS RECORD DIRECTORY ENGINE ARGUMENT…`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from console.system_errors import explain
from toolchain.process_identity import identify

CANNOT_RUN = 126
"""Exit code if the engine cannot be started, as in a shell."""

SIGNALLED = 128
"""Added to the number of a signal that ended the engine, as shells do."""


def main(arguments: Sequence[str]) -> int:
    """Runs the engine until it exits. Returns its exit code, or SIGNALLED plus the number of the fatal signal."""
    descriptor, events, record, directory, *command = arguments
    asked = threading.Event()
    # The engine inherits this setting: a closed terminal must not end the engine before it has written its state.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    # A terminal sends Ctrl-C to the engine as well, and a second interrupt would stop it at once.
    signal.signal(signal.SIGINT, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, lambda _number, _frame: asked.set())
    try:
        engine = subprocess.Popen(command, cwd=directory)
    except OSError as error:
        print(explain(error), file=sys.stderr)
        return CANNOT_RUN
    signal.signal(signal.SIGTERM, lambda _number, _frame: engine.send_signal(signal.SIGINT))
    if asked.is_set():
        engine.send_signal(signal.SIGINT)
    with suppress(OSError):  # for example a full disk: the engine runs already and is watched without the record too
        Path(record).write_text(identify(engine.pid).to_json(), encoding="utf-8")
    threading.Thread(target=_watch, args=(int(descriptor), engine, Path(events)), daemon=True).start()
    code = engine.wait()
    if code >= 0:
        # After a signal, the record is kept: with it, a later command sees that the engine's lock is stale.
        Path(record).unlink(missing_ok=True)
        return code
    return SIGNALLED - code


def _watch(descriptor: int, engine: subprocess.Popen[bytes], events: Path) -> None:
    """Waits until the command of Quorate has ended.

    Then interrupts the engine, and reads its events to keep it going.
    """
    while os.read(descriptor, 1):
        pass
    # Open for reading and writing, so that opening does not wait for the engine and reads never return end of file.
    pipe = os.open(events, os.O_RDWR)
    with suppress(OSError):
        events.unlink()
        events.parent.rmdir()
    engine.send_signal(signal.SIGINT)
    while os.read(pipe, 1 << 16):
        pass


if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)  # the watching thread may still read
