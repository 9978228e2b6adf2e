"""Tests of the rendered start script of OSDs: for which disks of a node it starts an OSD, and which it leaves alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from openstack import scripts
from tests.fakes import script
from trials.services.testbed import until

VOLUME = """\
case "$1 $2" in
"lvm list") cat "$HERE/lvm" ;;
"raw list") cat "$HERE/raw" ;;
*)
    echo "$*" >>"$HERE/activated"
    ! grep -qx -e "$3" "$HERE/dead"
    ;;
esac
"""
CEPH = """\
echo "$*" >>"$HERE/asked"
[ -s "$HERE/map" ] && cat "$HERE/map"
"""
OSD = """\
while [ "$1" != --id ]; do shift; done
echo "$2" >>"$HERE/started"
grep -qx -e "$2" "$HERE/ends" && exit 1
exec sleep 600
"""


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """A storage node without disks: programs that read what they say from files, and note what they are told."""
    for name, text in (("ceph-volume", VOLUME), ("ceph", CEPH), ("ceph-osd", OSD), ("install", "")):
        script(tmp_path / "bin", name, text)
    for name in ("activated", "asked", "started", "dead", "ends", "map"):
        (tmp_path / name).touch()
    for name in ("lvm", "raw"):
        (tmp_path / name).write_text("{}\n")
    (tmp_path / "run").mkdir()
    return tmp_path


def lvm(**disks: str) -> str:
    """What `ceph-volume lvm list` says of OSDs: the number of each by its identity."""
    found: dict[str, list[object]] = {}
    for identity, number in disks.items():
        tags = {"ceph.osd_id": number, "ceph.osd_fsid": identity}
        found.setdefault(number, []).extend({"type": kind, "tags": tags} for kind in ("block", "db"))
    return json.dumps(found)


def osd_map(**osds: int) -> str:
    return json.dumps({"osds": [{"osd": number, "uuid": identity} for identity, number in osds.items()]})


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines()


@contextmanager
def started(node: Path) -> Generator[subprocess.Popen[str]]:
    """Runs the script, and asks it to end afterwards."""
    text = scripts.text("ceph_osd.sh").replace("run=/run/ceph", f"run={node}/run").replace("pause=30", "pause=0.1")
    environment = {**os.environ, "PATH": f"{node}/bin:{os.environ['PATH']}", "HERE": str(node), "POD_IP": "10.0.0.1"}
    with (node / "log").open("w") as log:
        command = ["bash", "-e", "-c", text]
        with subprocess.Popen(command, env=environment, stdout=log, text=True, start_new_session=True) as process:
            try:
                yield process
                process.terminate()
                assert process.wait(20) == 0
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def test_each_prepared_disk_gets_its_osd_once(node: Path) -> None:
    (node / "lvm").write_text(lvm(a="0", b="3"))
    raw = {
        each: {"osd_id": number, "osd_uuid": each, "device": f"/dev/sd{each}"}
        for each, number in {"b": 3, "c": 5}.items()
    }
    without_disk = {"d": {"osd_uuid": "d", "device_db": "/dev/sdz"}}
    (node / "raw").write_text(json.dumps(without_disk | raw))
    with started(node):
        until("three OSDs", lambda: len(lines(node / "started")) == 3, 60, 0.05)
    assert sorted(lines(node / "activated")) == [
        "lvm activate 0 a --no-systemd",
        "lvm activate 3 b --no-systemd",
        "raw activate --device /dev/sdc --no-systemd",
    ]
    assert sorted(lines(node / "started")) == ["0", "3", "5"]


def test_an_osd_that_ends_starts_again_alone(node: Path) -> None:
    (node / "lvm").write_text(lvm(a="0", b="3"))
    (node / "ends").write_text("3\n")
    with started(node):
        until("it started again", lambda: lines(node / "started").count("3") > 2, 60, 0.05)
        assert (node / "run/ceph-osd.3.asok").exists(), "the probe sees that it does not run"
    assert lines(node / "started").count("0") == 1
    assert "OSD 3 has ended" in (node / "log").read_text()


def test_a_disk_that_cannot_be_activated_stops_no_other(node: Path) -> None:
    (node / "lvm").write_text(lvm(a="0", b="3"))
    (node / "dead").write_text("0\n")
    with started(node):
        until("the other one", lambda: lines(node / "started") == ["3"], 60, 0.05)
        until(
            "a further attempt", lambda: lines(node / "activated").count("lvm activate 0 a --no-systemd") > 1, 60, 0.05
        )
    assert lines(node / "started") == ["3"]


def test_the_disk_of_a_purged_osd_is_left_alone(node: Path) -> None:
    """Its number is that of another disk now."""
    (node / "lvm").write_text(lvm(old="3", new="3", a="0"))
    (node / "map").write_text(osd_map(new=3, a=0))
    with started(node):
        until("both others", lambda: len(lines(node / "started")) == 2, 60, 0.05)
        until("the purged one", lambda: "Ceph has purged OSD 3" in (node / "log").read_text(), 60, 0.05)
    assert sorted(lines(node / "activated")) == ["lvm activate 0 a --no-systemd", "lvm activate 3 new --no-systemd"]


def test_an_osd_is_not_started_again_once_it_is_purged(node: Path) -> None:
    (node / "lvm").write_text(lvm(a="0", b="3"))
    (node / "map").write_text(osd_map(a=0, b=3))
    (node / "ends").write_text("3\n")
    with started(node):
        until("it has ended", (node / "run/ceph-osd.3.asok").exists, 60, 0.05)
        (node / "map").write_text(osd_map(a=0))
        until("the purged one", lambda: "Ceph has purged OSD 3" in (node / "log").read_text(), 60, 0.05)
        assert not (node / "run/ceph-osd.3.asok").exists()


def test_a_ceph_that_does_not_answer_stops_none(node: Path) -> None:
    (node / "lvm").write_text(lvm(a="0"))
    (node / "map").write_text("no JSON")
    with started(node):
        until("it started", lambda: lines(node / "started") == ["0"], 60, 0.05)
    assert "--name client.bootstrap-osd" in (node / "asked").read_text()


def test_without_a_disk_the_pod_waits_for_one(node: Path) -> None:
    with started(node):
        until("it waits", lambda: "prepare one in this container" in (node / "log").read_text(), 60, 0.05)
        (node / "lvm").write_text(lvm(a="0"))
        until("it started", lambda: lines(node / "started") == ["0"], 60, 0.05)
