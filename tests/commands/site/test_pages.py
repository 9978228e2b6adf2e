"""Pages of the repository as pages of the site: links, titles, lists, and the navigation."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any, cast

import pytest

from commands.site import __main__ as site
from commands.site import pages
from console.errors import UserError
from tests.stacks import ROOT

PLACES = {
    PurePosixPath("README.md"): PurePosixPath("index.md"),
    PurePosixPath("docs/live.md"): PurePosixPath("live.md"),
    PurePosixPath("docs/up.png"): PurePosixPath("up.png"),
    PurePosixPath("docs/adr/0001-one.md"): PurePosixPath("adr/0001-one.md"),
}
TITLES = {PurePosixPath("docs/live.md"): "The live target"}


def rewritten(text: str, source: str) -> str:
    return pages.rewritten(text, PurePosixPath(source), PLACES, TITLES)[0]


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("README.md", "[how](docs/live.md)", "[how](live.md)"),
        ("README.md", "[how](docs/live.md#rules)", "[how](live.md#rules)"),
        ("README.md", "[docs/live.md](docs/live.md)", "[The live target](live.md)"),
        ("docs/adr/0001-one.md", "[live.md](../live.md)", "[The live target](../live.md)"),
        ("docs/live.md", "[why](adr/0001-one.md)", "[why](adr/0001-one.md)"),
        ("docs/live.md", "[decisions](adr), [all](adr/)", "[decisions](adr/index.md), [all](adr/index.md)"),
        ("README.md", "![of `make\nup`](docs/up.png)", "![of `make\nup`](up.png)"),
        (
            "docs/live.md",
            "[K](https://example.org/a.md) [here](#rules)",
            "[K](https://example.org/a.md) [here](#rules)",
        ),
        ("docs/live.md", "```sh\n[a](docs/live.md)\n```\n", "```sh\n[a](docs/live.md)\n```\n"),
    ],
)
def test_links_lead_to_the_same_page_of_the_site(source: str, text: str, expected: str) -> None:
    assert rewritten(text, source) == expected


def test_a_file_that_is_no_page_becomes_one(tmp_path: Path) -> None:
    source = PurePosixPath("docs/adr/0001-one.md")
    text, linked = pages.rewritten("[scheme](../../schemas/a.json)", source, PLACES, TITLES)
    assert text == "[scheme](../source/schemas/a.json.md)"
    assert linked == {PurePosixPath("schemas/a.json")}


def clone(root: Path, readme: str) -> Path:
    for name in (*pages.ROOT_PAGES, "docs/adr/0001-one.md", "docs/services/nova.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# Title of {name}\n", encoding="utf-8")
    (root / "README.md").write_text(readme, encoding="utf-8")
    (root / "a.py").write_text('"""Says ```."""\n', encoding="utf-8")
    return root


def test_the_text_of_a_linked_file_is_shown_whole(tmp_path: Path) -> None:
    pages.write(clone(tmp_path / "clone", "# Quorate\n[a](a.py)\n"), tmp_path / "site")
    assert '````python\n"""Says ```."""\n````\n' in (tmp_path / "site" / "source" / "a.py.md").read_text(
        encoding="utf-8"
    )
    listed = (tmp_path / "site" / "adr" / "index.md").read_text(encoding="utf-8")
    assert "- [Title of docs/adr/0001-one.md](0001-one.md)\n" in listed


def test_a_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"A page links to gone\.py, which is not a file"):
        pages.write(clone(tmp_path / "clone", "# Quorate\n[a](gone.py)\n"), tmp_path / "site")


def _pages_of(entry: Any) -> list[str]:
    """Pages of an entry of the navigation, which is a path, a list, or a mapping of a title to one of these."""
    if isinstance(entry, str):
        return [entry]
    values = cast("list[Any]", [*entry.values()] if hasattr(entry, "values") else entry)
    return [page for each in values for page in _pages_of(each)]


def test_the_navigation_has_every_page_once(tmp_path: Path) -> None:
    pages.write(ROOT, tmp_path)
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    shown = {name for name in written if not name.startswith("source/")} | {"samples/audit.md", "samples/drill.md"}
    nav = _pages_of(site.configured(ROOT, site.CONFIGURATION.read_text(encoding="utf-8"))["nav"])
    assert sorted(nav) == sorted(shown)
