"""Tests of the command that writes the checksums of releases."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from console.errors import UserError
from tests.fakes import BUILT_PULUMI
from toolchain import release_sums
from toolchain.install import wanted

ENGINE = f"pulumi-v{BUILT_PULUMI}-linux-x64.tar.gz"
PINNED = f"{'a' * 64}  {ENGINE}"


@pytest.fixture
def sums(tmp_path: Path) -> Path:
    file = tmp_path / "releases.sha256"
    file.write_text(f"# where these are from\n{PINNED}\n{'b' * 64}  pulumi-v3.1.0-linux-x64.tar.gz\n", encoding="utf-8")
    return file


def test_archives_and_published_files_are_sources(sums: Path, tmp_path: Path) -> None:
    (tmp_path / "mirror" / "plugins").mkdir(parents=True)
    plugin = "pulumi-resource-command-v1.2.1-linux-amd64.tar.gz"
    (tmp_path / "mirror" / "plugins" / plugin).write_bytes(b"plugin")
    published = tmp_path / f"pulumi-{BUILT_PULUMI}-checksums.txt"
    darwin = ENGINE.replace("linux-x64", "darwin-arm64")
    published.write_text(
        f"{PINNED}\n{'c' * 64}  {darwin}\n{'d' * 64}  pulumi-v{BUILT_PULUMI}-windows-x64.zip\n", encoding="utf-8"
    )
    names = release_sums.names(wanted())
    sources = [release_sums.found_in(source) for source in (tmp_path / "mirror", published)]
    missing = release_sums.write(sums, names, sources)
    digest = hashlib.sha256(b"plugin").hexdigest()
    assert sums.read_text(encoding="utf-8").splitlines() == [
        "# where these are from",
        f"{digest}  {plugin}",
        f"{'c' * 64}  {darwin}",
        PINNED,
    ]
    assert len(names) == 16  # engine, kubernetes, command and libvirt for four platforms
    assert set(missing) == names - {plugin, darwin, ENGINE}


def test_another_checksum_of_a_pinned_archive_is_refused(sums: Path) -> None:
    before = sums.read_bytes()
    with pytest.raises(UserError, match=r"A published archive does not change: find out which is right"):
        release_sums.write(sums, {ENGINE}, [{ENGINE: "e" * 64}])
    assert sums.read_bytes() == before


def test_a_source_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none does not exist; name a directory of archives or a checksum file\."):
        release_sums.found_in(tmp_path / "none")
