"""Quorums are rolled one at a time, also by a plain `pulumi up`: the engine waits for one, then changes the next."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.engine.conftest import Project, open_project
from tests.engine.slow_rollouts import LOG
from tests.engine.test_lifecycle import edit
from tests.stacks import ROOT, STACKS

QUORUMS = ["mysqld", "rabbitmq", "ceph-mon", "elasticsearch-kibana"]
"""The quorums of pods, in the order in which they are rolled."""


def slow(project: Project) -> None:
    """Puts a program with slow StatefulSets in the place of the project's own."""
    main = project.directory / "__main__.py"
    main.unlink()
    future = "from __future__ import annotations\n"
    text = (ROOT / "__main__.py").read_text(encoding="utf-8")
    main.write_text(
        text.replace(future, f"{future}import slow_rollouts\n\nslow_rollouts.install()\n"), encoding="utf-8"
    )
    shutil.copy(ROOT / "tests" / "engine" / "slow_rollouts.py", project.directory)


def rolled(project: Project) -> list[str]:
    """The starts and ends of the quorums' rollouts, in the order in which they happened."""
    log = project.directory / LOG
    lines = log.read_text(encoding="utf-8").splitlines()
    log.unlink()
    return [line for line in lines if line.partition(" ")[2] in QUORUMS]


def test_one_quorum_is_rolled_at_a_time(tmp_path: Path, engine: dict[str, str]) -> None:
    project = open_project(tmp_path / "dev", "dev", engine, STACKS["dev"])
    slow(project)
    one_by_one = [f"{word} {name}" for name in QUORUMS for word in ("start", "end")]
    project.up()
    assert rolled(project) == one_by_one
    edit(project, images={"registry": "registry.example.com"})
    project.up()
    assert rolled(project) == one_by_one
