"""What a run found, as Markdown: the score of each package, and the changes that no test noticed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.mutants.sample import PACKAGES
from tests.mutants.trial import MutantTrial, Outcome

GOAL = 90
"""Per cent of the changes that tests should notice (project figure)."""


def score(trials: Sequence[MutantTrial]) -> float:
    """Returns the per cent of changes that a test noticed, of those whose tests ran."""
    counted = [each for each in trials if each.outcome is not Outcome.NOT_RUN]
    return 100 * sum(each.outcome.is_killed for each in counted) / len(counted) if counted else 0.0


def text(trials: Sequence[MutantTrial], seed: int, left: int) -> str:
    """Returns the report: `left` is the number of chosen changes that there was no time for."""
    return "\n".join(_lines(trials, seed, left)) + "\n"


def _lines(trials: Sequence[MutantTrial], seed: int, left: int) -> Iterator[str]:
    rest = f"; no time for {left} more" if left else ""
    yield f"{len(trials)} changes, seed {seed}: tests noticed {score(trials):.0f} %, of {GOAL} % wanted{rest}."
    yield ""
    yield "| package | changes | noticed | do not end | survived | no test runs it | score |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for package in PACKAGES:
        of_it = [each for each in trials if each.mutant.path.startswith(f"{package}/")]
        counts = [
            sum(each.outcome is outcome for each in of_it)
            for outcome in (Outcome.NOTICED, Outcome.ENDLESS, Outcome.SURVIVED, Outcome.UNSEEN)
        ]
        yield f"| {package} | {len(of_it)} | {' | '.join(map(str, counts))} | {score(of_it):.0f} % |"
    for each in sorted((each for each in trials if not each.outcome.is_killed), key=lambda each: each.mutant):
        yield ""
        yield f"{each.mutant.path}:{each.mutant.line} {each.outcome}, {each.tests} tests"
        yield ""
        yield from (f"    {line}" for line in each.change)
