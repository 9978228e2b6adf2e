"""The commands behind `make`: up, preview, audit, diff, review, plan, pin, destroy, clean.

Each says what it did, where the result is, and what to do next. They drive the engine; what a stack contains is decided
in blueprint/ and components/, and judged in policy/.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from blueprint.problems import InvalidStackError
from commands import base, check, clean, difference, passphrase, pin, stack
from commands import review as reviews
from commands.events import Account
from commands.operation import Operation, Result
from commands.passphrase import Command
from commands.stack import Stack
from toolchain.engine import MANIFEST, Engine
from toolchain.progress import ProgramError, UserError, duration

ROOT = Path(__file__).resolve().parent.parent
KINDS = {"create": "created", "update": "updated", "replace": "replaced", "delete": "deleted"}


def main(arguments: Sequence[str]) -> int:
    """Runs a command; 0 when it did its work, 1 with a message when it could not, 130 when interrupted.

    `diff` and `review` end with 3 where a change is forbidden.
    """
    parser = argparse.ArgumentParser(prog="quorate", description="Drive a stack; `make help` lists the commands.")
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--stack", default="dev", help="Pulumi.<stack>.yaml or examples/<stack>.yaml")
    parser.add_argument("--base", default="", help="the commit, branch or tag to compare with")
    parser.add_argument("--confirm", default="", help="the stack's name again, where a command takes away what matters")
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    try:
        return COMMANDS[chosen.command](chosen)
    except KeyboardInterrupt:
        return _say("\nInterrupted.", 130)
    except (UserError, ProgramError, InvalidStackError) as trouble:
        return _say(str(trouble), 1)


def up(chosen: argparse.Namespace) -> int:
    """Builds the stack, after a preview that its policies have passed."""
    started = time.monotonic()
    with _opened("up", chosen.stack) as operation:
        result = operation.run("up")
    if result.code or result.was_interrupted:
        return _stopped("up", chosen.stack, result)
    name, tree = chosen.stack, Path("build") / chosen.stack
    took = duration(time.monotonic() - started)
    print(f"\n{counted(result.account)} ({took})")
    print(f"The tree: {tree}/" if operation.stack.target == "render" else f"The report: {tree}/audit/")
    _report(operation.stack, result.account)
    file = operation.stack.file.relative_to(ROOT)
    print(f"Next: look into {tree}/, or change {file} and see what that would do: make preview STACK={name}")
    return 0


def preview(chosen: argparse.Namespace) -> int:
    """Shows what `up` would change, and which rules it would break."""
    with _opened("preview", chosen.stack) as operation:
        result = operation.run("preview")
    if result.code or result.was_interrupted:
        return _stopped("preview", chosen.stack, result)
    return 0


def audit(chosen: argparse.Namespace) -> int:
    """Judges what `up` would do, from the engine's events of a real preview; its exit code is the audit's verdict."""
    directory = Path("build") / chosen.stack / "audit"
    log = directory / "preview.log"
    with _opened("audit", chosen.stack) as operation:
        print(f"Previewing {chosen.stack} with the policy pack …", flush=True)
        result = operation.run("preview", output=ROOT / log)
    if result.was_interrupted:
        return _stopped("audit", chosen.stack, result)
    if result.code and not result.account.stopped_by_policy:
        # An engine that could not even begin has no events; then its last words are the reason.
        last_words = (ROOT / log).read_text(encoding="utf-8", errors="replace").strip().splitlines()[-5:]
        print("\n".join(result.account.real_errors or last_words), file=sys.stderr)
        _report(operation.stack, result.account)  # so that no older report is taken for this one's
        return _say(f"No verdict: the preview itself failed, as told above; all it said is in {log}.", 1)
    return _report(operation.stack, result.account)


def diff(chosen: argparse.Namespace) -> int:
    """Says what changes between a base and the working tree, and in which order it must happen."""
    found = base.find(ROOT, chosen.base)
    name, directory = chosen.stack, Path("build") / chosen.stack / "diff"
    _sound(name)
    with _ending_on_termination():
        sides = difference.compare(ROOT, _engine(), found, name)
    difference.write(sides, ROOT / directory)
    difference.tell(sides, directory)
    return sides.code


def review(chosen: argparse.Namespace) -> int:
    """Does what continuous integration does with a pull request: diff and audit, of one stack or all."""
    found = base.find(ROOT, chosen.base)
    names = stack.names(ROOT) if chosen.stack == "all" else [chosen.stack]
    for name in names:
        stack.find(ROOT, name)
    with _ending_on_termination():
        return reviews.review(
            ROOT,
            _engine(),
            found,
            names,
            lambda name, account, into: _report(stack.load(ROOT, name), account, into),
        )


def plan(chosen: argparse.Namespace) -> int:
    """Shows where everything would run, without an engine."""
    return check.show_plan(["--stack-file", str(stack.find(ROOT, chosen.stack).relative_to(ROOT))])


def pin_pools(chosen: argparse.Namespace) -> int:
    """Writes the pools that the plan chose into the stack file, and says what it wrote."""
    file = stack.find(ROOT, chosen.stack)
    print("\n".join(pin.report(file.relative_to(ROOT), pin.pin(file))))
    return 0


def destroy(chosen: argparse.Namespace) -> int:
    """Takes a stack down; a rendered lab leaves nothing behind, not even its state."""
    name = chosen.stack
    judged = stack.load(ROOT, name)
    if not judged.is_disposable and chosen.confirm != name:
        raise UserError(f"{name} is no rendered lab. To take it down, say so: make destroy STACK={name} CONFIRM={name}")
    with _opened("destroy", name) as operation:
        if operation.workspace.state_file and not operation.workspace.has_state:
            return _say(f"There is no stack {name} in build/state: nothing to destroy.", 0)
        operation.open(keep_secrets=True)
        result = operation.run("destroy")
        if result.code or result.was_interrupted:
            return _stopped("destroy", name, result)
        print(f"\n{counted(result.account)}")
        if operation.stack.is_disposable:
            operation.forget()
            shutil.rmtree(operation.workspace.directory, ignore_errors=True)
    return 0


def clean_up(_chosen: argparse.Namespace) -> int:
    """Removes what can be made again; what stands for live machines stays."""
    kept = clean.clean(ROOT, lambda name: stack.load(ROOT, name).is_disposable)
    for name in kept:
        print(f"Kept build/{name} and its state: it is no rendered lab. `make destroy STACK={name}` takes it down.")
    return 0


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "up": up,
    "preview": preview,
    "audit": audit,
    "diff": diff,
    "review": review,
    "plan": plan,
    "pin": pin_pools,
    "destroy": destroy,
    "clean": clean_up,
}


def counted(account: Account) -> str:
    """What a run changed, in a sentence."""
    same = account.changes.get("same", 0)
    changed = [f"{count} {KINDS[kind]}" for kind, count in account.changed.items() if kind in KINDS]
    if not changed:
        return f"Nothing changed: all {same} resources stand as the stack file has them."
    return f"{', '.join(changed)}" + (f"; {same} unchanged." if same else ".")


@contextmanager
def _opened(command: Command, name: str) -> Generator[Operation]:
    """An operation on a stack whose settings are sound and whose secrets can be reached, or a refusal."""
    judged = _sound(name)
    workspace = stack.main_workspace(ROOT, name, os.environ)
    access = passphrase.choose(command, judged, workspace, os.environ)
    if access.note:
        print(access.note, flush=True)
    engine = _engine()
    if access.is_scratch:
        with stack.scratch_workspace(ROOT, name) as place:
            operation = Operation(engine, judged, place, passphrase.throw_away())
            operation.open(keep_secrets=False)
            yield operation
        return
    if access.make_up:
        passphrase.make_up(access.make_up)
    operation = Operation(engine, judged, workspace, access.variables)
    if command != "destroy":
        operation.open(keep_secrets=True)
        _give_made_up_secret(operation, may_make=command == "up")
    yield operation


def _engine() -> Engine:
    engine = Engine.load(ROOT / ".venv" / MANIFEST)
    if engine is None:
        raise UserError("The engine is not set up; run `make setup`.")
    return engine


@contextmanager
def _ending_on_termination() -> Generator[None]:
    """Lets a plain termination clean up like Ctrl-C does."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _give_made_up_secret(operation: Operation, *, may_make: bool) -> None:
    """Gives a lab that has no root secret of its own the one that was made up for it, on its first `up`.

    Only where the state is this clone's own: in a shared one somebody else would have another.
    """
    workspace = operation.workspace
    if not operation.stack.may_make_up_secrets or workspace.backend != stack.default_backend(ROOT):
        return
    file = workspace.root_secret_file
    if may_make and passphrase.make_up(file):
        print("A root secret was made up for this lab; its services' passwords derive from it.", flush=True)
    if file.is_file():
        operation.give_root_secret(file.read_text(encoding="utf-8").strip())


def _sound(name: str) -> Stack:
    """The stack, if its settings are sound; said in well under a second, before any engine starts."""
    file = stack.find(ROOT, name)
    if check.main(["--check", str(file.relative_to(ROOT))]) != 0:
        raise UserError(f"Nothing was done: {file.relative_to(ROOT)} is refused, as told above.")
    return stack.load(ROOT, name)


def _stopped(command: Command, name: str, result: Result) -> int:
    """Why an operation did not come to its end, and what to do."""
    account = result.account
    if result.was_interrupted:
        return _say(f"\nInterrupted. `make {command} STACK={name}` goes on from here.", 130)
    if account.stopped_by_policy:
        unchanged = " Nothing was changed." if command == "up" and account.is_preview else ""
        text = f"\nThe policies forbid this: {account.violations} findings of mandatory rules, listed above.{unchanged}"
        return _say(f"{text}\n`make audit STACK={name}` tells the source of each rule and how to comply.", 1)
    return _say(f"\n`{command}` of {name} failed; the reason stands above.", 1)


def _report(judged: Stack, account: Account, into: Path | None = None) -> int:
    """The audit's verdict on a run's events; the report's own exit code.

    `into` is another directory than the stack's own: plan.json is of the working tree, and says nothing of its base.
    """
    build = Path("build") / judged.name
    out = into or build / "audit"
    events = out / "events.jsonl"
    account.write(events)
    command = [sys.executable, "-m", "audit", "--events", str(events), "--stack", judged.name]
    command += ["--out", str(out), "--stack-file", str(judged.file.relative_to(ROOT))]
    command += ["--plan", str(build / "plan.json")] if out == build / "audit" else []
    sys.stdout.flush()
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _say(text: str, code: int) -> int:
    print(text, file=sys.stderr if code else sys.stdout, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
