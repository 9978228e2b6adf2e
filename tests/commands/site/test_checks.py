"""What the built site must not have: things loaded from elsewhere, and Markdown that stayed Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.site import checks


def problems(tmp_path: Path, name: str, text: str) -> list[str]:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return list(checks.problems(tmp_path))


@pytest.mark.parametrize(
    "html",
    [
        '<link rel="stylesheet" href="https://fonts.example.org/css">',
        '<link rel="preconnect" href="https://fonts.example.org">',
        '<link href="//fonts.example.org/css">',
        '<script src="https://cdn.example.org/a.js"></script>',
        '<img src="http://example.org/a.png">',
        '<iframe src="//example.org/"></iframe>',
        '<style>@import "https://example.org/a.css";</style>',
        '<div style="background: url(https://example.org/a.png)"></div>',
    ],
)
def test_a_page_loads_nothing_from_elsewhere(tmp_path: Path, html: str) -> None:
    (problem,) = problems(tmp_path, "a.html", f"<html>{html}</html>")
    assert problem.startswith("a.html loads ")


def test_nor_does_a_style_sheet(tmp_path: Path) -> None:
    assert problems(tmp_path, "a.css", "@font-face { src: url('https://example.org/a.woff2') }") == [
        "a.css loads https://example.org/a.woff2; the site must serve it itself"
    ]


@pytest.mark.parametrize(
    "html",
    [
        '<a href="https://example.org">a link that a reader may follow</a>',
        '<link rel="canonical" href="https://example.org/">',
        '<link rel="stylesheet" href="assets/a.css"><script src="a.js"></script><img src="a.png">',
        "<p>A sentence - with a dash.</p><pre><code>- a list in code\n```</code></pre>",
        "<p><code>- in code</code></p>",
    ],
)
def test_what_a_page_may_have(tmp_path: Path, html: str) -> None:
    assert problems(tmp_path, "a.html", f"<html>{html}</html>") == []


@pytest.mark.parametrize("line", ["- item", "* item", "2. item", "```sh", "| a | b |"])
def test_markdown_in_a_paragraph_is_a_problem(tmp_path: Path, line: str) -> None:
    assert problems(tmp_path, "a.html", f"<p>A sentence:\n{line}</p>") == [f"a.html shows Markdown as text: {line!r}"]
