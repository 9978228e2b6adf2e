"""The Debian root of the proofs with real services: made once, complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from console.errors import UserError
from console.progress import Reporter
from tests.fakes import script
from tests.file_system import bound, require_mounts
from toolchain import debian_root

MAKES = """\
for word; do case $word in */root) root=$word; break ;; esac; done
for file in $FILES; do mkdir -p "$root/$(dirname "$file")" && echo program > "$root/$file"; done
echo made >> "$LOG"
"""
LISTS = """\
echo "Debian http://mirror.example/debian-security/"
echo "Other http://other.example/"
echo "Debian http://mirror.example/debian/"
"""


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """A machine whose mmdebstrap and apt-get are scripts; returns the file that counts the roots made."""
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("LOG", str(log))
    monkeypatch.setenv("FILES", " ".join(debian_root.SERVICES.programs))
    monkeypatch.setattr(debian_root.os, "geteuid", lambda: 0)

    def set_up(body: str) -> Path:
        directory = script(tmp_path / "bin", "mmdebstrap", body).parent
        script(tmp_path / "bin", "apt-get", LISTS)
        monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
        return log

    return set_up


def test_a_root_is_made_once(machine: Callable[[str], Path]) -> None:
    log = machine(MAKES)
    root = debian_root.ensure(Reporter())
    assert (root / "usr/sbin/mariadbd").exists()
    assert debian_root.ensure(Reporter()) == root
    assert log.read_text() == "made\n"


def test_a_damaged_root_is_made_again(machine: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    log = machine(MAKES)
    root = debian_root.ensure(Reporter())
    (root / "usr/sbin/mariadbd").write_text("damaged")
    debian_root.ensure(Reporter())
    assert (root / "usr/sbin/mariadbd").read_text() == "program\n"
    assert log.read_text() == "made\nmade\n"
    assert "root/usr/sbin/mariadbd" in capsys.readouterr().err


def test_what_does_not_end_leaves_nothing(machine: Callable[[str], Path], tmp_path: Path) -> None:
    machine("echo 'E: Unable to fetch some archives' >&2; exit 1")
    with pytest.raises(UserError, match="Unable to fetch"):
        debian_root.ensure(Reporter())
    assert not list((tmp_path / "cache" / "quorate").glob("debian-*"))


def test_what_an_interrupted_run_left_mounted_is_unmounted_before_its_directory_is_deleted(
    machine: Callable[[str], Path], tmp_path: Path
) -> None:
    """What is mounted there is not the root's: mmdebstrap mounts the host's /sys and parts of its /dev."""
    log = machine(MAKES)
    left = tmp_path / "cache" / "quorate" / f"debian-{debian_root.digest()}.partial" / "root" / "with space"
    left.mkdir(parents=True)
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "file").write_text("another's")
    with bound(foreign, left):
        debian_root.ensure(Reporter())
        assert (foreign / "file").read_text() == "another's"
    assert log.read_text() == "made\n"


def test_what_it_mounts_is_gone_when_it_is_killed(machine: Callable[[str], Path], tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    require_mounts()
    machine(f"mount -t tmpfs test '{place}' && mountpoint -q '{place}' && echo seen >> \"$LOG\"; kill -9 $$")
    with pytest.raises(UserError):
        debian_root.ensure(Reporter())
    assert (tmp_path / "log").read_text() == "seen\n"
    assert not os.path.ismount(place)


def test_it_comes_from_the_machines_own_mirror(machine: Callable[[str], Path]) -> None:
    machine(MAKES)
    assert debian_root.mirror() == "http://mirror.example/debian/"


def test_without_root_it_is_not_tried(machine: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    log = machine(MAKES)
    monkeypatch.setattr(debian_root.os, "geteuid", lambda: 1000)
    with pytest.raises(UserError, match="root"):
        debian_root.ensure(Reporter())
    assert log.read_text() == ""


def test_other_packages_make_another_root() -> None:
    services = debian_root.SERVICES
    more = replace(services, packages=(*services.packages, "haproxy"))
    assert len({debian_root.digest(services), debian_root.digest(more), debian_root.digest(debian_root.CEPH)}) == 3
