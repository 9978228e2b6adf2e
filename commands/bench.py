"""`make bench`: what planning, previewing and judging cost at each size, as ratios of one run on one machine.

For each reference architecture: the plan; the preview without the policy pack, against a bare program with as many
ConfigMaps; the preview with the pack. Everything happens in throw-away states; no stack of the user's is touched.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from blueprint.plan.planner import plan
from blueprint.problems import InvalidStackError
from blueprint.stackfile.loader import load_file
from commands import passphrase, stack
from commands.measure import Cost, measured
from commands.operation import Operation
from toolchain.engine import MANIFEST, Engine
from toolchain.progress import ProgramError, UserError

ROOT = Path(__file__).resolve().parent.parent
STACKS = ("ra100", "prod", "ra500", "ra1000")
"""One stack for each of 100, 300, 500 and 1000 computes."""

RATIO, MEMORY, ADDED = 1.5, 1024, 0.25
"""Goals: preview against the bare program, MiB at the peak, what the pack adds to a preview (issue 5: a quarter)."""

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
class Row:
    """The figures of one size."""

    stack: str
    computes: int
    resources: int
    planning: float
    """Seconds from the stack file to the plan."""
    bare: Cost
    preview: Cost
    judged: Cost
    """The preview with the policy pack."""

    @property
    def ratio(self) -> float:
        return self.preview.seconds / self.bare.seconds

    @property
    def added(self) -> float:
        """What the pack adds to a preview's time, as a part of that."""
        return self.judged.seconds / self.preview.seconds - 1

    @property
    def added_processor(self) -> float:
        """The same of processor time."""
        return self.judged.processor / self.preview.processor - 1


def main(arguments: Sequence[str]) -> int:
    """Prints a table; 1 if something failed, never because of a figure: machines differ."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure plan, preview and policy pack.")
    parser.add_argument("--stack", action="append", help="one stack, several times for several; all sizes if left out")
    parser.add_argument("--repeat", type=int, default=3, help="previews of each kind; the median counts")
    chosen = parser.parse_args(arguments)
    print(f"{'computes':>8} {'resources':>9} {'plan':>8} {'bare':>7} {'preview':>8} {'ratio':>6} {'judged':>7}", end="")
    print(f" {'pack adds':>9} {'of CPU':>6} {'peak memory':>12} {'bare memory':>12}")
    try:
        for name in chosen.stack or STACKS:
            print(_line(_row(name, chosen.repeat)), flush=True)
    except KeyboardInterrupt:
        return 130
    except (UserError, ProgramError, InvalidStackError) as trouble:
        print(trouble, file=sys.stderr)
        return 1
    print(f"goals: ratio at most {RATIO}, the pack adds at most {ADDED:.0%}, memory under {MEMORY} MiB")
    return 0


def _line(row: Row) -> str:
    return (
        f"{row.computes:>8} {row.resources:>9} {row.planning:>6.2f} s {row.bare.seconds:>5.1f} s "
        f"{row.preview.seconds:>6.1f} s {row.ratio:>6.2f} {row.judged.seconds:>5.1f} s "
        f"{row.added:>9.0%} {row.added_processor:>6.0%} "
        f"{row.judged.memory:>8.0f} MiB {row.bare.memory:>8.0f} MiB"
    )


def _row(name: str, repeat: int) -> Row:
    judged_stack = stack.load(ROOT, name)
    started = time.monotonic()
    planned = plan(load_file(judged_stack.file))
    planning = time.monotonic() - started
    engine = Engine.load(ROOT / ".venv" / MANIFEST)
    if engine is None:
        raise UserError("The engine is not set up; run `make setup`.")
    bench = replace(judged_stack, name=f"bench-{name}")
    with stack.scratch_workspace(ROOT, bench.name) as workspace:
        operation = Operation(engine, bench, workspace, passphrase.throw_away())
        operation.open(keep_secrets=False)
        resources = sum(operation.run("preview", output=workspace.directory / "log").account.changes.values())
        bare = _bare_program(operation, workspace.directory / "bare", resources)
        own = [engine.pulumi, "preview", "--stack", bench.name, "--config-file", workspace.stack_file]
        # Turn by turn, so that whatever else the machine does falls on all three alike.
        turns = list(_turns(operation, own, bare, repeat))
    shutil.rmtree(ROOT / "build" / bench.name, ignore_errors=True)
    return Row(
        stack=name,
        computes=len(planned.pool("compute")),
        resources=resources,
        planning=planning,
        bare=_median([turn[0] for turn in turns]),
        preview=_median([turn[1] for turn in turns]),
        judged=_median([turn[2] for turn in turns]),
    )


def _turns(
    operation: Operation, own: Sequence[str | Path], bare: Path, repeat: int
) -> Iterator[tuple[Cost, Cost, Cost]]:
    environment = operation.environment()
    for _ in range(repeat):
        yield (
            measured([operation.engine.pulumi, "preview", "--stack", "bare"], bare, environment),
            measured(own, ROOT, environment),
            measured([*own, "--policy-pack", "policy"], ROOT, environment),
        )


def _bare_program(operation: Operation, directory: Path, resources: int) -> Path:
    directory.mkdir()
    (directory / "Pulumi.yaml").write_text("name: bare\nruntime: python\n", encoding="utf-8")
    (directory / "__main__.py").write_text(BARE.format(count=resources), encoding="utf-8")
    (directory / "Pulumi.bare.yaml").write_text("config: {}\n", encoding="utf-8")
    init = [operation.engine.pulumi, "stack", "init", "bare", "--non-interactive"]
    measured(init, directory, operation.environment())
    return directory


def _median(costs: Sequence[Cost]) -> Cost:
    """The median of the times; of the memory the largest, as a limit is about the worst."""
    return Cost(
        statistics.median(cost.seconds for cost in costs),
        statistics.median(cost.processor for cost in costs),
        max(cost.memory for cost in costs),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
