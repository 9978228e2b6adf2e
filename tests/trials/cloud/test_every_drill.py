"""Every drill of a part of the stack `dev`, in the order of `make drill ALL=1`, and all of them again.

Real machines, kubelets, etcd, Galera, RabbitMQ and Keystone. test_whole_cloud.py does the same with the whole stack.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from commands.trials import drill
from console.progress import Reporter
from tests.trials.machines import by_hand
from tests.trials.machines.small_lab import SmallLab, release, small_lab

pytestmark = [pytest.mark.alone, pytest.mark.heavy]

TITLES = [
    *(f"virt{number} without power" for number in (1, 2, 3)),
    "a rolling change of every workload",
    "every node drained in turn",
    "all servers without power",
]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Generator[SmallLab]:
    with small_lab(tmp_path_factory.mktemp("lab")) as lab:
        yield lab
    by_hand.require_nothing_left()


@pytest.mark.parametrize("turn", ["first", "second"])
def test_all_drills_pass_one_after_the_other(running: SmallLab, turn: str, tmp_path: Path) -> None:
    cloud = running.cloud(release())
    drills = drill.run(running.lab, drill.selected(running.lab, cloud.quorums), cloud, tmp_path, Reporter())
    assert [problem for each in drills for problem in each.problems()] == []
    assert [each.title for each in drills] == TITLES
    for each in drills:
        assert {name: writes.lost for name, writes in each.writes.items()} == dict.fromkeys(each.writes, ())
        assert all(members.whole_again() for members in each.quorums.values())
