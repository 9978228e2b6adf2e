"""A server of a real cluster loses its power: the rendered control plane keeps every acknowledged write.

Real machines, kubelets, etcd, Galera, RabbitMQ and Keystone. `make drill` does the same with a whole stack.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.trials.machines import by_hand, report_plugin
from tests.trials.machines.report_plugin import PROOF, proof_of
from tests.trials.machines.small_lab import SmallLab, release, small_lab
from trials.cloud import connections, nspawn
from trials.cloud.drill import disturbances, drill_report, observation
from trials.cloud.drill.result import Drill

pytestmark = pytest.mark.alone


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab")


@pytest.fixture(scope="module")
def running(directory: Path) -> Generator[SmallLab]:
    with small_lab(directory) as lab:
        yield lab
    by_hand.require_nothing_left()


@pytest.fixture(scope="module")
def drill(running: SmallLab) -> Drill:
    """Also writes drill.html, beside the report of `make machines`."""
    cut = disturbances.power_cut(running.lab, "virt2")
    found = observation.drill(running.lab, cut, running.cloud(release()), print)
    drill_report.write([found], report_plugin.DIRECTORY)
    return found


def test_timers_of_machines_and_of_pods_may_expire_late(running: SmallLab) -> None:
    """Without it, the timers of idle programs cause thousands of interrupts a second on the host."""
    slack = 'for process in $(pgrep --exact "$1"); do cat "/proc/$process/timerslack_ns"; done'
    for program in ("kubelet", "mariadbd"):  # those of the lab: other trials on the host have some of their own
        found = [nspawn.run_in(each, ["sh", "-c", slack, "sh", program]).stdout for each in running.lab.machines]
        assert set("".join(found).split()) == {"10000000"}


def test_network_policies_admit_what_the_records_say(running: SmallLab) -> None:
    """Before the drill: Calico enforces them."""
    lines = connections.try_all(running.lab, running.planned).splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "a host outside of the cloud",
        "a pod of keystone",
        "another member of rabbitmq",
        "another member of mysqld",
        "a pod with Keystone's labels in another namespace",
    ]
    assert lines[0].endswith("admitted by keystone")


def test_the_drill_passes(drill: Drill) -> None:
    assert drill.problems() == []


def test_every_quorum_lost_one_member_and_got_it_back(drill: Drill) -> None:
    """So that the cut was real."""
    assert {name: (each.total, each.least) for name, each in drill.quorums.items()} == {
        "etcd": (3, 2),
        "mysqld": (3, 2),
        "rabbitmq": (3, 2),
    }
    assert drill.whole is not None


def test_clients_wrote_all_the_time(drill: Drill, record_property: Callable[[str, object], None]) -> None:
    assert set(drill.writes) == {"ConfigMaps in Kubernetes", "projects in OpenStack"}
    for name, each in drill.writes.items():
        record_property(PROOF, proof_of(f"{drill.title}: {name}", each, drill.ended - drill.began))
        assert each.acknowledged > 20
        assert each.lost == ()
