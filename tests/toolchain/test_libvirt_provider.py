"""Where libvirt's provider comes from: the download site for a downloaded engine, otherwise Go modules."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.fakes import locked
from tests.toolchain.download_site import archive, serving
from toolchain import libvirt_provider
from toolchain.engine import Engine, Source
from toolchain.release import Release

VERSION = locked("pulumi-libvirt")
PATHS = Release("", {"libvirt": VERSION}).paths(platform.system().lower(), platform.machine().lower())
BUILT = b"built from modules"

pytestmark = pytest.mark.skipif(not PATHS, reason="Pulumi has no releases for this platform")


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Replaces the build and the engine's installation; returns what is installed."""
    files: list[bytes] = []

    def build(*_: object) -> Path:
        program = tmp_path / "built"
        program.write_bytes(BUILT)
        return program

    def install(_pulumi: Path, _home: Path, _name: str, _version: str, file: Path) -> None:
        files.append(file.read_bytes())

    (tmp_path / "toolchain" / "engine").mkdir(parents=True)
    monkeypatch.setattr(libvirt_provider, "MODULE", tmp_path / "toolchain" / "engine" / "libvirt")
    monkeypatch.setattr(libvirt_provider, "_built", build)
    monkeypatch.setattr(libvirt_provider, "install_provider", install)
    monkeypatch.setattr(libvirt_provider, "HELPERS", {})
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return files


@pytest.mark.parametrize(
    ("source", "problem", "is_downloaded"),
    [("download", "", True), ("download", "unpinned", False), ("download", "missing", False), ("build", "", False)],
)
def test_the_source_of_the_provider(
    tmp_path: Path,
    installed: list[bytes],
    monkeypatch: pytest.MonkeyPatch,
    source: Source,
    problem: str,
    *,
    is_downloaded: bool,
) -> None:
    official = archive({"pulumi-resource-libvirt": b"official"})
    with serving() as site:
        site.files = {} if problem == "unpinned" else {PATHS["libvirt"]: official}
        site.pin(tmp_path)
        if problem == "missing":
            site.files = {}
        monkeypatch.setenv("QUORATE_RELEASES", site.address)
        engine = Engine(source, "3.276.0", str(tmp_path / "bin"), str(tmp_path / "home"))
        libvirt_provider.ensure(engine, Reporter())
    assert installed == [official if is_downloaded else BUILT]


def test_a_pulumi_on_path_that_cannot_download_the_plugin(
    installed: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with serving() as site:
        site.pin(tmp_path)
        monkeypatch.setenv("QUORATE_RELEASES", site.address)
        with pytest.raises(UserError, match=rf"cannot install its libvirt provider {VERSION}: .*: HTTP 404 Not Found$"):
            libvirt_provider.ensure(Engine("path", "3.276.0", str(tmp_path), None), Reporter())
    assert installed == []


def test_another_archive_than_the_pinned_one_is_refused(
    tmp_path: Path, installed: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as site:
        site.files = {PATHS["libvirt"]: b"official"}
        site.pin(tmp_path)
        site.files = {PATHS["libvirt"]: b"another"}
        monkeypatch.setenv("QUORATE_RELEASES", site.address)
        with pytest.raises(UserError, match="may have been tampered with"):
            libvirt_provider.ensure(Engine("download", "3.276.0", "/bin", str(tmp_path / "home")), Reporter())
    assert installed == []
