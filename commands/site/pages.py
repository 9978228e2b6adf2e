"""Copies Markdown pages of the repository into the directory that MkDocs reads, with links that fit the site.

A link to a file that is not a page leads to a page with its text. Lists of pages, of decisions and of OpenStack's
projects, are written here.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from console.errors import UserError
from files import atomic

DOCS = PurePosixPath("docs")
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "reporting.md",
}
"""Pages outside of docs/, with their names on the site."""
HOME = "---\nhide: [navigation]\n---\n"
"""Front matter of the first page, beside which the navigation would have one entry."""
LISTS = {
    "adr": (
        "Decisions",
        "Decisions that can be argued about, with the reasons. A later one may replace an earlier one.",
    ),
    "services": (
        "Services",
        "The projects of OpenStack, and the services that they need. Each page is made from data.",
    ),
}
"""Folders of docs/ that get a page with the list of their pages: title and introduction."""
SOURCES = PurePosixPath("source")
"""Where the pages with the texts of linked files are."""
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".sh": "bash", ".toml": "toml"}

_FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?P<text>[^\]]*)\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def write(root: Path, target: Path) -> None:
    """Writes the pages of the repository `root`, their pictures and the files that they link to into `target`."""
    places = _places(root)
    texts = {source: (root / source).read_text(encoding="utf-8") for source in places if source.suffix == ".md"}
    titles = {source: _title(text) for source, text in texts.items()}
    linked: set[PurePosixPath] = set()
    for source, place in places.items():
        if source in texts:
            text, files = rewritten(texts[source], source, places, titles)
            atomic.write(target / place, HOME + text if place.name == "index.md" else text)
            linked |= files
        else:
            shutil.copyfile(root / source, _made(target / place))
    for name, (title, introduction) in LISTS.items():
        entries = "\n".join(_entries(root / DOCS / name))
        atomic.write(target / name / "index.md", f"# {title}\n\n{introduction}\n\n{entries}\n")
    for file in linked:
        atomic.write(target / _source_page(file), _text_page(root, file))


def rewritten(
    text: str,
    source: PurePosixPath,
    places: Mapping[PurePosixPath, PurePosixPath],
    titles: Mapping[PurePosixPath, str],
) -> tuple[str, set[PurePosixPath]]:
    """Returns a page's text with the site's links, and the linked files that are not pages.

    `source` is the page's path in the repository, `places` has the places of all pages on the site. A link that shows
    the name of a page's file shows its title instead. Code blocks stay as they are.
    """
    linked: set[PurePosixPath] = set()

    def link(found: re.Match[str]) -> str:
        shown, target = found["text"], found["target"]
        if ":" in target:
            return found[0]
        wanted = PurePosixPath(os.path.normpath(source.parent / target))
        if wanted.parent == DOCS and wanted.name in LISTS:
            there = PurePosixPath(wanted.name, "index.md")
        elif wanted in places:
            there = places[wanted]
        else:
            linked.add(wanted)
            there = _source_page(wanted)
        if shown in (target, wanted.name):
            shown = titles.get(wanted, shown)
        return f"[{shown}]({os.path.relpath(there, places[source].parent)}{found['anchor'] or ''})"

    parts = _FENCE.split(text)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts), linked


def names(root: Path, folder: str) -> list[str]:
    """Returns the pages of a folder in LISTS, as the site's navigation names them, its list first."""
    return [f"{folder}/index.md", *(f"{folder}/{path.name}" for path in sorted((root / DOCS / folder).glob("*.md")))]


def _places(root: Path) -> dict[PurePosixPath, PurePosixPath]:
    """Returns every page and picture of the repository with its place on the site."""
    found = {PurePosixPath(name): PurePosixPath(place) for name, place in ROOT_PAGES.items()}
    for path in sorted((root / DOCS).rglob("*")):
        if path.is_file():
            source = PurePosixPath(path.relative_to(root).as_posix())
            found[source] = source.relative_to(DOCS)
    return found


def _entries(folder: Path) -> Iterator[str]:
    """Yields a line for each page: its title as a link."""
    for path in sorted(folder.glob("*.md")):
        yield f"- [{_title(path.read_text(encoding='utf-8'))}]({path.name})"


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def _source_page(file: PurePosixPath) -> PurePosixPath:
    return SOURCES / f"{file}.md"


def _text_page(root: Path, file: PurePosixPath) -> str:
    """Returns a page with a file's text, which the site's search does not find."""
    path = root / file
    if not path.is_file():
        raise UserError(f"A page links to {file}, which is not a file. Link to a file, or to a page.")
    text = path.read_text(encoding="utf-8")
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
    return (
        f"---\nsearch:\n  exclude: true\n---\n# {file}\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{text}{fence}\n"
    )


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
