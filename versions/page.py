"""Writes docs/versions.md from the table of versions: `python -m versions.page`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from versions.support import SupportedComponent, components

PAGE = Path(__file__).parents[1] / "docs" / "versions.md"
TEXT = Path(__file__).parent / "page.md"
"""The text around the tables, with a line {pins} and a line {series}."""


def page() -> str:
    """Returns the page."""
    pins = _table("version", [each for each in components() if not each.series])
    series = _table("series", [each for each in components() if each.series])
    return TEXT.read_text(encoding="utf-8").replace("{pins}\n", pins).replace("{series}\n", series)


def _table(column: str, rows: Sequence[SupportedComponent]) -> str:
    lines = [f"| component | {column} | released | support ends | remarks |", "| --- | --- | --- | --- | --- |"]
    for each in rows:
        dates = f"{each.released} | {each.ends or 'no date'}"
        lines.append(f"| [{each.name}]({each.source}) | {each.version} | {dates} | {'; '.join(_remarks(each))} |")
    return "\n".join(lines) + "\n"


def _remarks(component: SupportedComponent) -> Iterator[str]:
    if component.in_:
        yield f"in Kolla's images of {', '.join(component.in_)}"
    if component.note:
        yield component.note
    if component.kept:
        yield f"kept until {component.kept.until}: {component.kept.why}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
