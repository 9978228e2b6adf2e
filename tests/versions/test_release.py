"""What a release publishes: notes of the changelog's newest entry, and a policy pack that stands alone."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from pathlib import Path

import grimp
import pytest

from policy.catalogue import RULES
from tests.stacks import ROOT
from versions import release

CHANGELOG = """# Changelog

Text before the entries.

## 0.8.0 (2026-12-24)

### Added
- One thing ([why](docs/adr/0001-a.md), [how](#how), [source](https://example.org/a)).

## 0.7.0 (2026-11-30)

- Another thing.
"""
PAGES = "https://forge.example/quorate/blob/v0.8.0"


def test_the_notes_are_the_newest_entry_with_absolute_links() -> None:
    text = release.notes("v0.8.0", "0.8.0", CHANGELOG, PAGES)
    link = "https://forge.example/quorate/blob/v0.8.0/docs/adr/0001-a.md"
    assert f"- One thing ([why]({link}), [how](#how), [source](https://example.org/a)).\n" in text
    assert "quorate-policy-0.8.0.tar.gz" in text
    assert "Another thing" not in text
    assert "Text before" not in text


@pytest.mark.parametrize(
    ("tag", "version", "changelog", "reason"),
    [
        ("v0.9.0", "0.8.0", CHANGELOG, r"The tag is v0\.9\.0, and pyproject\.toml has version 0\.8\.0"),
        ("0.8.0", "0.8.0", CHANGELOG, r"The tag is 0\.8\.0"),
        ("v0.9.0", "0.9.0", CHANGELOG, r"newest entry of CHANGELOG\.md is 0\.8\.0: write one for 0\.9\.0"),
        ("v0.9.0", "0.9.0", "# Changelog\n", r"newest entry of CHANGELOG\.md is none"),
        ("v0.8.0", "0.8.0", CHANGELOG.replace("2026-12-24", "unreleased"), r"says \(unreleased\): write the day"),
    ],
)
def test_a_tag_that_does_not_agree_is_not_released(tag: str, version: str, changelog: str, reason: str) -> None:
    with pytest.raises(release.ReleaseError, match=reason):
        release.notes(tag, version, changelog, PAGES)


def test_a_wrong_tag_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert release.main(["v99.0.0", PAGES, str(tmp_path / "out")]) == 1
    assert "The tag is v99.0.0" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_archive_has_what_the_policy_pack_imports() -> None:
    packages = ["audit", "blueprint", "changes", "cluster", "commands", "console", "files", "formats", "openstack"]
    graph = grimp.build_graph("policy", *packages, "proof", "text", "toolchain", "versions")
    pack = {"policy", *graph.find_descendants("policy")}
    needed = pack.union(*(graph.find_upstream_modules(module) for module in pack))
    assert {module.split(".")[0] for module in needed} == set(release.POLICY_PACKAGES)


def test_the_pack_of_the_archive_runs_without_the_repository(tmp_path: Path) -> None:
    made = release.archive(ROOT, "1.0.0")
    assert made == release.archive(ROOT, "1.0.0")
    with tarfile.open(fileobj=io.BytesIO(made)) as opened:
        opened.extractall(tmp_path, filter="data")
    place = tmp_path / "quorate-policy-1.0.0"
    program = "from policy.engine import pack; print(len(pack.policies()), pack.__file__)"
    done = subprocess.run([sys.executable, "-c", program], cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    count, file = done.stdout.split()
    assert int(count) >= len(RULES)
    assert Path(file).is_relative_to(place)
