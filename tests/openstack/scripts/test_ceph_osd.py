"""Tests of the rendered start script of OSDs: for which disks of a node it starts an OSD."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from openstack import scripts
from tests.fakes import script

VOLUME = """\
echo "$*" >> "$LOG"
case "$1 $2" in
"raw list") cat "$DISKS" ;;
esac
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A storage node whose ceph-volume is a script: `raw list` prints the file `disks`."""
    script(tmp_path / "bin", "ceph-volume", VOLUME)
    return tmp_path


def activated(node: Path, disks: str) -> list[str]:
    """Runs the part of the script that activates disks. Returns its calls of ceph-volume."""
    (node / "disks").write_text(disks)
    text = scripts.text("ceph_osd.sh")
    functions = text[text.index("raw_disks() {") : text.index("until activate")]
    environment = {
        **os.environ,
        "PATH": f"{node}/bin:{os.environ['PATH']}",
        "LOG": str(node / "log"),
        "DISKS": str(node / "disks"),
    }
    subprocess.run(["bash", "-c", f"{functions}activate || true"], env=environment, check=True, timeout=60)
    return (node / "log").read_text().splitlines()


@pytest.mark.parametrize("nothing", ["", "{}\n"])
def test_without_raw_disks_only_those_of_lvm(node: Path, nothing: str) -> None:
    assert activated(node, nothing) == ["lvm activate --all --no-systemd", "raw list"]


def test_each_raw_disk_is_activated(node: Path) -> None:
    disks = '{"a": {"device": "/dev/loop0"}, "b": {"device": "/dev/sdb"}}\n'
    assert activated(node, disks)[2:] == [
        "raw activate --device /dev/loop0 --no-systemd",
        "raw activate --device /dev/sdb --no-systemd",
    ]
