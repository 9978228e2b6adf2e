"""The report of trials with real services or machines: acknowledged and lost writes (report.json and report.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

F = TypeVar("F", bound=Callable[..., object])


@dataclass(frozen=True)
class Proof:
    """The result of a trial with real services or machines, such as the failure of a member under load."""

    name: str
    tried: int
    """Number of writes or messages that clients sent."""
    acknowledged: int
    lost: int
    """Number of acknowledged writes or messages that are missing after the trial."""
    seconds: float
    notes: tuple[str, ...] = ()
    """Further observations for the report, such as recovery times and rejected writes."""
    failure: str = ""
    """The error that made the trial fail; empty if there was none."""
    has_writes: bool = True
    """Whether clients write during the trial. If not, its figures are 0."""

    @property
    def holds(self) -> bool:
        """Whether the trial passed: no error, no lost write, and at least one acknowledged write if clients write."""
        return not self.failure and not self.lost and (self.acknowledged > 0 or not self.has_writes)


def without_writes(name: str, seconds: float, notes: Sequence[str] = (), failure: str = "") -> Proof:
    """Returns the result of a trial in which no client writes."""
    return Proof(name, 0, 0, 0, seconds, tuple(notes), failure, has_writes=False)


def in_turn(service: str, failures: Sequence[F], trial: Callable[[str, F], Proof], notes: Sequence[str]) -> list[Proof]:
    """Runs a trial for each failure until a trial does not pass. Returns the results.

    The docstring of a failure is the name of its trial. `notes`: observations before the first failure, which are added
    to the first result.
    """
    proofs: list[Proof] = []
    for failure in failures:
        proof = trial(f"{service}: {(failure.__doc__ or '').strip().rstrip('.')}", failure)
        proofs.append(proof if proofs else replace(proof, notes=(*notes, *proof.notes)))
        if not proof.holds:
            break
    return proofs


def document(proofs: Sequence[Proof], skipped: Sequence[str] = ()) -> dict[str, object]:
    """Returns the content of report.json. The verdict is `skipped` if no trial could run.

    `skipped`: reasons why trials did not run.
    """
    verdict = "skipped" if not proofs else "pass" if all(proof.holds for proof in proofs) else "fail"
    return {"verdict": verdict, "proofs": [asdict(proof) for proof in proofs], "skipped": list(skipped)}


def markdown(title: str, proofs: Sequence[Proof], skipped: Sequence[str] = ()) -> str:
    """Returns the content of report.md: a table of the results, with the notes of each trial."""
    lines = [
        f"# {title}",
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


def write(directory: Path, title: str, proofs: Sequence[Proof], skipped: Sequence[str] = ()) -> Path:
    """Writes report.json and report.md into a directory. Returns the path of report.md."""
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(document(proofs, skipped), indent=2)
    (directory / "report.json").write_text(text + "\n", encoding="utf-8")
    path = directory / "report.md"
    path.write_text(markdown(title, proofs, skipped), encoding="utf-8")
    return path
