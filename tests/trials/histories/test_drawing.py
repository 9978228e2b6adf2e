"""The picture of a history: where operations are, and in which state."""

from __future__ import annotations

from xml.etree import ElementTree

from trials.histories import drawing
from trials.histories.operation import ClientOperation, Outcome

SVG = "{http://www.w3.org/2000/svg}"


def at(process: int, invoked: float, completed: float, outcome: Outcome) -> ClientOperation:
    return ClientOperation(process, "write", 1, invoked, completed, outcome)


HISTORY = [at(7, 100, 100.001, "ok"), at(9, 110, 115, "unknown"), at(7, 140, 140, "no"), at(9, 150, 150, "ok")]


def bars(outcome: str) -> list[ElementTree.Element]:
    """The bars of the lanes with an outcome; the last one of a class explains it."""
    root = ElementTree.fromstring(drawing.draw(HISTORY, "a <pause>", 10, 30))  # noqa: S314 - our own document
    return [each for each in root.iter(f"{SVG}rect") if each.get("class") == outcome]


def test_operations_are_where_they_were() -> None:
    (unknown, _) = bars("unknown")
    whole = drawing.WIDTH - drawing.LEFT - drawing.RIGHT
    assert float(unknown.get("x", "")) == drawing.LEFT + whole * 10 / 50
    assert float(unknown.get("width", "")) == whole * 5 / 50


def test_a_short_operation_can_be_seen() -> None:
    first, last, _ = bars("ok")
    assert float(first.get("width", "")) == float(last.get("width", "")) == drawing.LEAST


def test_each_client_has_a_lane() -> None:
    (no, _), (unknown, _) = bars("no"), bars("unknown")
    assert float(unknown.get("y", "")) - float(no.get("y", "")) == drawing.LANE


def test_the_fault_is_behind_its_time_and_the_title_is_escaped() -> None:
    (fault,) = bars("fault")
    whole = drawing.WIDTH - drawing.LEFT - drawing.RIGHT
    assert float(fault.get("x", "")) == drawing.LEFT + whole * 10 / 50
    assert float(fault.get("width", "")) == whole * 20 / 50
    assert "a &lt;pause&gt;" in drawing.draw(HISTORY, "a <pause>", 10, 30)


def test_marks_that_nobody_could_tell_apart_are_one() -> None:
    many = [at(1, 100 + number / 1000, 100 + number / 1000, "ok") for number in range(1000)]
    document = drawing.draw([*many, at(1, 200, 200, "ok")], "many", 0, 1)
    assert document.count('class="ok"') == 3, "the many, the last, and the one that explains"
