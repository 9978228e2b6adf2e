"""Checks of the built site that MkDocs does not make: nothing is loaded from elsewhere, no Markdown is left over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

LOADING = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href",),
    "img": ("src", "srcset"),
    "input": ("src",),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "use": ("href",),
    "video": ("src", "poster"),
}
"""Attributes by element whose address a browser loads when it shows the page."""
LINKS_ONLY = frozenset({"alternate", "canonical", "next", "prev"})
"""Relations of `<link>` that a browser does not load."""
_STYLE = re.compile(r"(?:@import\s*|url\(\s*)[\"']?((?:https?:)?//[^\"')\s;]+)")
_LEFT_OVER = re.compile(r"^(?:[-+*] |\d+\. |```|\|.*\|$)")
"""Beginnings of lines of a list, a code block or a table that became a part of a paragraph: Markdown on the site wants
an empty line before them, or an indent of four blanks in a list."""


def problems(site: Path) -> Iterator[str]:
    """Yields what is wrong with each file of the site."""
    for path in sorted(site.rglob("*.html")):
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        name = path.relative_to(site)
        yield from (f"{name} loads {address}; the site must serve it itself" for address in page.loaded)
        yield from (f"{name} shows Markdown as text: {line!r}" for line in page.left_over)
    for path in sorted(site.rglob("*.css")):
        for address in _STYLE.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)} loads {address}; the site must serve it itself"


class _Page(HTMLParser):
    """Collects what a page loads from elsewhere, and lines of its paragraphs that look like Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.left_over: list[str] = []
        self._in: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        relations = set(given.get("rel", "").split())
        if not (tag == "link" and relations and relations <= LINKS_ONLY):
            addresses = [given[name] for name in LOADING.get(tag, ()) if name in given]
            self.loaded += [each for each in addresses if re.match(r"(?:https?:)?//", each)]
        self.loaded += _STYLE.findall(given.get("style", ""))
        if tag in ("p", "code", "style"):
            self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._in:
            while self._in.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._in == ["p"]:
            self.left_over += [line for line in data.split("\n") if _LEFT_OVER.match(line)]
        elif self._in[-1:] == ["style"]:
            self.loaded += _STYLE.findall(data)
