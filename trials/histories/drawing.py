"""Draws a history: a lane for each client, a mark for each operation, and the time of the fault.

`python -m trials.histories.drawing LOG TITLE BEGIN END` writes the SVG of a client's log to standard output. BEGIN and
END: the fault, in seconds after the first operation.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from trials.histories import operation
from trials.histories.operation import ClientOperation

WIDTH, LEFT, RIGHT, TOP, LANE = 960, 90, 20, 48, 22
"""Sizes in SVG units: the picture, the margin for names, that for the last number, that for the title, and a lane."""
TICK = 10
"""Seconds between two marks of the time scale."""
LEAST = 1.5
"""Width of a mark in SVG units: most operations take milliseconds."""
GAP = 0.4
"""Distance in SVG units up to which two marks are one."""
_STYLE = """\
text { font: 13px sans-serif; fill: #1b1f24 } .title { font-weight: 600 } .note { fill: #57606a }
.fault { fill: #d0d7de } .ok { fill: #116329 } .no { fill: #9a6700 } .unknown { fill: #a40e26 }
.grid { stroke: #d0d7de }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .note { fill: #9198a1 } .fault { fill: #3d444d } .ok { fill: #3fb950 } .no { fill: #d29922 }
  .unknown { fill: #f85149 } .grid { stroke: #3d444d }
}
"""
_NAMES = {"ok": "acknowledged", "no": "refused", "unknown": "no answer"}


def draw(history: Sequence[ClientOperation], title: str, begin: float, end: float) -> str:
    """Returns the history as an SVG document. `begin`, `end`: the fault, in seconds after the first operation."""
    first = min(each.invoked for each in history)
    length = max(each.completed for each in history) - first
    clients = sorted({each.process for each in history})
    bottom = TOP + LANE * len(clients)

    def place(seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * seconds / length

    ticks = range(0, int(length) + 1, TICK)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 52}" role="img">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<text class="title" x="8" y="20">{escape(title)}</text>',
        f'<rect class="fault" x="{place(begin):.1f}" y="{TOP - 12}" width="{place(end) - place(begin):.1f}" '
        f'height="{bottom - TOP + 12}"/>',
        *(f'<line class="grid" x1="{place(at):.1f}" x2="{place(at):.1f}" y1="{TOP}" y2="{bottom}"/>' for at in ticks),
        *(
            f'<text class="note" x="{place(at):.1f}" y="{bottom + 18}" text-anchor="middle">{at} s</text>'
            for at in ticks
        ),
        *(f'<text x="8" y="{TOP + LANE * row + 15}">client {row + 1}</text>' for row in range(len(clients))),
    ]
    # What has no answer lies on top: it is what a reader looks for.
    for outcome in _NAMES:
        for row, client in enumerate(clients):
            own = [each for each in history if (each.process, each.outcome) == (client, outcome)]
            for x, until in _joined((place(each.invoked - first), place(each.completed - first)) for each in own):
                size = f'width="{until - x:.1f}" height="{LANE - 8}"'
                lines.append(f'<rect class="{outcome}" x="{x:.1f}" y="{TOP + LANE * row + 4}" {size}/>')
    for number, (outcome, name) in enumerate(_NAMES.items()):
        x, count = LEFT + 200 * number, sum(each.outcome == outcome for each in history)
        lines.append(f'<rect class="{outcome}" x="{x}" y="{bottom + 32}" width="12" height="12"/>')
        lines.append(f'<text class="note" x="{x + 18}" y="{bottom + 43}">{name}: {count}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _joined(marks: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns where marks begin and end. Those that nobody could tell apart are one; each is LEAST or wider."""
    found: list[tuple[float, float]] = []
    for begin, end in sorted(marks):
        until = max(end, begin + LEAST)
        if found and begin <= found[-1][1] + GAP:
            found[-1] = (found[-1][0], max(until, found[-1][1]))
        else:
            found.append((begin, until))
    return found


def main() -> None:
    """Draws the log that the arguments name."""
    log, title, begin, end = sys.argv[1:]
    history = operation.parse(Path(log).read_text(encoding="utf-8").splitlines(keepends=True))
    print(draw(history, title, float(begin), float(end)), end="")


if __name__ == "__main__":
    main()
