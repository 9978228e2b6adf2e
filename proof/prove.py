"""Proves a stack: deploys it to a simulated cluster, checks the cluster, and runs trials such as server failures."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from blueprint.stackfile.settings import Settings
from proof import drains, faults, rollouts, scaling
from proof.checks import check_cluster
from proof.cluster import ClusterState
from proof.drains import Drain
from proof.expected import ExpectedState, expected_state
from proof.faults import TriedLoss
from proof.rollouts import Rollout
from proof.scaling import ScalingTrial
from proof.simulation import Progress, Rendered, SimulatedCluster, simulated_cluster
from proof.violations import Violation

TRIALS = ("faults", "rollouts", "drains", "scaling")


@dataclass
class StackProof:
    """The result of proving one stack: the findings, and the measurements of each trial."""

    stack: str
    state: ExpectedState
    cluster: ClusterState
    """The cluster before the trials, from which the report takes its numbers of nodes, pods and instances."""
    objects: int
    findings: list[Violation] = field(default_factory=list[Violation])
    losses: list[TriedLoss] = field(default_factory=list[TriedLoss])
    rollouts: list[Rollout] = field(default_factory=list[Rollout])
    drains: list[Drain] = field(default_factory=list[Drain])
    scaling_trials: list[ScalingTrial] = field(default_factory=list[ScalingTrial])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    memory: int = 0
    """Sum of the peak memory of the control plane's programs, in MiB."""
    trials: tuple[str, ...] = ()
    """Names of the trials that ran."""

    @property
    def holds(self) -> bool:
        """Whether the proof has no findings."""
        return not self.findings


@dataclass(frozen=True)
class ProvedStack:
    """A stack to prove: its name, the settings of its stack file, and its rendered tree."""

    stack: str
    settings: Settings
    rendered: Rendered


def prove(subject: ProvedStack, binaries: Path, say: Progress, trials: Collection[str] = TRIALS) -> StackProof:
    """Proves one stack: runs the checks and then the trials.

    If the first checks fail, the trials are skipped, because they would repeat the findings. `binaries`: directory with
    the control plane's programs. `say`: function that receives the progress.
    """
    started = time.monotonic()
    state = expected_state(subject.settings)
    with simulated_cluster(
        subject.rendered, state, binaries, say, str(subject.settings.networks.services)
    ) as simulated:
        proof = StackProof(
            subject.stack, state, simulated.cluster(), len(subject.rendered.objects), list(simulated.findings)
        )
        proof.findings += check_cluster(state, proof.cluster)
        proof.seconds.update(simulated.seconds)
        if proof.holds:
            proof.trials = tuple(trial for trial in TRIALS if trial in trials)
            for trial in proof.trials:
                _timed(proof, trial, lambda chosen=trial: _try(proof, simulated, subject.settings, chosen, say))
                _check_again(proof, simulated, trial)
        proof.memory = simulated.plane.processes.peak_memory()
    proof.findings = sorted(set(proof.findings))
    proof.seconds["total"] = time.monotonic() - started
    return proof


def _try(proof: StackProof, simulated: SimulatedCluster, settings: Settings, trial: str, say: Progress) -> None:
    if trial == "faults":
        proof.losses, findings = faults.fail_each_server(simulated, say)
    elif trial == "rollouts":
        proof.rollouts, findings = rollouts.roll_each(simulated, say)
    elif trial == "drains":
        proof.drains, findings = drains.drain_each(simulated, say)
    else:
        proof.scaling_trials, findings = scaling.run_scaling_trials(simulated, settings, say)
    proof.findings += findings


def _check_again(proof: StackProof, simulated: SimulatedCluster, trial: str) -> None:
    """Repeats the checks after a trial. Findings mean that the cluster has not fully recovered from the trial."""
    simulated.wait_ready()
    for finding in check_cluster(proof.state, simulated.cluster()):
        proof.findings.append(Violation(finding.check, finding.subject, f"after {trial}: {finding.message}"))


def _timed(proof: StackProof, what: str, work: Callable[[], None]) -> None:
    started = time.monotonic()
    work()
    proof.seconds[what] = time.monotonic() - started
