"""The report of drills: a JSON document, and a page with a timeline of every quorum and API."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from files import atomic
from trials.cloud.drill.result import Drill, Members

JSON, PAGE = "drill.json", "drill.html"
WIDTH, LEFT, LANE, TOP = 960.0, 205.0, 30.0, 22.0
"""Sizes of a picture in SVG units: where time ends and begins, the height of a row and of the time scale."""
RIGHT = 20.0
"""Margin in SVG units: half of a number of the time scale, which stands centred above its mark."""
TICKS = (1, 5, 10, 30, 60, 120)
"""Minutes between two marks of the time scale: the first number that needs no more than `MARKS`, else the last."""
MARKS = 14
"""Marks whose numbers have room beside each other."""


@dataclass(frozen=True)
class Bar:
    """A period in a row: its place, the class of its colour, and the text that a pointer shows."""

    x: float
    width: float
    state: str
    title: str


@dataclass(frozen=True)
class ReportRow:
    """A row of a picture."""

    name: str
    y: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Picture:
    """The timeline of a drill."""

    rows: tuple[ReportRow, ...]
    ticks: tuple[tuple[float, str], ...]
    disturbed: tuple[float, float]
    """Where the disturbance begins and ends."""
    height: float


def write(drills: Sequence[Drill], directory: Path) -> None:
    """Writes both documents into the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    verdict = "failed" if any(drill.problems() for drill in drills) else "passed"
    document = {"verdict": verdict, "drills": [_facts(drill) for drill in drills]}
    atomic.write(directory / JSON, json.dumps(document, indent=2) + "\n")
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template("page.html").render(
        verdict=verdict,
        views=[(drill, picture(drill)) for drill in drills],
        when=f"{datetime.fromtimestamp(drills[0].started, UTC):%Y-%m-%d %H:%M} UTC",
        width=WIDTH + RIGHT,
        lane=LANE,
    )
    atomic.write(directory / PAGE, page)


def _facts(drill: Drill) -> dict[str, Any]:
    """Returns a drill's facts. Times are seconds since the disturbance began."""

    def since(moment: float | None) -> float | None:
        return None if moment is None else round(moment - drill.began, 1)

    return {
        "disturbance": drill.title,
        "machines": list(drill.machines),
        "problems": drill.problems(),
        "over": since(drill.over),
        "whole": since(drill.whole),
        "apis": {
            api: {
                "requests": each.requests,
                "failed": each.failed,
                "longestSilence": round(each.longest, 1),
                "silences": [[since(start), since(end)] for start, end in each.spans],
                "reasons": dict(each.reasons),
            }
            for api, each in drill.apis.items()
        },
        "quorums": {
            quorum: {
                "members": each.total,
                "least": each.least,
                "wholeAgain": since(each.whole_again()),
                "counts": [[since(moment), count] for moment, count in each.counts],
            }
            for quorum, each in drill.quorums.items()
        },
        "writes": {kind: asdict(each) for kind, each in drill.writes.items()},
    }


def picture(drill: Drill) -> Picture:
    """Returns a drill's timeline: a row for each quorum and for each API."""
    scale = (WIDTH - LEFT) / (drill.ended - drill.started)

    def x(moment: float) -> float:
        return round(LEFT + (min(max(moment, drill.started), drill.ended) - drill.started) * scale, 1)

    def bar(start: float, end: float, state: str, title: str) -> Bar:
        return Bar(x(start), round(x(end) - x(start), 1), state, title)

    named = [
        *((quorum, [bar(*period) for period in _counts(members, drill)]) for quorum, members in drill.quorums.items()),
        *((api, [bar(*period) for period in _answers(each.spans, drill)]) for api, each in drill.apis.items()),
    ]
    rows = tuple(ReportRow(name, TOP + number * LANE, tuple(bars)) for number, (name, bars) in enumerate(named))
    ticks = tuple((x(drill.began + 60 * minute), f"{minute} min") for minute in _marks(drill))
    return Picture(rows, ticks, (x(drill.began), x(drill.over)), TOP + LANE * len(rows) + 4)


def _marks(drill: Drill) -> range:
    """Returns the minutes since the disturbance began that the time scale shows."""
    minutes = int((drill.ended - drill.began) // 60)
    tick = next((each for each in TICKS if minutes // each < MARKS), TICKS[-1])
    return range(0, minutes + 1, tick)


def _counts(members: Members, drill: Drill) -> Iterable[tuple[float, float, str, str]]:
    """Yields the periods with the same number of ready members: start, end, state and text."""
    ends = [*(moment for moment, _ in members.counts[1:]), drill.ended]
    for (start, count), end in zip(members.counts, ends, strict=True):
        state = "whole" if count == members.total else "majority" if count >= members.majority else "lost"
        yield start, end, state, f"{count} of {members.total} members ready for {end - start:.0f} s"


def _answers(silent: Iterable[tuple[float, float]], drill: Drill) -> Iterable[tuple[float, float, str, str]]:
    """Yields the periods in which an API answers, and those in which it is silent."""
    moment = drill.started
    for start, end in silent:
        yield moment, start, "whole", "answers"
        yield start, end, "lost", f"{end - start:.1f} s between two answers"
        moment = end
    yield moment, drill.ended, "whole", "answers"
