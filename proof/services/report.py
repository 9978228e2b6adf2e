"""build/services/report.json and report.md: what each proof tried, what was acknowledged, and what was lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Proof:
    """The outcome of one failure of a real service."""

    name: str
    tried: int
    """Writes, or messages, that clients sent."""
    acknowledged: int
    lost: int
    """Of the acknowledged ones, those that are not there afterwards."""
    seconds: float
    notes: tuple[str, ...] = ()
    """What was seen besides: times, refusals, contradictions."""
    failure: str = ""
    """What is wrong; empty if the proof holds."""

    @property
    def holds(self) -> bool:
        """Whether the failure was survived without loss, with at least one acknowledged write."""
        return not self.failure and not self.lost and self.acknowledged > 0


def in_turn(service: str, failures: Sequence[F], trial: Callable[[str, F], Proof], notes: Sequence[str]) -> list[Proof]:
    """Tries failures one after the other, until one is not survived. A failure's docstring names its proof.

    `notes`: what was seen before the first failure, which go with its proof.
    """
    proofs: list[Proof] = []
    for failure in failures:
        proof = trial(f"{service}: {(failure.__doc__ or '').strip().rstrip('.')}", failure)
        proofs.append(proof if proofs else replace(proof, notes=(*notes, *proof.notes)))
        if not proof.holds:
            break
    return proofs


def document(proofs: Sequence[Proof], skipped: Sequence[str] = ()) -> dict[str, object]:
    """Returns the report. The verdict is `skipped` if nothing could be run."""
    verdict = "skipped" if not proofs else "pass" if all(proof.holds for proof in proofs) else "fail"
    return {"verdict": verdict, "proofs": [asdict(proof) for proof in proofs], "skipped": list(skipped)}


def markdown(proofs: Sequence[Proof], skipped: Sequence[str] = ()) -> str:
    """Returns the report for people."""
    lines = [
        "# Real services",
        "",
        f"Verdict: {document(proofs, skipped)['verdict']}",
        "",
        "| proof | tried | acknowledged | lost | seconds | holds |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for each in proofs:
        holds = "yes" if each.holds else "no"
        lines.append(
            f"| {each.name} | {each.tried} | {each.acknowledged} | {each.lost} | {each.seconds:.0f} | {holds} |"
        )
    for each in proofs:
        said = [*each.notes, *([f"FAILS: {each.failure}"] if each.failure else [])]
        if said:
            lines += ["", f"## {each.name}", "", *(f"- {note}" for note in said)]
    if skipped:
        lines += ["", "## Skipped", "", *(f"- {each}" for each in skipped)]
    return "\n".join(lines) + "\n"


def write(directory: Path, proofs: Sequence[Proof], skipped: Sequence[str] = ()) -> Path:
    """Writes report.json and report.md into a directory, and returns the latter's path."""
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document(proofs, skipped), indent=2)
    (directory / "report.json").write_text(text + "\n", encoding="utf-8")
    path = directory / "report.md"
    path.write_text(markdown(proofs, skipped), encoding="utf-8")
    return path
