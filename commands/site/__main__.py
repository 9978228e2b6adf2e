"""`python -m commands.site`: builds the documentation as a site in build/site; `make docs` runs it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, cast

import yaml

from commands import build_directory
from commands.site import checks, pages, samples
from commands.stack import names
from console.errors import UserError
from console.exit_codes import exit_code
from console.programs import ProgramError, run
from console.progress import Reporter
from files import atomic
from toolchain.install import ROOT, ensure_beside

LOCK = ROOT / "requirements-docs.lock"
VENV = ROOT / ".venv-docs"
"""An environment of its own: only the site needs these packages."""
CONFIGURATION = Path(__file__).parent / "mkdocs.yml"
STYLE = Path(__file__).parent / "site.css"
PLAIN = {**os.environ, "NO_COLOR": "1", "NO_MKDOCS_2_WARNING": "1"}
"""Environment in which the theme prints no notice about its own end of life, which mkdocs.yml names."""
SITE = "site"
"""Directory of the result under build/, which no stack may be named like."""


def build(root: Path, reporter: Reporter) -> None:
    """Writes the pages and samples, and makes the site of them. Raises UserError if anything of it is broken."""
    if SITE in names(root):
        raise UserError(f"build/{SITE} is the directory of the stack {SITE}. Rename the stack.")
    ensure_beside(VENV, LOCK, reporter)
    work = root / "build" / ".site"
    build_directory.remove(work)
    source = build_directory.make(work) / "pages"
    pages.write(root, source)
    samples.write(root, source / "samples")
    render(root, work, build_directory.make(root / "build" / SITE))
    reporter.say(
        f"build/{SITE}/index.html is the first page. Search needs a server: python -m http.server -d build/{SITE}"
    )


def render(root: Path, work: Path, site: Path) -> None:
    """Makes HTML of the pages in the folder `pages` of the directory `work`, with broken links as errors."""
    atomic.write(work / "pages" / STYLE.name, STYLE.read_text(encoding="utf-8"))
    configuration = work / CONFIGURATION.name
    settings = configured(root, CONFIGURATION.read_text(encoding="utf-8"))
    atomic.write(configuration, yaml.safe_dump(settings | {"site_dir": str(site)}, sort_keys=False))
    try:
        # Not --quiet: MkDocs counts only the warnings that it prints, and `strict` makes those errors.
        run([VENV / "bin" / "mkdocs", "build", "--config-file", configuration], environment=PLAIN)
    except ProgramError as failure:
        lines = [line for line in failure.output if not line.startswith("INFO")]
        raise UserError("The site cannot be built:\n" + "\n".join(lines)) from None
    if found := list(checks.problems(site)):
        raise UserError("The site is not as it should be:\n" + "\n".join(found))


def configured(root: Path, text: str) -> dict[str, Any]:
    """Returns MkDocs' settings, with every page of a folder that `nav` names."""
    settings: dict[str, Any] = yaml.safe_load(text)
    for section in settings["nav"]:
        for title, entries in section.items():
            if isinstance(entries, list):
                listed = cast("list[Any]", entries)
                section[title] = [each for entry in listed for each in _expanded(root, entry)]
    return settings


def _expanded(root: Path, entry: Any) -> list[Any]:
    """Returns an entry of the navigation, or for a folder, such as `adr/`, a section with its pages."""
    if not (isinstance(entry, str) and entry.endswith("/")):
        return [entry]
    folder = entry.rstrip("/")
    return [{pages.LISTS[folder][0]: pages.names(root, folder)}]


def main() -> int:
    """Builds the site. Returns the exit code."""
    reporter = Reporter()
    return exit_code(lambda: build(ROOT, reporter), reporter)


if __name__ == "__main__":
    sys.exit(main())
