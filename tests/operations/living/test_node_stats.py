"""Disks and clocks by summaries in the form of Kubernetes' API for statistics (stats/v1alpha1).

No kubelet runs here: one takes the cgroups of other machines' pods for orphans. tests/proof/test_status_answers.py asks
by a real API server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, cast

import pytest

from cluster.api import Api, Reply, Unreachable
from cluster.objects import Object
from operations.living import node_stats
from operations.living.node_stats import Clock, FullDisk, LivingNodes
from tests.operations.living.living_cloud import ready_node

GIB = 2**30


def file_system(size: int, free: int) -> dict[str, int]:
    return {"availableBytes": free, "capacityBytes": size, "usedBytes": size - free, "inodes": 9, "inodesFree": 9}


def volume(claim: str, size: int, free: int) -> Object:
    return {"name": "data", "pvcRef": {"name": claim, "namespace": "openstack"}, **file_system(size, free)}


def summary(root: tuple[int, int] = (100, 60), images: tuple[int, int] = (100, 60), *volumes: Object) -> Object:
    """Sizes and free space in GiB. Volumes of a pod without a claim are its token and its empty directories."""
    token = {"name": "kube-api-access", **file_system(1000, 0)}
    pods = [{"podRef": {"name": "mysqld-0"}, "volume": [token, *volumes]}, {"podRef": {"name": "without-volumes"}}]
    sizes = [tuple(GIB * each for each in pair) for pair in (root, images)]
    node = {"nodeName": "n", "fs": file_system(*sizes[0]), "runtime": {"imageFs": file_system(*sizes[1])}}
    return {"node": node, "pods": pods}


@dataclass
class Kubelets:
    """An API server that passes requests on to kubelets; a summary, an error, or what a call of it raises, by node."""

    answers: Mapping[str, Object | Unreachable | Callable[[], Object]]
    ahead: Mapping[str, float]
    access: Any = None

    def call(self, method: str, path: str) -> Reply:
        assert method == "GET"
        node = path.removeprefix("/api/v1/nodes/").removesuffix("/proxy/stats/summary")
        said = self.answers[node]
        if callable(said):
            said = said()
        if isinstance(said, Unreachable):
            raise said
        date = format_datetime(datetime.fromtimestamp(int(time.time() + self.ahead.get(node, 0)), UTC), usegmt=True)
        return Reply(200 if "node" in said else 503, said, date=date)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[..., LivingNodes]:
    def of(answers: Mapping[str, Any], ahead: Mapping[str, float] | None = None, *nodes: Object) -> LivingNodes:
        api = Kubelets(answers, ahead or {})

        def quick(_access: object, timeout: float) -> Kubelets:
            assert timeout <= 5
            return api

        monkeypatch.setattr(node_stats, "Api", quick)
        return node_stats.read(cast("Api", api), [*map(ready_node, answers), *nodes])

    return of


def test_disks_from_85_percent_on_are_named_the_fullest_first(read: Callable[..., LivingNodes]) -> None:
    found = read(
        {
            "n1": summary((100, 15), (200, 31)),
            "n2": summary((100, 60), (200, 4)),
            "n3": summary((100, 16), (200, 60), volume("data-mysqld-0", 50 * GIB, 2 * GIB)),
        }
    )
    assert found.asked == 3
    assert found.full == (
        FullDisk("n2", "the disk of images", 98),
        FullDisk("n3", "claim openstack/data-mysqld-0", 96),
        FullDisk("n1", "kubelet's disk", 85),
    )


def test_claims_on_one_disk_are_named_once(read: Callable[..., LivingNodes]) -> None:
    """Each claim on a directory has the size of the node's disk, and was looked at some seconds apart."""
    claims = [volume(f"data-{name}", 100 * GIB, 9 * GIB + number) for number, name in enumerate("ab")]
    found = read({"n1": summary((100, 9), (100, 10), *claims)})
    assert found.full == (FullDisk("n1", "kubelet's disk", 91),)


@pytest.mark.parametrize("found", [{}, {"capacityBytes": 0, "availableBytes": 0}, {"capacityBytes": 7}])
def test_a_disk_that_kubelet_has_not_looked_at_is_not_full(read: Callable[..., LivingNodes], found: Object) -> None:
    said = read({"n1": {"node": {"nodeName": "n1", "fs": found}}})
    assert (said.asked, said.full, dict(said.unasked)) == (1, (), {})


def test_clocks_are_compared_with_those_of_most_nodes(read: Callable[..., LivingNodes]) -> None:
    """All are a day behind this host, whose own clock may be the wrong one; of them, two differ."""
    day = -86400.0
    nodes = dict.fromkeys(("n1", "n2", "n3", "n4", "n5"), summary())
    found = read(nodes, dict.fromkeys(nodes, day) | {"n4": day + 94, "n5": day - 3.0})
    assert {node: round(apart) for node, apart in found.wrong().items()} == {"n4": 94, "n5": -3}
    assert abs(found.common - day) < 2


def test_a_clock_that_may_be_right_is_not_named() -> None:
    """An answer that took 10 s says less of the clock: it is right if any time of these 10 s is."""
    clocks = {"n1": Clock(-0.5, 0.5), "n2": Clock(-0.4, 0.6), "n3": Clock(-9.0, 1.0), "n4": Clock(1.0, 2.0)}
    assert LivingNodes(4, clocks=clocks).wrong() == {}
    assert LivingNodes(4, clocks=clocks | {"n4": Clock(1.3, 2.3)}).wrong().keys() == {"n4"}


def test_who_does_not_answer_is_named(read: Callable[..., LivingNodes]) -> None:
    forbidden = {"kind": "Status", "message": 'nodes "n2" is forbidden: cannot get resource "nodes/proxy"'}
    found = read({"n1": Unreachable("timed out"), "n2": forbidden, "n3": summary(), "n4": {}})
    assert found.asked == 1
    assert found.unasked == {
        "n1": "timed out",
        "n2": forbidden["message"],
        "n4": "its kubelet answered with 503",
    }


def test_a_node_that_is_not_ready_is_not_asked_and_one_under_pressure_is_named(
    read: Callable[..., LivingNodes],
) -> None:
    dark = {"metadata": {"name": "dark"}, "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    full = {"metadata": {"name": "full"}, "status": {"conditions": [{"type": "DiskPressure", "status": "True"}]}}
    found = read({"n1": summary()}, {}, dark, full)
    assert (found.asked, found.evicting, dict(found.unasked)) == (1, ("full",), {})


def test_a_thousand_nodes_are_asked_32_at_a_time_each_once(read: Callable[..., LivingNodes]) -> None:
    guard = threading.Lock()
    now, most, asked = 0, 0, 0

    def slow() -> Object:
        nonlocal now, most, asked
        with guard:
            now, asked = now + 1, asked + 1
            most = max(most, now)
        time.sleep(0.002)
        with guard:
            now -= 1
        return summary()

    found = read({f"n{number}": slow for number in range(1000)})
    assert (found.asked, asked) == (1000, 1000)
    assert 16 < most <= 32


def test_nodes_that_hang_end_the_questions(read: Callable[..., LivingNodes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_stats, "PATIENCE", -1)
    found = read({"n1": summary()})
    assert (found.asked, dict(found.unasked)) == (0, {"n1": "not reached within -1 s"})


def test_a_date_without_fractions_is_a_second_of_time(
    read: Callable[..., LivingNodes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "time", lambda: 1000.25)
    assert read({"n1": summary()}).clocks == {"n1": Clock(-0.25, 0.75)}
