"""How a monitor of Ceph tells what it has and is marked to go on alone, and what its start does then."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from openstack import scripts
from openstack.scripts import ceph_survivor
from operations.restoration import survivor_programs
from tests.fakes import script

NAMES = [f"ceph-mon-{number}" for number in range(3)]
SAID: dict[str, Any] = {
    "name": "ceph-mon-2",
    "state": "probing",
    "election_epoch": 12,
    "quorum": [],
    "outside_quorum": ["ceph-mon-2"],
    "monmap": {"epoch": 4, "mons": [{"name": name} for name in NAMES]},
}
_MAP = "epoch 4\nfsid 0b0b\nmin_mon_release 18 (reef)\n" + "".join(
    f"{number}: [v2:10.20.1.{number}:3300/0,v1:10.20.1.{number}:6789/0] mon.{name}\n"
    for number, name in enumerate(NAMES)
)


@pytest.fixture
def monitor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A monitor's machine, with programs of Ceph that note how they are called."""
    script(tmp_path / "bin", "ceph", 'echo "$*" >>"$HOME/log"; cat "$HOME/said"')
    script(tmp_path / "bin", "ceph-mon", 'echo "ceph-mon $*" >>"$HOME/log"')
    script(tmp_path / "bin", "monmaptool", 'if [ "$1" = --print ]; then cat "$HOME/map"; fi; echo "$*" >>"$HOME/log"')
    (tmp_path / "map").write_text(_MAP, encoding="utf-8")
    (tmp_path / "log").touch()
    (tmp_path / ceph_survivor.READS_ALONE).touch()
    for name, text in (("PATH", f"{tmp_path}/bin:{os.environ['PATH']}"), ("HOME", str(tmp_path))):
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("POD_NAME", "ceph-mon-2")
    monkeypatch.setattr(ceph_survivor, "DATA", tmp_path)
    monkeypatch.setattr(ceph_survivor, "RUN", tmp_path)
    says(tmp_path)
    return tmp_path


def says(monitor: Path, **other: Any) -> None:
    (monitor / "said").write_text(json.dumps(SAID | other), encoding="utf-8")


def start(monitor: Path) -> list[str]:
    """Runs the part of the start script after the store was made. Returns how programs of Ceph were called."""
    (monitor / "log").write_text("", encoding="utf-8")
    text = scripts.text("ceph_mon.sh")
    function = text[text.index("go_on_alone() {") : text.index("\n}\n", text.index("go_on_alone() {")) + 3]
    command = f"store={monitor}/data alone={monitor}/alone as='--id ceph-mon-2'\n{function}"
    command += text[text.index("touch /run/ceph/reads-alone") :]
    command = command.replace("/run/ceph", str(monitor))
    subprocess.run(["bash", "-ec", command], env={**os.environ, "POD_IP": "10.20.1.2"}, check=True, timeout=60)
    return (monitor / "log").read_text(encoding="utf-8").replace(f"{monitor}/", "").splitlines()


def test_what_a_monitor_has(monitor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ceph_survivor.main("look") == 0
    found = survivor_programs.ceph(capsys.readouterr().out)
    assert (found.data, found.serves, found.together) == ("map of monitors 4, election 12", False, tuple(NAMES))
    assert (monitor / "log").read_text() == "daemon mon.ceph-mon-2 mon_status\n"


@pytest.mark.parametrize("other", [{"state": "synchronizing"}, {"monmap": SAID["monmap"] | {"epoch": 0}}])
def test_a_monitor_that_receives_its_store_has_no_complete_data(other: dict[str, Any]) -> None:
    assert survivor_programs.ceph(json.dumps(SAID | other)).data == ""


def test_no_map_is_no_answer() -> None:
    with pytest.raises(ValueError, match="probing"):
        survivor_programs.ceph('{"state": "probing"}')


def test_a_start_after_the_mark_removes_the_others_once(monitor: Path) -> None:
    assert ceph_survivor.main("go-on") == 0
    assert (monitor / "alone").read_text() == "4\n"
    done = start(monitor)
    assert [each for each in done if "--print" not in each] == [
        "ceph-mon --id ceph-mon-2 --mon-data data --extract-monmap monmap",
        "--rm ceph-mon-0 monmap",
        "--rm ceph-mon-1 monmap",
        "ceph-mon --id ceph-mon-2 --mon-data data --inject-monmap monmap",
        "ceph-mon --foreground --id ceph-mon-2 --mon-data data --public-addr 10.20.1.2",
    ]
    assert len(start(monitor)) == 1, "the mark is gone"


def test_a_mark_of_another_map_removes_nobody(monitor: Path) -> None:
    """The pod was killed between the change of the map and the end of the mark, or others have joined since."""
    (monitor / "alone").write_text("3\n")
    done = start(monitor)
    assert not [each for each in done if "--rm" in each or "--inject" in each]
    assert not (monitor / "alone").exists()
    assert done[-1].startswith("ceph-mon --foreground")


@pytest.mark.parametrize("program", ["ceph-mon", "monmaptool"])
def test_a_map_that_was_not_changed_starts_no_monitor(monitor: Path, program: str) -> None:
    (monitor / "alone").write_text("4\n")
    script(monitor / "bin", program, f'echo "{program} $*" >>"$HOME/log"; exit 1')
    with pytest.raises(subprocess.CalledProcessError):
        start(monitor)
    assert "--foreground" not in (monitor / "log").read_text()
    assert (monitor / "alone").exists()


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"quorum": [1, 2]}, "ceph-mon-2 is in a quorum of 2"),
        ({"outside_quorum": ["ceph-mon-1", "ceph-mon-2"]}, "ceph-mon-2 hears ceph-mon-1: it is not alone"),
        ({"state": "synchronizing"}, "ceph-mon-2 has no complete data"),
    ],
)
def test_who_may_not_go_on_is_not_marked(
    monitor: Path, other: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    says(monitor, **other)
    assert ceph_survivor.main("go-on") == 1
    assert capsys.readouterr().err == f"{said}\n"
    assert not (monitor / "alone").exists()


def test_a_pod_of_an_earlier_release_is_not_marked(monitor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (monitor / ceph_survivor.READS_ALONE).unlink()
    assert ceph_survivor.main("go-on") == 1
    assert "is of an earlier release" in capsys.readouterr().err
    assert not (monitor / "alone").exists()


def test_a_monitor_that_does_not_answer(monitor: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script(monitor / "bin", "ceph", "echo no socket >&2; exit 22")
    assert ceph_survivor.main("look") == 1
    assert capsys.readouterr().err == "the monitor does not answer: no socket\n"
