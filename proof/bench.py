"""`python -m proof.bench`: what standing a stack up costs at each size, and how fast its objects are rendered.

Figures of one run on this machine: to compare two states of the code, not for promises. A whole proof takes minutes
and is not run again here: its time and memory are those of the last `make prove`, where there was one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from blueprint.stackfile.loader import load_file
from commands import stack
from proof.__main__ import ROOT, STACKS
from proof.prove import Subject, prove
from proof.render import rendered
from proof.simulation import read
from toolchain import cluster_programs
from toolchain.progress import ProgramError, Reporter, UserError, duration

CHARTS = "QUORATE_HELM_CHARTS"
"""A directory of comparable charts (OpenStack-Helm's, say), for the comparison with `helm template`."""


@dataclass(frozen=True)
class Figures:
    """One size."""

    stack: str
    nodes: int
    pods: int
    objects: int
    rendering: float
    seconds: dict[str, float]
    memory: int


def main(arguments: Sequence[str]) -> int:
    """Prints a table; 1 where a stack does not stand."""
    parser = argparse.ArgumentParser(prog="bench", description="Measure how stacks stand up on a real control plane.")
    parser.add_argument("--stack", action="append", help="one stack, several times for several; all sizes if left out")
    parser.add_argument("--binaries", help="a directory with the control plane's programs")
    chosen = parser.parse_args(arguments)
    os.chdir(ROOT)
    reporter = Reporter()
    try:
        binaries = Path(chosen.binaries).resolve() if chosen.binaries else cluster_programs.bring(reporter)
        print(
            f"{'stack':8} {'nodes':>6} {'pods':>6} {'objects/s':>10} {'scheduled':>10} {'running':>9} {'memory':>10}  "
            "last whole proof"
        )
        for name in chosen.stack or STACKS.values():
            print(_line(measure(name, binaries, reporter)), flush=True)
        print("\n".join(helm()))
    except KeyboardInterrupt:
        return 130
    except (UserError, ProgramError) as trouble:
        reporter.say(str(trouble))
        return 1
    return 0


def measure(name: str, binaries: Path, reporter: Reporter) -> Figures:
    """Renders a stack and stands it up, without trials."""
    settings = load_file(stack.find(ROOT, name))
    started = time.monotonic()
    with rendered(ROOT, name) as tree:
        rendering = time.monotonic() - started
        subject = Subject(name, settings, read(tree))
    reporter.begin(f"Standing {name} up")
    proof = prove(subject, binaries, reporter.tick, trials=())
    reporter.end()
    if not proof.holds:
        raise UserError(f"{name} does not stand: {proof.findings[0]}")
    nodes, pods = len(proof.cluster.nodes), len(proof.cluster.pods)
    files = len(subject.rendered.objects) + nodes
    return Figures(name, nodes, pods, files, rendering, proof.seconds, proof.memory)


def helm() -> Iterator[str]:
    """Objects per second of `helm template`, where helm and charts are at hand."""
    program, place = shutil.which("helm"), os.environ.get(CHARTS)
    if program is None or not place:
        missing = "helm is not on PATH" if program is None else f"{CHARTS} names no directory of charts"
        yield f"helm template: not measured, {missing}"
        return
    charts = sorted(path.parent for path in Path(place).glob("*/Chart.yaml"))
    started, objects = time.monotonic(), 0
    for chart in charts:
        done = subprocess.run([program, "template", chart.name, chart], capture_output=True, text=True, check=False)
        objects += sum(line.startswith("kind: ") for line in done.stdout.splitlines())
    seconds = time.monotonic() - started
    yield f"helm template: {objects} objects of {len(charts)} charts, {objects / seconds:.0f} objects/s"


def _line(figures: Figures) -> str:
    seconds = figures.seconds
    return (
        f"{figures.stack:8} {figures.nodes:>6} {figures.pods:>6} {figures.objects / figures.rendering:>10.0f} "
        f"{seconds['apply to all scheduled']:>8.1f} s {seconds['apply to all running']:>7.1f} s "
        f"{figures.memory:>6} MiB  {_last_proof(figures.stack)}"
    )


def _last_proof(name: str) -> str:
    """Time and memory of the last whole proof of a stack, trials included."""
    file = ROOT / "build" / name / "proof" / "proof.json"
    if not file.is_file():
        return f"none yet: make prove STACK={name}"
    seen = json.loads(file.read_text(encoding="utf-8"))
    return f"{duration(seen['seconds']['total'])}, {seen['controlPlaneMemory']} MiB"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
