"""Runs the proofs of all services on the real programs, and writes the report."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

from proof.services import galera, rabbitmq, report
from proof.services.lab import Broken, Pod, Unavailable
from proof.services.report import Proof


def run(
    root: Callable[[], Path], pods: Mapping[str, Pod], directory: Path, *, heavy: bool, say: Callable[[str], None]
) -> bool:
    """Proves the services whose pods are given, by process (mysqld, rabbitmq), and writes `directory`/report.json.

    `root` returns the Debian root that has the programs, and raises Unavailable where there can be none; the report
    then says what was skipped, and why. Returns whether all proofs hold: a skipped one does not.
    """
    services: Mapping[str, Callable[[Pod], list[Proof]]] = {
        "mysqld": lambda pod: galera.prove(root(), pod, (*galera.QUICK, *(galera.HEAVY if heavy else ()))),
        "rabbitmq": lambda pod: rabbitmq.prove(root(), pod, (*rabbitmq.QUICK, *(rabbitmq.HEAVY if heavy else ()))),
    }
    found: list[Proof] = []
    skipped: list[str] = []
    for process, pod in pods.items():
        started = time.monotonic()
        try:
            proofs = services[process](pod)
        except Unavailable as reason:
            skipped.append(f"{process}: {reason}")
            continue
        except (Broken, TimeoutError) as reason:
            seconds = round(time.monotonic() - started, 1)
            proofs = [Proof(f"{process}: a new cluster", 0, 0, 0, seconds, failure=str(reason))]
        for proof in proofs:
            say(line(proof))
        found += proofs
    report.write(directory, found, skipped)
    return bool(found) and not skipped and all(proof.holds for proof in found)


def line(proof: Proof) -> str:
    """Returns a proof as one line."""
    outcome = "holds" if proof.holds else f"FAILS: {proof.failure or 'acknowledged writes are lost'}"
    figures = f"{proof.tried} tried, {proof.acknowledged} acknowledged, {proof.lost} lost, {proof.seconds:.0f} s"
    return f"{proof.name}: {outcome} ({figures})"
