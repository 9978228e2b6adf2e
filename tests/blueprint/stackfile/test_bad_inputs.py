"""Every bad input gets its one message; none ends in a traceback, waits, fills the memory or repeats a secret."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from blueprint.plan.planner import plan
from blueprint.stackfile.loader import load_file
from tests.blueprint.stackfile.bad_inputs import CASES
from tests.blueprint.stackfile.bad_inputs.case import Bad, messages
from tests.stacks import ROOT

PYTHON = re.compile(r"Value error|Traceback|\[Errno|Error\b|<class|\('|\bNone\b|\bTrue\b|\bFalse\b|[a-z]_[a-z]+_error")
MEGABYTES, SECONDS = 500, 5


@pytest.mark.parametrize("bad", CASES.values(), ids=list(CASES))
def test_it_gets_its_one_message(bad: Bad, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = messages(bad, tmp_path)
    assert found[:1], "accepted"
    assert found[0].startswith(bad.said)
    assert len(found) == bad.messages, found
    for message in found:
        assert not PYTHON.search(message)
        assert "hunter2" not in message
        assert message.isprintable()
        assert len(message) < 1400


def test_what_seems_odd_is_accepted(tmp_path: Path) -> None:
    """Merge keys, anchors, a byte order mark, CRLF, comments in any alphabet, dates where a date belongs."""
    text = """﻿sizes: &size {cpu: 24, memory: 256}  # größe, 大小
config:
  quorate:profile: production
  quorate:architecture: 100
  quorate:waivers: [{rule: galera-size, resource: x-mysqld, reason: "déménagement 🚚", owner: Ada, expires: 2027-01-31}]
  quorate:servers:
    - {<<: *size, name: "master[1-3]", address: 10.20.0.11, roles: [master], rack: "r[1-3]"}
    - <<: *size
      name: ctl[01-06]
      address: 10.20.0.31
      roles: [controller]
      rack: r[1-3]
    - {<<: *size, name: "stor[1-3]", address: 10.20.1.1, roles: [storage]}
    - {<<: *size, name: "cmp[1-3]", address: 10.20.4.1, roles: [compute], cpu: 48}
"""
    path = tmp_path / "Pulumi.test.yaml"
    path.write_bytes(text.replace("\n", "\r\n").encode())
    result = plan(load_file(path))
    assert {node.machine.cpu for node in result.nodes} == {24, 48}


def test_none_takes_long_or_fills_the_memory(tmp_path: Path) -> None:
    """All of them in one process, with limits that the operating system enforces."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.blueprint.stackfile.bad_inputs.sweep",
            str(tmp_path),
            str(MEGABYTES),
            str(SECONDS),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    slow = [line for line in done.stdout.splitlines() if line.startswith("slow")]
    assert not slow
    assert len(done.stdout.splitlines()) == len(CASES) + 1, done.stdout[-500:]
    assert int(done.stdout.splitlines()[-1].removeprefix("peak ")) < MEGABYTES
