"""Material for MkDocs on the pages of the repository: needs `.venv-docs`, which `make docs` makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands.site import __main__ as site
from commands.site import pages, samples
from console.errors import UserError
from console.progress import Reporter
from files import atomic
from tests.stacks import ROOT
from toolchain import environment


def test_no_stack_has_the_name_of_the_sites_directory(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.site.yaml").write_text("config: {}\n", encoding="utf-8")
    with pytest.raises(UserError, match="build/site is the directory of the stack site"):
        site.build(tmp_path, Reporter())


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The pages of the repository, with a sample that needs no engine."""
    if not environment.has_packages(site.VENV, site.LOCK):
        pytest.skip("MkDocs is not installed: `make docs` installs it")
    pages.write(ROOT, tmp_path / "pages")
    for name, text in {"dev.html": "<html></html>", "audit.md": samples.AUDIT, "drill.md": samples.DRILL}.items():
        atomic.write(tmp_path / "pages" / "samples" / name, text)
    return tmp_path


def test_the_site_has_no_broken_link_and_can_be_searched(work: Path) -> None:
    site.render(ROOT, work, work / "site")
    assert (work / "site" / "index.html").exists()
    assert "etcd" in (work / "site" / "search" / "search_index.json").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "problem"),
    [("[a](gone.md)", r"gone\.md"), ("[a](live.md#gone)", "gone"), ("Text:\n- a list", "shows Markdown as text")],
)
def test_a_broken_page_fails_the_build(work: Path, text: str, problem: str) -> None:
    page = work / "pages" / "doctor.md"
    page.write_text(f"# Doctor\n\n{text}\n", encoding="utf-8")
    with pytest.raises(UserError, match=problem):
        site.render(ROOT, work, work / "site")
