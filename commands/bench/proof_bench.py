"""Measures how fast stacks are rendered, scheduled and started on a real control plane.

A full proof takes minutes and is not run: the table shows the time and memory of the last `quorate prove`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from commands import stack
from commands.engine.temporary_rendering import rendered
from console.errors import UserError
from console.progress import Reporter, duration
from proof.prove import ProvedStack, prove
from proof.simulation import read
from toolchain import cluster_programs

CHARTS = "QUORATE_HELM_CHARTS"
"""Environment variable with a directory of Helm charts to compare with, for example OpenStack-Helm's."""


@dataclass(frozen=True)
class Figures:
    """Measurements of one stack; `rendering` in seconds, `memory` of the control plane in MiB."""

    stack: str
    nodes: int
    pods: int
    objects: int
    rendering: float
    seconds: dict[str, float]
    memory: int


def bench(root: Path, stacks: Sequence[str], binaries: Path | None) -> None:
    """Prints a line of measurements for each stack, and the speed of `helm template` for comparison.

    `binaries`: directory with the control plane's programs; None to install them.
    """
    reporter = Reporter()
    programs = binaries or cluster_programs.ensure(reporter)
    print(
        f"{'stack':8} {'nodes':>6} {'pods':>6} {'objects/s':>10} {'scheduled':>10} {'running':>9} {'memory':>10}  "
        "last full proof"
    )
    for name in stacks:
        print(_line(root, measure(root, name, programs, reporter)), flush=True)
    print("\n".join(helm()))


def measure(root: Path, name: str, binaries: Path, reporter: Reporter) -> Figures:
    """Renders a stack, starts it on a control plane without trials, and returns the measurements."""
    found = stack.load(root, name)
    started = time.monotonic()
    with rendered(root, found) as tree:
        rendering = time.monotonic() - started
        subject = ProvedStack(name, found.settings, read(tree))
    reporter.begin(f"Starting {name} on a control plane")
    proof = prove(subject, binaries, reporter.tick, trials=())
    reporter.end()
    if not proof.holds:
        raise UserError(f"The checks of {name} fail: {proof.findings[0]}")
    nodes, pods = len(proof.cluster.nodes), len(proof.cluster.pods)
    files = len(subject.rendered.objects) + nodes
    return Figures(name, nodes, pods, files, rendering, proof.seconds, proof.memory)


def helm() -> Iterator[str]:
    """Yields a line with the objects per second of `helm template`, or the reason why it was not measured."""
    program, place = shutil.which("helm"), os.environ.get(CHARTS)
    if program is None or not place:
        missing = "helm is not on PATH" if program is None else f"{CHARTS} is not set to a directory of charts"
        yield f"helm template: not measured, {missing}"
        return
    charts = sorted(path.parent for path in Path(place).glob("*/Chart.yaml"))
    started, objects = time.monotonic(), 0
    for chart in charts:
        done = subprocess.run([program, "template", chart.name, chart], capture_output=True, text=True, check=False)
        objects += sum(line.startswith("kind: ") for line in done.stdout.splitlines())
    seconds = time.monotonic() - started
    yield f"helm template: {objects} objects of {len(charts)} charts, {objects / seconds:.0f} objects/s"


def _line(root: Path, figures: Figures) -> str:
    seconds = figures.seconds
    return (
        f"{figures.stack:8} {figures.nodes:>6} {figures.pods:>6} {figures.objects / figures.rendering:>10.0f} "
        f"{seconds['apply to all scheduled']:>8.1f} s {seconds['apply to all running']:>7.1f} s "
        f"{figures.memory:>6} MiB  {_last_proof(root, figures.stack)}"
    )


def _last_proof(root: Path, name: str) -> str:
    """Returns the time and memory of the last full proof of a stack, as text."""
    file = root / "build" / name / "proof" / "proof.json"
    if not file.is_file():
        return f"none yet: make prove STACK={name}"
    seen = json.loads(file.read_text(encoding="utf-8"))
    return f"{duration(seen['seconds']['total'])}, {seen['controlPlaneMemory']} MiB"
