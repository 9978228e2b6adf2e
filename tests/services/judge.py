"""Helper by which tests check the results of trials with real services."""

from __future__ import annotations

from collections.abc import Iterable

from proof.services.report import Proof
from proof.services.run import line


def judge(proofs: Iterable[Proof]) -> None:
    """Prints the results of trials, and fails if a trial did not pass."""
    proofs = list(proofs)
    for proof in proofs:
        print(line(proof), *proof.notes, sep="\n    ")
    assert proofs
    assert all(proof.holds for proof in proofs)
