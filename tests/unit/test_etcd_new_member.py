"""A new member of etcd: it starts with the others, and not beside a cluster that runs without it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components import machine_files
from tests.stacks import STACKS
from tests.unit.placeholders import CERTIFICATES

DEV = plan(load_file(STACKS["dev"]))
FIRST, SECOND, THIRD = DEV.masters


def listed(*addresses: str) -> str:
    """What `etcdctl member list` prints."""
    return "\n".join(f"8e9e05c5, started, m, https://{each}:2380, https://{each}:2379, false" for each in addresses)


def start(directory: Path, members: str, *, has_data: bool = False) -> subprocess.CompletedProcess[str]:
    """Runs the step on the third master, where every other member answers `members`; none answers for ""."""
    programs, root = directory / "bin", directory / "root"
    programs.mkdir()
    (root / "var/lib/etcd" / ("member" if has_data else "")).mkdir(parents=True)
    answer = f"cat <<'END'\n{members}\nEND\n" if members else "exit 1\n"
    for name, text in {"etcdctl": answer, "systemctl": f'echo "$*" >>{directory}/log\n'}.items():
        (programs / name).write_text(f"#!/bin/sh\n{text}")
        (programs / name).chmod(0o755)
    parts = machine_files.parts(DEV, THIRD, CERTIFICATES)
    (step,) = (each for each in parts.steps if each.name == "start-etcd")
    environment = {"PATH": f"{programs}:{os.environ['PATH']}", "ROOT": str(root)}
    return subprocess.run(["sh", "-euc", step.apply], env=environment, check=False, capture_output=True, text=True)


@pytest.mark.parametrize(
    "members", ["", listed(FIRST.address, SECOND.address, THIRD.address)], ids=["none answers", "they know it"]
)
def test_a_new_member_starts(tmp_path: Path, members: str) -> None:
    done = start(tmp_path, members)
    assert done.returncode == 0, done.stderr
    assert "start --no-block etcd.service" in (tmp_path / "log").read_text()


def test_a_new_member_does_not_start_beside_a_cluster_without_it(tmp_path: Path) -> None:
    done = start(tmp_path, listed(FIRST.address))
    assert done.returncode == 1
    assert "etcd runs without this machine, and apply does not add members to it" in done.stderr
    assert f"https://{FIRST.address}:2380" in done.stderr
    assert not (tmp_path / "log").exists()


def test_a_member_with_data_starts_whatever_the_others_say(tmp_path: Path) -> None:
    assert start(tmp_path, listed(FIRST.address), has_data=True).returncode == 0
