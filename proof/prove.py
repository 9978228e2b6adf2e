"""The whole proof of a stack: it stands up, is judged, and goes through its trials. A `Proof` is what was seen."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.stackfile.settings import Settings
from proof import drains, faults, rollouts, scaling
from proof.checks import judge
from proof.cluster import Cluster
from proof.drains import Drain
from proof.expected import Norm, norm_of
from proof.faults import Loss
from proof.rollouts import Rollout
from proof.scaling import Overreach
from proof.simulation import Progress, Rendered, Stand, standing
from proof.violations import Finding

TRIALS = ("faults", "rollouts", "drains", "scaling")


@dataclass
class Proof:
    """What the proof saw of one stack."""

    stack: str
    norm: Norm
    cluster: Cluster
    """The cluster when it first stood: the rows are counted here."""
    objects: int
    findings: list[Finding] = field(default_factory=list[Finding])
    losses: list[Loss] = field(default_factory=list[Loss])
    rollouts: list[Rollout] = field(default_factory=list[Rollout])
    drains: list[Drain] = field(default_factory=list[Drain])
    overreaches: list[Overreach] = field(default_factory=list[Overreach])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    memory: int = 0
    """MiB that all programs of the control plane used at their peaks, summed."""
    trials: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.findings


@dataclass(frozen=True)
class Subject:
    """What is to be proved."""

    stack: str
    settings: Settings
    rendered: Rendered


def prove(subject: Subject, binaries: Path, say: Progress, trials: Collection[str] = TRIALS) -> Proof:
    """Proves one stack. A stack that does not stand is not put to trials: they would only repeat its findings."""
    started = time.monotonic()
    norm = norm_of(subject.settings)
    with standing(subject.rendered, norm, binaries, say, str(subject.settings.networks.services)) as stand:
        proof = Proof(subject.stack, norm, stand.cluster(), len(subject.rendered.objects), list(stand.findings))
        proof.findings += judge(norm, proof.cluster)
        proof.seconds.update(stand.seconds)
        if proof.holds:
            proof.trials = tuple(trial for trial in TRIALS if trial in trials)
            for trial in proof.trials:
                _timed(proof, trial, lambda chosen=trial: _try(proof, stand, subject.settings, chosen, say))
                _judge_again(proof, stand, trial)
        proof.memory = stand.plane.processes.peak_memory()
    proof.findings = sorted(set(proof.findings))
    proof.seconds["total"] = time.monotonic() - started
    return proof


def _try(proof: Proof, stand: Stand, settings: Settings, trial: str, say: Progress) -> None:
    if trial == "faults":
        proof.losses, findings = faults.lose_each(stand, say)
    elif trial == "rollouts":
        proof.rollouts, findings = rollouts.roll_each(stand, say)
    elif trial == "drains":
        proof.drains, findings = drains.drain_each(stand, say)
    else:
        proof.overreaches, findings = scaling.overreach_each(stand, settings, say)
    proof.findings += findings


def _judge_again(proof: Proof, stand: Stand, trial: str) -> None:
    """After a trial the cluster must be as good as before."""
    stand.await_whole()
    for finding in judge(proof.norm, stand.cluster()):
        proof.findings.append(Finding(finding.check, finding.subject, f"after {trial}: {finding.message}"))


def _timed(proof: Proof, what: str, work: Callable[[], None]) -> None:
    started = time.monotonic()
    work()
    proof.seconds[what] = time.monotonic() - started
