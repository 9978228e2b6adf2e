"""`quorate bench`: measures planning, previews, the policy pack, unchanged updates and proofs.

Everything runs in temporary states; no stack of the user is touched. The exit code does not depend on the measured
figures, because they vary with the machine.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from commands.bench import preview_bench, proof_bench
from toolchain.engine import installed

LARGE, PLANNING = 10_000, 1.0
"""Number of computes in the planning benchmark, and its goal in seconds of processor time."""


def bench(root: Path, stacks: Sequence[str] | None, repeat: int, binaries: Path | None) -> int:
    """Prints the planning time, a table for previews and updates, and a table for proofs.

    `stacks`: names of the stacks to measure; None for the default ones. `repeat`: previews and updates of each stack.
    `binaries`: directory with the control plane's programs; None to install them.
    """
    seconds = planning(root)
    print(f"planning {LARGE} computes: {seconds:.2f} s of CPU (goal: below {PLANNING:.0f} s)\n", flush=True)
    preview_bench.bench(root, installed(root), stacks or preview_bench.STACKS, repeat)
    print()
    proof_bench.bench(root, stacks or preview_bench.STACKS, binaries)
    return 0


def planning(root: Path) -> float:
    """Returns the processor time in seconds to plan a stack file with LARGE computes, the fastest of three runs."""
    text = (root / "examples" / "ra1000.yaml").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "large.yaml"
        file.write_text(_enlarged(text), encoding="utf-8")
        return min(_planned(file) for _ in range(3))


def _enlarged(text: str) -> str:
    """Returns the text of examples/ra1000.yaml, changed to LARGE computes and to networks large enough for them."""
    for old, new in (
        ("name: cmp[0001-1000]", f"name: cmp[00001-{LARGE}]"),
        ("management: 10.20.0.0/16", "management: 10.16.0.0/12\n    pods: 100.64.0.0/10"),
    ):
        if old not in text:
            raise ValueError(f"examples/ra1000.yaml does not contain {old!r}")
        text = text.replace(old, new)
    return text


def _planned(file: Path) -> float:
    started = time.process_time()
    plan(load_file(file))
    return time.process_time() - started
