"""How a lab's machines share the processors of its host."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from console.errors import UserError
from trials.cloud import cgroups

MACHINE = "quorate-node1"


@pytest.fixture
def cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The hierarchy with the controllers cpu and cpuacct, in which a machine has two processes."""
    group = tmp_path / MACHINE
    group.mkdir()
    (group / "cgroup.procs").write_text("17\n18\n", encoding="utf-8")
    (group / "cpu.shares").write_text("1024", encoding="utf-8")
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    monkeypatch.setattr(cgroups, "hierarchies", lambda: {"memory": tmp_path / "memory", "cpu,cpuacct": tmp_path})
    return tmp_path


@pytest.fixture
def v2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a host with cgroup v2 only."""
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory hugetlb pids\n", encoding="utf-8")
    (tmp_path / "cpuset.mems").write_text("0\n", encoding="utf-8")
    monkeypatch.setattr(cgroups, "ROOT", tmp_path)
    return tmp_path


def test_with_v2_a_machine_has_one_cgroup_below_the_root(v2: Path) -> None:
    assert cgroups.missing() == []
    assert cgroups.version() == "cgroup v2"
    assert cgroups.create("node1") == [v2 / MACHINE]
    assert (v2 / "cgroup.subtree_control").read_text(encoding="utf-8") == "+cpu +cpuset +io +memory +pids"
    cgroups.divide_processors("node1", 8)
    assert list((v2 / MACHINE).iterdir()) == [], "the machine's systemd makes what is below"
    assert cgroups.remove() == []
    assert not (v2 / MACHINE).exists()


@pytest.mark.parametrize(
    ("cores", "has_control_plane", "weight"), [(4, False, "100"), (8, True, "800"), (400, True, "10000")]
)
def test_with_v2_a_machine_has_a_weight(v2: Path, cores: int, weight: str, *, has_control_plane: bool) -> None:
    cgroups.create("node1")
    cgroups.weigh("node1", cores, has_control_plane=has_control_plane)
    assert (v2 / MACHINE / "cpu.weight").read_text(encoding="utf-8") == weight


def test_with_v2_missing_controllers_are_named(v2: Path) -> None:
    (v2 / "cgroup.controllers").write_text("cpuset cpu io pids\n", encoding="utf-8")
    assert cgroups.missing() == ["memory"]


def test_with_v2_a_root_that_gives_no_controllers_is_an_error(v2: Path) -> None:
    (v2 / "cgroup.subtree_control").mkdir()  # it cannot be written
    with pytest.raises(UserError, match="gives machines no controllers"):
        cgroups.create("node1")


@pytest.mark.parametrize(("has_control_plane", "shares"), [(False, "2048"), (True, "8192")])
def test_a_machine_with_a_control_plane_has_more(cpu: Path, shares: str, *, has_control_plane: bool) -> None:
    cgroups.weigh("node1", 8, has_control_plane=has_control_plane)
    assert (cpu / MACHINE / "cpu.shares").read_text(encoding="utf-8") == shares


def test_a_machines_own_programs_have_as_much_as_its_pods(cpu: Path) -> None:
    cgroups.divide_processors("node1", 8)
    assert (cpu / MACHINE / "system" / "cpu.shares").read_text(encoding="utf-8") == "8192"


def test_all_processes_of_a_machine_are_moved(cpu: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved: list[str] = []
    write = Path.write_text

    def record(path: Path, text: str, **options: str) -> int:
        if path.name == "cgroup.procs":
            moved.append(text)
            if text == "17":
                raise ProcessLookupError  # it has ended meanwhile
        return write(path, text, **options)

    monkeypatch.setattr(Path, "write_text", record)
    cgroups.divide_processors("node1", 4)
    assert set(moved) == {"17", "18"}


@pytest.mark.parametrize(
    ("mounted", "on", "remounted"),
    [
        ("cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid 0 0", True, "remount,rw,nosuid,favordynmods"),
        ("cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid,favordynmods 0 0", False, "remount,rw,nosuid"),
        ("cgroup2 /sys/fs/cgroup/unified cgroup2 rw,favordynmods 0 0", True, None),
        ("cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0", False, None),
        ("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0", True, None),
    ],
)
def test_only_the_option_for_fast_changes_is_remounted(
    monkeypatch: pytest.MonkeyPatch, mounted: str, remounted: str | None, *, on: bool
) -> None:
    ran: list[Sequence[str]] = []

    def run(words: Sequence[str], **_options: bool) -> subprocess.CompletedProcess[bytes]:
        ran.append(words)
        return subprocess.CompletedProcess(words, 0)

    def read(_path: Path, **_options: str) -> str:
        return f"proc /proc proc rw 0 0\n{mounted}\n"

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(Path, "read_text", read)
    assert cgroups.make_changes_fast(on=on) is (remounted is not None)
    assert [words[4] for words in ran] == ([] if remounted is None else [remounted])
