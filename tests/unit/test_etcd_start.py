"""The step that starts a member of etcd, which cannot serve before a majority of the members runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from components.k8s_master import etcd
from tests.stacks import STACKS
from tests.unit.placeholders import CERTIFICATES


@pytest.mark.parametrize(("state", "is_started"), [("active", True), ("activating", True), ("failed", False)])
def test_a_member_that_waits_for_the_others_is_started(tmp_path: Path, state: str, *, is_started: bool) -> None:
    """Otherwise `apply` fails on the first master, before the step that says what to do."""
    systemctl = tmp_path / "systemctl"
    ends = "exit 0" if state == "active" else "exit 3"
    systemctl.write_text(f"#!/bin/sh\ncase $1 in\nis-enabled) ;;\nis-active) echo {state}; {ends} ;;\nesac\n")
    systemctl.chmod(0o755)
    masters = plan(load_file(STACKS["dev"])).masters
    (step,) = [each for each in etcd.parts(masters[0], masters, CERTIFICATES).steps if each.name == "start-etcd"]
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "-euc", step.check], env=environment, check=False)
    assert (done.returncode == 0) is is_started
