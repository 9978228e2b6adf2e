"""Helper by which tests check the results of trials with real services."""

from __future__ import annotations

from collections.abc import Iterable

from trials.services.run import line
from trials.trial_report import Proof


def judge(proofs: Iterable[Proof]) -> None:
    """Prints the results of trials, and fails if a trial did not pass."""
    proofs = list(proofs)
    for proof in proofs:
        print(line(proof), *proof.notes, sep="\n    ")
    assert proofs
    assert all(proof.holds for proof in proofs)
