"""The directory of a volume is made empty on its machine, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from openstack.data import DataDirectory
from operations.replacement.failed_member import script
from tests.fakes import script as program


def run(directory: Path, programs: Path) -> subprocess.CompletedProcess[str]:
    text = script(DataDirectory(str(directory), os.getuid()), "openstack-rabbitmq-ctl1")
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    return subprocess.run(["sh", "-c", text], env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """The directory of a member's volume, with its data, beside that of another one."""
    for name in ("rabbitmq", "rabbitmq-backup"):
        (tmp_path / "openstack" / name / "mnesia").mkdir(parents=True)
        (tmp_path / "openstack" / name / "mnesia" / ".erlang").write_text("x")
    return tmp_path / "openstack" / "rabbitmq"


def test_it_is_empty_and_has_its_mode(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("kept")
    (directory / "link").symlink_to(tmp_path / "elsewhere")
    done = run(directory, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{directory} is empty, and takes writes\n"), done.stderr
    assert list(directory.iterdir()) == []
    assert directory.stat().st_mode & 0o7777 == 0o770
    assert (tmp_path / "elsewhere").read_text() == "kept"
    assert (directory.with_name("rabbitmq-backup") / "mnesia" / ".erlang").exists()


def test_a_directory_on_a_new_file_system_is_made(tmp_path: Path) -> None:
    assert run(tmp_path / "new" / "rabbitmq", tmp_path).returncode == 0
    assert (tmp_path / "new" / "rabbitmq").is_dir()


def test_a_directory_that_a_pod_uses_stays(directory: Path, tmp_path: Path) -> None:
    mount = "/var/lib/kubelet/pods/1/volumes/kubernetes.io~local-volume/openstack-rabbitmq-ctl1"
    program(tmp_path / "bin", "grep", f'echo "/dev/sda {mount} ext4 rw 0 0" | /usr/bin/env -i /bin/grep "$1" "$2"')
    done = run(directory, tmp_path / "bin")
    assert (done.returncode, done.stdout) == (1, "a pod of this machine still uses it\n")
    assert (directory / "mnesia" / ".erlang").exists()


def test_a_disk_that_takes_no_writes_is_an_error(directory: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin", "sync", 'echo "sync: $1: Input/output error" >&2; exit 1')
    done = run(directory, tmp_path / "bin")
    assert (done.returncode, "Input/output error" in done.stderr) == (1, True)
