"""The policy pack's program, started as Pulumi starts a pack that is named by its program: without a language host."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import analyzer_pb2 as messages
from pulumi.runtime.proto.analyzer_pb2_grpc import AnalyzerStub

from commands.engine.operation import PACK
from policy.catalogue import RULES
from tests.policy.conftest import ROOT

PATIENCE = 60


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """The program, in a directory of its own as for a stack whose project is elsewhere."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        [ROOT / PACK, "127.0.0.1:1"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def port(program: subprocess.Popen[str]) -> int:
    assert program.stdout
    return int(program.stdout.readline())


def test_it_serves_all_rules_at_the_levels_of_the_profile(started: subprocess.Popen[str]) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{port(started)}") as channel:
        pack: Any = AnalyzerStub(channel)
        lab = messages.AnalyzerStackConfigureRequest(stack="dev", dry_run=True, config={"quorate:profile": "lab"})
        pack.ConfigureStack(lab, timeout=PATIENCE)
        levels = {each.name: each.enforcementLevel for each in pack.GetAnalyzerInfo(Empty(), timeout=PATIENCE).policies}
        pack.Configure(messages.ConfigureAnalyzerRequest(), timeout=PATIENCE)
    assert set(levels) == {rule.id for rule in RULES}
    assert levels["rabbitmq-size"] == messages.EnforcementLevel.Value("ADVISORY")


def test_it_ends_with_pulumi_also_if_pulumi_was_killed(started: subprocess.Popen[str]) -> None:
    port(started)
    assert started.stdin
    started.stdin.close()
    assert started.wait(PATIENCE) == 0


def test_an_interrupt_is_its_usual_end(started: subprocess.Popen[str]) -> None:
    port(started)
    started.send_signal(signal.SIGINT)
    assert started.wait(PATIENCE) == 0
