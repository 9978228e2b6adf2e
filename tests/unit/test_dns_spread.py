"""CoreDNS is spread over the masters only when all of them can take pods."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import dns
from tests.fakes import script
from tests.stacks import STACKS

KUBECTL = """\
echo "$*" >> "$LOG"
case $* in *"wait node"*) exit "$READY" ;; esac
"""


def applied(tmp_path: Path, ready: int) -> tuple[int, list[str]]:
    """The exit code of the step on the last master, and what it asked of kubectl."""
    planned = plan(load_file(STACKS["dev"]))
    (step,) = [each for each in dns.parts(planned, planned.masters[-1]).steps if each.name == "spread-dns"]
    script(tmp_path / "bin", "kubectl", KUBECTL)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
        "LOG": str(tmp_path / "log"),
        "READY": str(ready),
        "ROOT": "",
    }
    done = subprocess.run(["sh", "-euc", step.apply], env=environment, check=False, timeout=60)
    return done.returncode, (tmp_path / "log").read_text().splitlines()


def test_masters_are_ready_before_pods_move(tmp_path: Path) -> None:
    """A master that has just joined is not Ready: both new pods would start on the first master again."""
    code, asked = applied(tmp_path, 0)
    assert code == 0
    assert ["wait" in asked[0], "restart" in asked[1], "status" in asked[2]] == [True] * 3


def test_nothing_moves_while_a_master_is_not_ready(tmp_path: Path) -> None:
    code, asked = applied(tmp_path, 1)
    assert code != 0
    assert len(asked) == 1
