"""Measures planning, previews, the policy pack and unchanged updates of stacks.

Previews and updates are compared with those of a bare Pulumi program, which has as many ConfigMaps as the stack has
resources.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from commands import build_directory, stack
from commands.bench.measure import Cost, measured
from commands.engine import passphrase
from commands.engine.operation import PACK, Operation
from console.errors import UserError
from toolchain.engine import Engine

STACKS = ("ra100", "prod", "ra500", "ra1000")
"""One stack for each of 100, 300, 500 and 1000 computes."""

PREVIEW, UPDATE, SHARE, MEMORY = 1.4, 1.3, 0.25, 1024
"""Goals: time of a preview and of an unchanged `up`, each relative to the bare program's; the policy pack's share of a
preview; memory in MiB."""

BARE = '''"""As many ConfigMaps as the stack has resources, and nothing else."""

import pulumi
import pulumi_kubernetes as kubernetes

provider = kubernetes.Provider("render", render_yaml_to_directory="manifests")
for number in range({count}):
    kubernetes.core.v1.ConfigMap(
        f"bare-{{number}}",
        metadata={{"name": f"bare-{{number}}"}},
        data={{"key": "value"}},
        opts=pulumi.ResourceOptions(provider=provider),
    )
'''


@dataclass(frozen=True)
class BenchRow:
    """Measurements of one stack: medians of the runs; for memory, the maximum of the runs."""

    computes: int
    resources: int
    planning: float
    """Seconds to load and plan the stack file."""
    bare: Cost
    """Preview of a bare Pulumi program with as many resources as the stack."""
    preview: Cost
    """Preview of the stack without the policy pack."""
    with_pack: Cost
    """Preview of the stack with the policy pack."""
    bare_up: Cost
    """Unchanged `up` of the bare program."""
    up: Cost
    """Unchanged `up` of the stack with the policy pack: `quorate up` ends after a preview without changes."""


@dataclass(frozen=True)
class Subjects:
    """The stacks and programs that each round of the benchmark measures."""

    new: Operation
    """The stack in an empty state."""
    deployed: Operation
    """The stack after its first `up`."""
    bare: Path
    """Directory of the bare program, which has a stack `new` and a deployed stack `bare` in the backend of
    `deployed`."""


def bench(root: Path, engine: Engine, stacks: Sequence[str], repeat: int) -> None:
    """Prints a line of measurements for each stack, and the goals. `repeat`: number of runs of each measurement."""
    columns = f"{'bare':>7} {'preview':>8} {'ratio':>6} {'+ pack':>7} {'adds':>5} {'share':>6}"
    updates = f"{'bare up':>8} {'up':>7} {'ratio':>6} {'memory':>9} {'bare':>9}"
    print(f"{'computes':>8} {'resources':>9} {'plan':>8} {columns} {updates}")
    for name in stacks:
        print(_line(measure(root, engine, name, repeat)), flush=True)
    print(
        f"goals: preview at most {PREVIEW} and unchanged up at most {UPDATE} times the bare program's, "
        f"the pack's share of a preview with it at most {SHARE:.0%}, memory below {MEMORY} MiB"
    )


def _line(row: BenchRow) -> str:
    pack = row.with_pack.seconds / row.preview.seconds - 1
    share = 1 - row.preview.seconds / row.with_pack.seconds
    return (
        f"{row.computes:>8} {row.resources:>9} {row.planning:>6.2f} s {row.bare.seconds:>5.1f} s "
        f"{row.preview.seconds:>6.1f} s {row.preview.seconds / row.bare.seconds:>6.2f} {row.with_pack.seconds:>5.1f} s "
        f"{pack:>5.0%} {share:>6.0%} {row.bare_up.seconds:>6.1f} s {row.up.seconds:>5.1f} s "
        f"{row.up.seconds / row.bare_up.seconds:>6.2f} {row.with_pack.memory:>5.0f} MiB {row.bare.memory:>5.0f} MiB"
    )


def measure(root: Path, engine: Engine, name: str, repeat: int) -> BenchRow:
    """Measures planning, previews and updates of one stack; previews and updates `repeat` times."""
    started = time.monotonic()
    original = stack.load(root, name)
    planned = original.plan
    planning = time.monotonic() - started
    renamed = replace(original, name=f"bench-{secrets.token_hex(8)}")
    rendered = build_directory.of_stack(root, renamed.name)
    try:
        with (
            stack.temporary_workspace(root, renamed.name) as empty,
            stack.temporary_workspace(root, renamed.name) as workspace,
        ):
            deployed = Operation(engine, renamed, workspace, passphrase.temporary_passphrase(), pack=None)
            new = replace(deployed, workspace=empty)
            new.open(keep_secrets=False)
            resources = _deploy(deployed)
            subjects = Subjects(new, deployed, _bare_program(deployed, workspace.directory / "bare", resources))
            rounds = [_round(root, subjects) for _ in range(repeat)]
    finally:
        build_directory.remove(rendered)
    return BenchRow(len(planned.pool("compute")), resources, planning, *map(_median, zip(*rounds, strict=True)))


def _deploy(operation: Operation) -> int:
    """Runs the first `up` of the operation's stack. Returns the number of its resources."""
    operation.open(keep_secrets=False)
    operation.give_root_secret(secrets.token_urlsafe(48))
    log = operation.workspace.directory / "up.log"
    result = operation.run("up", output=log)
    if result.was_interrupted:
        raise KeyboardInterrupt
    if result.code:
        output = log.read_text(encoding="utf-8", errors="replace")[-3000:]
        raise UserError(f"{output}\n{operation.stack.name} could not be rendered (see above): nothing was measured.")
    return sum(result.summary.changes.values())


def _round(root: Path, subjects: Subjects) -> tuple[Cost, ...]:
    """Runs each measurement once, in the order of BenchRow's fields.

    So a change of the machine's load affects all fields.
    """
    pulumi = subjects.new.engine.pulumi
    new, deployed = _environment(subjects.new), _environment(subjects.deployed)
    preview = [pulumi, "preview", *_stack_options(subjects.new)]
    unchanged = [pulumi, "preview", *_stack_options(subjects.deployed)]
    return (
        measured([pulumi, "preview", "--stack", "new"], subjects.bare, deployed),
        measured(preview, root, new),
        measured([*preview, "--policy-pack", PACK], root, new),
        measured([pulumi, "up", "--yes", "--stack", "bare"], subjects.bare, deployed),
        measured([*unchanged, "--expect-no-changes", "--policy-pack", PACK], root, deployed),
    )


def _stack_options(operation: Operation) -> list[str | Path]:
    return ["--stack", operation.stack.name, "--config-file", operation.workspace.stack_file]


def _bare_program(operation: Operation, directory: Path, resources: int) -> Path:
    """Writes the bare program with `resources` ConfigMaps, and deploys its stack `bare`. Returns its directory."""
    directory.mkdir()
    (directory / "Pulumi.yaml").write_text("name: bare\nruntime: python\n", encoding="utf-8")
    (directory / "__main__.py").write_text(BARE.format(count=resources), encoding="utf-8")
    for name in ("new", "bare"):
        (directory / f"Pulumi.{name}.yaml").write_text("config: {}\n", encoding="utf-8")
        _run(operation, directory, "stack", "init", name, "--non-interactive")
    _run(operation, directory, "up", "--yes", "--stack", "bare")
    return directory


def _run(operation: Operation, directory: Path, *words: str) -> None:
    measured([operation.engine.pulumi, *words], directory, _environment(operation))


def _environment(operation: Operation) -> dict[str, str]:
    """Returns the operation's environment without PYTHONDONTWRITEBYTECODE, so that Python caches bytecode as usual.

    Without the cache, each run of Quorate would compile all its modules, but each run of the bare program only one
    file.
    """
    return {name: value for name, value in operation.environment().items() if name != "PYTHONDONTWRITEBYTECODE"}


def _median(costs: Sequence[Cost]) -> Cost:
    """Returns the medians of the times and the maximum of the memory, because the memory goal is an upper limit."""
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.processor for cost in costs),
        max(cost.memory for cost in costs),
    )
