"""`make bench`: how long a stack's plan, preview, first and second `up` take, and how much memory they want.

Runs under a stack name of its own in a throw-away state, so neither the state nor the tree of the real one is touched.
Figures are of one run on this machine: for comparing two states of the code, not for promises.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.problems import Refused
from tools import passphrase, stack
from tools.engine import MANIFEST, Engine
from tools.operation import Operation, Verb
from tools.progress import Failed, Trouble, duration

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Measure:
    """One measured command."""

    what: str
    seconds: float
    resources: int | None
    memory: int
    """The largest process's peak so far, in MiB; the engine, its providers and the program are processes apart."""


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench", description="Time the commands of a stack.")
    parser.add_argument("--stack", default="dev")
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    try:
        print(f"{'command':10} {'time':>12} {'resources':>10} {'peak memory':>12}")
        for measure in measures(chosen.stack):
            print(row(measure), flush=True)
    except KeyboardInterrupt:
        return 130
    except (Trouble, Failed, Refused) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    return 0


def measures(name: str) -> Generator[Measure]:
    """Measures a stack that renders, command by command; a live one has no throw-away machines."""
    judged = stack.load(ROOT, name)
    if judged.target != "render":
        raise Trouble(f"{name} builds live machines; a bench only renders.")
    engine = Engine.load(ROOT / ".venv" / MANIFEST)
    if engine is None:
        raise Trouble("The engine is not set up; run `make setup`.")
    command = [sys.executable, "-m", "blueprint.placement", "--stack-file", str(judged.file)]
    yield _measured("plan", lambda: _quietly(command))
    bench = replace(judged, name=f"bench-{name}")
    with stack.scratch_workspace(ROOT, bench.name) as workspace:
        operation = Operation(engine, bench, workspace, passphrase.throw_away())
        operation.open(keep_secrets=False)
        passphrase.make_up(workspace.root_secret_file)
        operation.give_root_secret(workspace.root_secret_file.read_text(encoding="utf-8").strip())
        try:
            yield _measured("preview", lambda: _operate(operation, "preview"))
            yield _measured("up", lambda: _operate(operation, "up"))
            yield _measured("up again", lambda: _operate(operation, "up"))
        finally:
            shutil.rmtree(ROOT / "build" / bench.name, ignore_errors=True)


def row(measure: Measure) -> str:
    """A line of the table."""
    resources = "-" if measure.resources is None else str(measure.resources)
    return f"{measure.what:10} {duration(measure.seconds):>12} {resources:>10} {measure.memory:>8} MiB"


def _measured(what: str, work: Callable[[], int | None]) -> Measure:
    started = time.monotonic()
    resources = work()
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    return Measure(what, time.monotonic() - started, resources, memory)


def _quietly(command: Sequence[str]) -> None:
    if subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=False).returncode:
        raise Trouble("The plan failed; the reason stands above.")


def _operate(operation: Operation, verb: Verb) -> int:
    log = operation.workspace.directory / "log"
    result = operation.run(verb, output=log)
    if result.was_interrupted:
        raise KeyboardInterrupt
    if result.code:
        raise Trouble(log.read_text(encoding="utf-8", errors="replace")[-3000:] + f"\n`{verb}` failed.")
    return sum(result.account.changes.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
