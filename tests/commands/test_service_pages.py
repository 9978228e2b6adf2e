"""The pages about OpenStack's services follow the data that they are written from."""

from __future__ import annotations

from commands.service_pages import FOLDER, pages


def test_the_pages_are_up_to_date() -> None:
    """`python -m commands.service_pages` writes them again."""
    assert {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")} == pages()
