"""`make setup`: installs the Python environment, then Pulumi.

A run with nothing to install ends at once. A run after an interrupted one continues its work. Only one set-up runs at a
time, because clones share the builds in the user's cache.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import cast, get_args

from console.errors import UserError
from console.exit_codes import exit_code
from console.progress import Reporter, duration
from console.system_errors import explain
from toolchain import checksums, engine, engine_sources, environment
from toolchain.engine import Engine, Source
from toolchain.engine_sources import Wanted

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
LOCK = ROOT / "requirements.lock"
STATE = Path("build", ".state")
"""Directory of Pulumi's default state backend, with the states of all stacks, relative to the clone."""


def main(*, with_engine: bool = True) -> int:
    """Installs the environment and, with `with_engine`, the engine. Returns 0, 1 after an error, 130 if interrupted."""
    reporter = Reporter()
    for number in (signal.SIGTERM, signal.SIGHUP):  # a cancelled job, a closed terminal
        signal.signal(number, _interrupt)
    return exit_code(lambda: _install(with_engine, reporter), reporter)


def _install(with_engine: bool, reporter: Reporter) -> None:
    sources = chosen_sources(os.environ.get("QUORATE_ENGINE", ""))
    if is_ready(sources) if with_engine else environment.is_ready(VENV, LOCK):
        return
    started = time.monotonic()
    with alone(engine.cache_directory(os.environ), reporter):
        if with_engine:
            ensure(sources, reporter)
        else:
            environment.ensure(VENV, LOCK, reporter)
    reporter.say(f"Set up in {duration(time.monotonic() - started)}.")


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def chosen_sources(choice: str) -> tuple[Source, ...]:
    """Returns the sources of an engine to try: `choice`, the value of QUORATE_ENGINE, or all if it is empty."""
    known = cast("tuple[Source, ...]", get_args(Source))
    if not choice:
        return known
    if choice not in known:
        raise UserError(f"QUORATE_ENGINE is {choice!r}; set it to one of {', '.join(known)}, or unset it.")
    return tuple(source for source in known if source == choice)


def is_ready(sources: tuple[Source, ...]) -> bool:
    """Whether the environment and the engine are installed, up to date and undamaged."""
    found = Engine.load(VENV / engine.MANIFEST)
    return (
        found is not None
        and found.source in sources
        and environment.is_ready(VENV, LOCK)
        and not found.is_elsewhere(os.environ)
        and environment.is_connected(VENV, settings(found))
        and found.recipe == wanted().recipe
        and found.has_command_provider(environment.locked_version(LOCK, "pulumi-command"))
        and (found.source == "path" or (checksums.exist(found.directory) and not found.damaged))
    )


def ensure(sources: tuple[Source, ...], reporter: Reporter) -> None:
    """Installs the Python environment if it is missing, then the engine, and connects both."""
    if not environment.is_ready(VENV, LOCK):
        environment.ensure(VENV, LOCK, reporter)
    found = engine_sources.ensure(wanted(), sources, reporter)
    home = os.environ.get("PULUMI_HOME")
    if found.home and home and wanted().cache not in Path(home).parents:  # there it is `activate`'s, of any engine
        reporter.say(f"PULUMI_HOME of your environment is not used: this project's Pulumi has its own, {found.home}.")
    found.keep_no_logs()
    (ROOT / STATE).mkdir(parents=True, exist_ok=True)
    found.add_command_provider(environment.locked_version(LOCK, "pulumi-command"))
    environment.connect(VENV, found.pulumi, ROOT / "toolchain", settings(found))
    replace(found, recipe=wanted().recipe).save(VENV / engine.MANIFEST)


def ensure_beside(venv: Path, lock: Path, reporter: Reporter) -> None:
    """Installs an environment beside the clone's own, from a lock file of its own, if it is missing or outdated."""
    if not environment.has_packages(venv, lock):
        with alone(engine.cache_directory(os.environ), reporter):
            environment.ensure_packages(venv, lock, reporter)


def settings(found: Engine) -> dict[str, str]:
    """Returns the environment variables for an engine that the activated Python environment sets."""
    return {
        **found.settings(),
        "PULUMI_BACKEND_URL": (ROOT / STATE).as_uri(),
        "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
    }


def wanted() -> Wanted:
    """Returns the description of the engine that this clone requires."""
    return Wanted(VENV, LOCK, ROOT / "toolchain" / "engine", engine.cache_directory(os.environ))


@contextmanager
def alone(cache: Path, reporter: Reporter) -> Generator[None]:
    """Holds the lock of a cache directory until the context ends; first waits for another set-up that holds the lock.

    The system releases the lock if the process is killed.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        file = (cache / "setup.lock").open("w")
    except OSError as error:
        raise UserError(f"{explain(error)}\nOr set XDG_CACHE_HOME to a directory that you can write.") from None
    with file as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            reporter.say("Another set-up is running; waiting for it …")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
