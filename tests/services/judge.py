"""The verdict of a test on proofs."""

from __future__ import annotations

from collections.abc import Iterable

from proof.services.report import Proof
from proof.services.run import line


def judge(proofs: Iterable[Proof]) -> None:
    """Prints the figures, and fails if a proof does not hold."""
    proofs = list(proofs)
    for proof in proofs:
        print(line(proof), *proof.notes, sep="\n    ")
    assert proofs
    assert all(proof.holds for proof in proofs)
